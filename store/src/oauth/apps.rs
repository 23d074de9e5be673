//! Registered apps.

use std::sync::Arc;

use belfry_core::audit::NewAuditEvents;
use belfry_core::oauth::app::{App, AppDetails};
use belfry_core::oauth::client::{ClientProperties, GrantType};
use belfry_core::oauth::client::{ClientSecrets, PreviousSecret};
use belfry_core::oauth::redirect::RedirectUri;
use belfry_core::secret::{HashedSecret, SplitToken};
use belfry_runtime::random;
use jiff::Timestamp;

use crate::cache::{Invalidation, StoredApp};
use crate::engine::{FromRow, Row, Statement, from_row, sql};
use crate::error::StoreError;
use crate::store::event_source::{EventSource, event_source_for};
use crate::store::{Change, EnabledState, Store, WriteOutcome};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppTokens {
    pub valid_count: i64,
    /// The issue time of the newest stored token.
    pub last_issued_at: Option<Timestamp>,
}

from_row!(AppTokens: valid_count, last_issued_at);

#[derive(Debug, Clone, Default)]
pub struct AppListFilter {
    pub state: Option<EnabledState>,
    /// Only apps whose name contains this string, ignoring case.
    pub name: Option<String>,
    /// Only apps that are subject to retention and have no code or token. A sweep deletes them when
    /// they are old enough.
    pub only_unused: bool,
}

impl FromRow for StoredApp {
    fn from_row(mut row: Row) -> Result<Self, StoreError> {
        let id = row.take()?;
        let client_id = row.take()?;
        let current = row.take()?;
        let previous = Option::zip(row.take()?, row.take()?)
            .map(|(secret, until)| PreviousSecret { secret, until });
        let name = row.take()?;
        let website = row.take()?;
        // URIs that are no longer valid are ignored. Their schemes are not checked again, so that
        // an app remains usable when the settings change.
        let uris: Vec<String> = row.take_json()?;
        let redirect_uris = uris.into_iter().flat_map(RedirectUri::from_stored).collect();
        let details = AppDetails { name, website, redirect_uris, scopes: row.take()? };
        let (auth_method, grant_types) = (row.take()?, row.take::<String>()?);
        // Grant types that only a newer release knows are ignored.
        let grant_types = grant_types.split(' ').filter_map(GrantType::from_name).collect();
        let registered_by = row.take()?;
        let issuer = row.take()?;
        let properties = ClientProperties { auth_method, grant_types, registered_by, issuer };
        Ok(Self {
            app: App { id, client_id, details, properties },
            secrets: ClientSecrets { current, previous },
            created_at: row.take()?,
            retained_at: row.take()?,
            last_used_at: row.take()?,
            disabled_at: row.take()?,
        })
    }
}

impl Store {
    /// Adds an app. Returns `NotFound` if its id or client id is taken.
    pub async fn add_app(
        &self,
        events: &NewAuditEvents,
        stored_app: &StoredApp,
    ) -> Result<WriteOutcome, StoreError> {
        let event_source = event_source_for!(
            apps,
            "id = $id and client_id = $client_id",
            [id = stored_app.app.id, client_id = stored_app.app.client_id.as_str()]
        );
        self.update(Change::new(events, insert_app_statement(stored_app), event_source)).await
    }

    /// Adds a first-party app, unless there is one with this id or client id. The server adds it,
    /// so no audit event is written.
    pub async fn add_first_party_app(&self, stored_app: &StoredApp) -> Result<(), StoreError> {
        self.write(Change::unaudited(insert_app_statement(stored_app))).await.map(drop)
    }

    pub async fn create_app(
        &self,
        events: &NewAuditEvents,
        now: Timestamp,
        details: AppDetails,
        properties: ClientProperties,
    ) -> Result<(App, SplitToken), StoreError> {
        let secret = random::split_token(now);
        let client_id = random::split_token(now).reveal().to_owned();
        let app = App { id: 0, client_id, details, properties };
        let mut stored_app = StoredApp::new(app, secret.hashed_secret(), now);
        for id in random::id_candidates(now) {
            stored_app.app.id = id;
            if self.add_app(events, &stored_app).await? == WriteOutcome::Written {
                return Ok((stored_app.app, secret));
            }
        }
        Err(StoreError::NoFreeId)
    }

    /// Registers a public client, unless there is one with this client id, which is a digest of its
    /// metadata. The age of an unused client counts from its last registration.
    pub async fn register_client(
        &self,
        events: &NewAuditEvents,
        now: Timestamp,
        mut app: App,
    ) -> Result<(), StoreError> {
        for id in random::id_candidates(now) {
            // Not from the cache, because another node's sweep may have deleted the client.
            let select = sql!(
                r"
                    select case when used_at is null then 0 else 1 end
                    from apps
                    where client_id = $client_id
                ",
                [client_id = app.client_id.as_str()]
            );
            match self.read_one(select).await? {
                Some(1_i64) => return Ok(()),
                Some(_) => {
                    let renew = sql!(
                        r"
                            update apps
                            set created_at = $now
                            where client_id = $client_id
                              and used_at is null
                            returning id
                        ",
                        [client_id = app.client_id.as_str(), now]
                    );
                    if self.update(Change::unaudited(renew)).await? == WriteOutcome::Written {
                        return Ok(());
                    }
                    // The client was authorized or deleted since it was read.
                    continue;
                }
                None => {}
            }
            app.id = id;
            let secret = random::split_token(now).hashed_secret();
            let stored_app = StoredApp::new(app.clone(), secret, now);
            if self.add_app(events, &stored_app).await? == WriteOutcome::Written {
                return Ok(());
            }
        }
        Err(StoreError::NoFreeId)
    }

    pub async fn app(&self, id: i64) -> Result<Option<StoredApp>, StoreError> {
        self.read_one(sql!("select {app_columns} from apps where id = $id", [id])).await
    }

    /// Finds an app by id, from the cache if possible. `last_used_at` may then be out of date.
    pub async fn cached_app(&self, id: i64) -> Result<Option<Arc<StoredApp>>, StoreError> {
        if let Some(app) = self.cache.apps_by_id.get(&id) {
            return Ok(Some(app));
        }
        let epoch = self.cache.apps_by_id.epoch(&id);
        let stored_app = self.app(id).await?.map(Arc::new);
        if let Some(app) = &stored_app {
            self.cache.apps_by_id.insert(id, Arc::clone(app), epoch);
        }
        Ok(stored_app)
    }

    /// Finds an app by client id, from the cache if possible, like [`Store::cached_app`].
    pub async fn app_by_client_id(
        &self,
        client_id: &str,
    ) -> Result<Option<Arc<StoredApp>>, StoreError> {
        if let Some(app) = self.cache.apps_by_client_id.get(client_id) {
            return Ok(Some(app));
        }
        let epoch = self.cache.apps_by_client_id.epoch(client_id);
        let select =
            sql!("select {app_columns} from apps where client_id = $client_id", [client_id]);
        let stored_app: Option<Arc<StoredApp>> = self.read_one(select).await?.map(Arc::new);
        if let Some(app) = &stored_app {
            self.cache.apps_by_client_id.insert(client_id.into(), Arc::clone(app), epoch);
        }
        Ok(stored_app)
    }

    /// Returns a page of apps with ids above `after`, in order of id.
    pub async fn apps(
        &self,
        filter: &AppListFilter,
        after: i64,
        limit: i64,
    ) -> Result<Vec<StoredApp>, StoreError> {
        // An empty filter matches every name; `replace` with an empty pattern would match none.
        let name = filter.name.as_deref().filter(|name| !name.is_empty());
        let page = sql!(
            r"
                select {app_columns}
                from apps
                where id > $after
                  and (
                      cast($state as text) is null
                        or case when disabled_at is null then 'active' else 'disabled' end =
                            $state
                  )
                  and (
                      cast($name as text) is null
                        or replace(lower(name), lower($name), '') <> lower(name)
                  )
                  and (
                      cast($unused as bigint) is null
                        or (
                            used_at is null
                              and not exists (select 1 from tokens where app_id = apps.id)
                              and id not in (select app_id from codes)
                        )
                  )
                order by id
                limit $limit
            ",
            [
                after,
                limit,
                state = filter.state,
                name,
                unused = filter.only_unused.then_some(1_i64)
            ]
        );
        self.read_all(page).await
    }

    /// Returns the first `limit` apps with this name, ignoring case, in order of id.
    pub async fn apps_named(&self, name: &str, limit: i64) -> Result<Vec<StoredApp>, StoreError> {
        self.read_all(sql!(
            r"
                select {app_columns}
                from apps
                where lower(name) = lower($name)
                order by id
                limit $limit
            ",
            [name, limit]
        ))
        .await
    }

    pub async fn app_tokens(&self, id: i64, now: Timestamp) -> Result<AppTokens, StoreError> {
        let select = sql!(
            r"
                select count(case when revoked_at is null and (expires_at is null or expires_at
                    > $now) then 1 end), max(created_at)
                from tokens
                where app_id = $id
            ",
            [id, now]
        );
        self.read_one(select).await?.ok_or(StoreError::Unreadable("count"))
    }

    /// Disables (`Some` time) or enables an app. While it is disabled, its codes and tokens are
    /// rejected.
    pub async fn set_app_disabled_at(
        &self,
        events: &NewAuditEvents,
        id: i64,
        disabled_at: Option<Timestamp>,
    ) -> Result<WriteOutcome, StoreError> {
        let update = sql!(
            r"
                update apps
                set disabled_at = $disabled_at
                where id = $id
                returning id
            ",
            [id, disabled_at]
        );
        let event_source =
            event_source_for!(apps, "id = $id and {changes_disabled_state}", [id, disabled_at]);
        let change = Change::new(events, [], event_source).and(update);
        self.update(change.invalidating(Invalidation::App(id))).await
    }

    /// Replaces an app's client secret. The replaced secret is accepted until the given time, if
    /// any; earlier secrets are not.
    pub async fn rotate_app_secret(
        &self,
        events: &NewAuditEvents,
        id: i64,
        secret: HashedSecret,
        previous_until: Option<Timestamp>,
    ) -> Result<WriteOutcome, StoreError> {
        let update = sql!(
            r"
                update apps
                set secret = $secret, previous_secret_until = cast($previous_until as bigint),
                    previous_secret = case when cast($previous_until as bigint) is null then
                    null else secret end
                where id = $id
                returning id
            ",
            [id, secret, previous_until]
        );
        let change = Change::new(events, update, app_event_source(id))
            .invalidating(Invalidation::AppSecret(id));
        self.update(change).await
    }
}

/// Returns the statement that inserts an app, unless its id or client id is taken.
fn insert_app_statement(stored_app: &StoredApp) -> Statement {
    let App { id, client_id, details, properties } = &stored_app.app;
    let grant_types: Vec<&str> =
        properties.grant_types.iter().map(|grant_type| grant_type.as_str()).collect();
    let uris: Vec<&str> = details.redirect_uris.iter().map(RedirectUri::as_str).collect();
    let previous = stored_app.secrets.previous;
    sql!(
        r"
            insert into apps (id, client_id, secret, previous_secret, previous_secret_until,
                name, website, redirect_uris, scopes, auth_method, grant_types, registered_by,
                issuer, created_at, used_at, last_used_at, disabled_at)
            values ($id, $client_id, $secret, $previous_secret, $previous_until, $name,
                $website, $redirect_uris, $scopes, $auth_method, $grant_types, $registered_by,
                $issuer, $created_at, $retained_at, $last_used_at, $disabled_at)
            on conflict do nothing
            returning id
        ",
        [
            id = *id,
            client_id = client_id.as_str(),
            secret = stored_app.secrets.current,
            previous_secret = previous.map(|previous| previous.secret),
            previous_until = previous.map(|previous| previous.until),
            name = details.name.as_str(),
            website = details.website.as_deref(),
            redirect_uris = serde_json::Value::from(uris).to_string(),
            scopes = &details.scopes,
            auth_method = properties.auth_method,
            grant_types = grant_types.join(" "),
            registered_by = properties.registered_by,
            issuer = properties.issuer,
            created_at = stored_app.created_at,
            retained_at = stored_app.retained_at,
            last_used_at = stored_app.last_used_at,
            disabled_at = stored_app.disabled_at
        ]
    )
}

/// Returns an app's event source, which is empty if there is no app with this id.
fn app_event_source(id: i64) -> EventSource {
    event_source_for!(apps, "id = $id", [id])
}
