//! Registered apps.

use std::sync::Arc;

use belfry_core::oauth::app::{App, AppDetails};
use belfry_core::oauth::redirect::RedirectUri;
use belfry_core::secret::HashedSecret;
use jiff::Timestamp;

use super::audit::insert_event;
use super::engine::{Batch, FromRow, Row, sql};
use super::invalidation::Invalidation;
use super::{Store, StoreError, UpdateOutcome};

/// A stored app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredApp {
    /// The app as it was registered.
    pub app: App,
    /// The client secret.
    pub secret: HashedSecret,
    /// When it was registered.
    pub created_at: Timestamp,
    /// When it was disabled.
    pub disabled_at: Option<Timestamp>,
}

/// The outcome of adding an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddAppOutcome {
    /// The app was added.
    Added,
    /// Its id or client id is taken.
    IdTaken,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select id, client_id, secret, name, website, redirect_uris, scopes, created_at, \
             disabled_at from apps ",
            $rest
        )
    };
}

impl FromRow for StoredApp {
    fn from_row(mut row: Row) -> Result<Self, StoreError> {
        let (id, client_id, secret) = (row.take()?, row.take()?, row.take()?);
        let (name, website) = (row.take()?, row.take()?);
        // URIs that could no longer be registered are ignored.
        let uris: Vec<String> = row.json()?;
        let redirect_uris = uris.into_iter().flat_map(RedirectUri::new).collect();
        let details = AppDetails { name, website, redirect_uris, scopes: row.take()? };
        let app = App { id, client_id, details };
        Ok(Self { app, secret, created_at: row.take()?, disabled_at: row.take()? })
    }
}

impl Store {
    /// Adds an app.
    pub async fn add_app(&self, stored: &StoredApp) -> Result<AddAppOutcome, StoreError> {
        let App { id, client_id, details } = &stored.app;
        let uris: Vec<&str> = details.redirect_uris.iter().map(RedirectUri::as_str).collect();
        let batch = Batch::from(sql(
            "insert into apps (id, client_id, secret, name, website, redirect_uris, scopes, \
             created_at, disabled_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
             on conflict do nothing returning id",
            [
                (*id).into(),
                client_id.as_str().into(),
                stored.secret.into(),
                details.name.as_str().into(),
                details.website.as_deref().into(),
                serde_json::Value::from(uris).to_string().into(),
                (&details.scopes).into(),
                stored.created_at.into(),
                stored.disabled_at.into(),
            ],
        ));
        let batch = batch.and_events(
            &self.entries,
            &sql(
                insert_event!(
                    "cast(null as bigint) as account_id, id as app_id, 1 as number from apps \
                 where id = $9 and client_id = $10"
                ),
                [(*id).into(), client_id.as_str().into()],
            ),
        );
        let [added] = self.write_rows(batch).await?;
        Ok(if added.is_empty() { AddAppOutcome::IdTaken } else { AddAppOutcome::Added })
    }

    /// Finds an app by id.
    pub async fn app(&self, id: i64) -> Result<Option<StoredApp>, StoreError> {
        self.read_one(sql(select!("where id = $1"), [id.into()])).await
    }

    /// Finds an app by client id.
    pub async fn app_by_client_id(
        &self,
        client_id: &str,
    ) -> Result<Option<Arc<StoredApp>>, StoreError> {
        if let Some(app) = self.cache.apps.get(client_id) {
            return Ok(Some(app));
        }
        let epoch = self.cache.apps.epoch(client_id);
        let select = sql(select!("where client_id = $1"), [client_id.into()]);
        let found: Option<Arc<StoredApp>> = self.read_one(select).await?.map(Arc::new);
        if let Some(app) = &found {
            self.cache.apps.insert(client_id.into(), Arc::clone(app), epoch);
        }
        Ok(found)
    }

    /// A page of apps with ids above `after`, in order of id.
    pub async fn apps(&self, after: i64, limit: i64) -> Result<Vec<StoredApp>, StoreError> {
        let page = sql(select!("where id > $1 order by id limit $2"), [after.into(), limit.into()]);
        self.read_all(page).await
    }

    /// Disables (`Some` time) or enables an app. While it is disabled, its codes and tokens are
    /// rejected.
    pub async fn set_app_disabled_at(
        &self,
        id: i64,
        at: Option<Timestamp>,
    ) -> Result<UpdateOutcome, StoreError> {
        let batch = Batch::from(sql(
            "update apps set disabled_at = $2 where id = $1 returning id",
            [id.into(), at.into()],
        ))
        .and_events(
            &self.entries,
            &sql(
                insert_event!(
                    "cast(null as bigint) as account_id, id as app_id, 1 as number from apps \
                 where id = $9"
                ),
                [id.into()],
            ),
        )
        .invalidating(Invalidation::Everything);
        self.update(batch).await
    }
}
