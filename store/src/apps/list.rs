//! Lists of apps.

use super::StoredApp;
use crate::engine::sql;
use crate::{State, Store, StoreError};

/// Which apps are listed.
#[derive(Debug, Clone, Default)]
pub struct AppListFilter {
    /// Only active or disabled ones.
    pub state: Option<State>,
    /// Only those whose name contains this text, in upper or lower case.
    pub name: Option<String>,
    /// Only registered apps without a code or token, which a sweep deletes when they are old enough.
    pub unused: bool,
}

impl Store {
    /// A page of apps with ids above `after`, in order of id.
    pub async fn apps(
        &self,
        filter: &AppListFilter,
        after: i64,
        limit: i64,
    ) -> Result<Vec<StoredApp>, StoreError> {
        // An empty text, too, is contained in every name.
        let name = filter.name.as_deref().filter(|name| !name.is_empty());
        let page = sql!(
            select!(
                "where id > $after and (cast($state as text) is null or case \
                 when disabled_at is null then 'active' else 'disabled' end = $state) \
                 and (cast($name as text) is null or replace(lower(name), lower($name), '') <> \
                 lower(name)) and (cast($unused as bigint) is null or (used_at is null and not \
                 exists (select 1 from tokens where app_id = apps.id) and id not in \
                 (select app_id from codes))) order by id limit $limit"
            ),
            [after, limit, state = filter.state, name, unused = filter.unused.then_some(1_i64)]
        );
        self.read_all(page).await
    }

    /// The apps with this name, in upper or lower case, in order of id.
    pub async fn apps_named(&self, name: &str, limit: i64) -> Result<Vec<StoredApp>, StoreError> {
        self.read_all(sql!(
            select!("where lower(name) = lower($name) order by id limit $limit"),
            [name, limit]
        ))
        .await
    }
}
