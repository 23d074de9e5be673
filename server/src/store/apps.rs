//! Apps: the registered applications.

use std::sync::Arc;

use belfry_core::oauth::app::{self, AppDetails};
use belfry_core::oauth::redirect::RedirectUri;
use belfry_core::secret::Digest;
use jiff::Timestamp;

use super::cache::Invalidation;
use super::engine::{Batch, Row, sql};
use super::{Store, StoreError};

/// An app as it is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    /// Its number.
    pub id: i64,
    /// The public name it gives itself in requests.
    pub client_id: String,
    /// The digest of its secret.
    pub secret: Digest,
    /// Its name, for people.
    pub name: String,
    /// Its home page.
    pub website: Option<String>,
    /// Where its users may be sent back to.
    pub redirect_uris: Vec<String>,
    /// The scopes it declared, separated by spaces.
    pub scopes: String,
    /// When it was registered.
    pub created_at: Timestamp,
    /// Since when it may no longer be used.
    pub disabled_at: Option<Timestamp>,
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

impl App {
    /// The app as decisions are made about it. What could not be registered any more counts as
    /// not registered.
    #[must_use]
    pub fn to_core(&self) -> app::App {
        let redirect_uris =
            self.redirect_uris.iter().flat_map(|uri| RedirectUri::new(uri.as_str()));
        app::App {
            id: self.id,
            client_id: self.client_id.clone(),
            details: AppDetails {
                name: self.name.clone(),
                website: self.website.clone(),
                redirect_uris: redirect_uris.collect(),
                scopes: self.scopes.parse().unwrap_or_default(),
            },
        }
    }

    fn read(mut row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.take()?,
            client_id: row.take()?,
            secret: row.take()?,
            name: row.take()?,
            website: row.take()?,
            redirect_uris: row.json()?,
            scopes: row.take()?,
            created_at: row.take()?,
            disabled_at: row.take()?,
        })
    }
}

impl Store {
    /// Adds an app; `false` when its id or client id is another's.
    pub async fn add_app(&self, app: &App) -> Result<bool, StoreError> {
        let redirect_uris = serde_json::Value::from(app.redirect_uris.as_slice()).to_string();
        let [added] = self
            .write_rows(sql(
                "insert into apps (id, client_id, secret, name, website, redirect_uris, scopes, \
                 created_at, disabled_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
                 on conflict do nothing returning id",
                [
                    app.id.into(),
                    app.client_id.as_str().into(),
                    app.secret.into(),
                    app.name.as_str().into(),
                    app.website.as_deref().into(),
                    redirect_uris.into(),
                    app.scopes.as_str().into(),
                    app.created_at.into(),
                    app.disabled_at.into(),
                ],
            ))
            .await?;
        Ok(!added.is_empty())
    }

    /// The app of this id.
    pub async fn app(&self, id: i64) -> Result<Option<App>, StoreError> {
        self.read_one(sql(select!("where id = $1"), [id.into()]), App::read).await
    }

    /// The app that gives itself this client id.
    pub async fn app_by_client_id(&self, client_id: &str) -> Result<Option<Arc<App>>, StoreError> {
        if let Some(known) = self.cache.app(client_id) {
            return Ok(Some(known));
        }
        let epoch = self.cache.epoch(&client_id);
        let select = sql(select!("where client_id = $1"), [client_id.into()]);
        let found = self.read_one(select, App::read).await?.map(Arc::new);
        if let Some(app) = &found {
            self.cache.insert_app(app, epoch);
        }
        Ok(found)
    }

    /// At most `limit` apps whose ids come after `after`, by id.
    pub async fn apps(&self, after: i64, limit: i64) -> Result<Vec<App>, StoreError> {
        let page = sql(select!("where id > $1 order by id limit $2"), [after.into(), limit.into()]);
        self.engine.read(page).await?.into_iter().map(App::read).collect()
    }

    /// Lets an app be used no longer (`Some` time) or again (`None`). Its codes and tokens are
    /// refused while it is disabled. Whether there is such an app.
    pub async fn disable_app(&self, id: i64, at: Option<Timestamp>) -> Result<bool, StoreError> {
        let batch = Batch::from(sql(
            "update apps set disabled_at = $2 where id = $1 returning id",
            [id.into(), at.into()],
        ))
        .invalidating(Invalidation::Everything);
        let [found] = self.write_rows(batch).await?;
        Ok(!found.is_empty())
    }
}
