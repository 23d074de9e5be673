//! Lists of apps.

use super::{StoredApp, is_first_party};
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
        let page = sql(
            select!(concat!(
                "where id > $1 \
                 and (cast($3 as text) is null \
                 or case when disabled_at is null then 'active' else 'disabled' end = $3) \
                 and (cast($4 as text) is null \
                 or replace(lower(name), lower($4), '') <> lower(name)) \
                 and (cast($5 as bigint) is null or (used_at is null and not ",
                is_first_party!(),
                " and not exists (select 1 from tokens where app_id = apps.id) \
                 and id not in (select app_id from codes))) \
                 order by id limit $2"
            )),
            [
                after.into(),
                limit.into(),
                filter.state.into(),
                name.into(),
                filter.unused.then_some(1_i64).into(),
            ],
        );
        self.read_all(page).await
    }

    /// The apps with this name, in upper or lower case, in order of id.
    pub async fn apps_named(&self, name: &str, limit: i64) -> Result<Vec<StoredApp>, StoreError> {
        let named = select!("where lower(name) = lower($1) order by id limit $2");
        self.read_all(sql(named, [name.into(), limit.into()])).await
    }
}
