//! A service in this process with a fake clock, used without a socket.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex};

use belfry::app::{AppState, StateParts};
use belfry::config::{Config, RateLimitMode};
use belfry::http::{HttpService, Peer};
use belfry_core::account::Role;
use belfry_core::oauth::app::{App, AppDetails};
use belfry_core::oauth::client::{ClientProperties, Registrar};
use belfry_core::oauth::issuer_policy::MASTODON;
use belfry_core::oauth::redirect::RedirectUri;
use belfry_core::secret::{Secret, SplitToken};
use belfry_runtime::clock::Clock;
use belfry_runtime::random;
use belfry_runtime::sealing::SealingKey;
use belfry_runtime::test::FakeClock;
use belfry_store::test::TestDatabase;
use belfry_store::{Account, Database, NewToken, Store, StoredApp};
use jiff::Timestamp;
use tempfile::TempDir;

use super::browser::Browser;
use super::client::TestClient;
use super::oauth_client::OAuthClient;
use crate::support::any_events;

/// The initial time of the fake clock, as Unix time in seconds.
pub(crate) const START_SECONDS: i64 = 1_800_000_000;

pub(crate) struct Service {
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) state: AppState,
    pub(crate) http: HttpService,
    database: TestDatabase,
}

impl Service {
    /// Creates a service with default settings, on SQLite.
    pub(crate) async fn start() -> Self {
        Self::start_with(Config::default()).await
    }

    /// Creates a service with the given settings, on SQLite.
    pub(crate) async fn start_with(config: Config) -> Self {
        // Boxed because the settings make this future, and every future that contains it, large.
        Box::pin(Self::start_on(TestDatabase::sqlite(), config)).await
    }

    pub(crate) async fn start_with_state(
        config: Config,
        change: impl FnOnce(&mut StateParts),
    ) -> Self {
        Box::pin(Self::build(TestDatabase::sqlite(), config, change)).await
    }

    /// Creates a service with the given settings and database.
    pub(crate) async fn start_on(database: TestDatabase, config: Config) -> Self {
        Self::build(database, config, |_| {}).await
    }

    async fn build(
        database: TestDatabase,
        mut config: Config,
        change: impl FnOnce(&mut StateParts),
    ) -> Self {
        config.secret_key_file.get_or_insert_with(sealing_key_file);
        let clock = Arc::new(FakeClock::at_second(START_SECONDS));
        let default_url = || "https://ring.example".parse().unwrap();
        let base_url = config.base_url.clone().unwrap_or_else(default_url);
        let store = database.open_with_cache_bytes(config.store.cache_bytes).await;
        let mut parts =
            StateParts::new(config, base_url, store, Arc::clone(&clock) as Arc<dyn Clock>)
                .await
                .unwrap();
        change(&mut parts);
        let state = AppState::new(parts);
        let http = HttpService::new(state.clone());
        Self { clock, state, http, database }
    }

    /// Restarts the service with different settings. The clock is reset to [`START_SECONDS`].
    pub(crate) async fn restart(self, config: Config) -> Self {
        let Self { state, http, database, .. } = self;
        drop((state, http));
        Box::pin(Self::start_on(database, config)).await
    }

    pub(crate) fn store(&self) -> &Store {
        &self.state.store
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns a client without a token, at 192.0.2.1.
    pub(crate) fn anonymous_client(&self) -> TestClient {
        TestClient::new(self.http.clone(), Peer(peer_address([192, 0, 2, 1])))
    }

    /// Returns a client on the server's machine, without a token.
    pub(crate) fn operator_client(&self) -> TestClient {
        self.anonymous_client().with_address([127, 0, 0, 1])
    }

    pub(crate) async fn metrics(&self) -> String {
        self.operator_client().get("/metrics").await.text
    }

    /// Returns a browser without a session.
    pub(crate) fn browser(&self) -> Browser {
        Browser::new(self.anonymous_client())
    }

    pub(crate) async fn register_client(&self) -> OAuthClient {
        OAuthClient::register(self.anonymous_client()).await
    }

    /// Returns a client authenticated as this user with the scopes `read write push`. Adds the
    /// account if it is missing.
    pub(crate) async fn user_client(&self, name: &str) -> TestClient {
        self.user_client_with_scopes(name, "read write push").await
    }

    /// Returns a client authenticated as this user with these scopes. Adds the account if it is
    /// missing.
    pub(crate) async fn user_client_with_scopes(&self, name: &str, scopes: &str) -> TestClient {
        let account_id = match self.store().account_by_name(name).await.unwrap() {
            Some(account) => account.id,
            None => self.add_account(name).await,
        };
        let token = self.issue_token(Some(account_id), scopes).await;
        self.anonymous_client().with_token(token.reveal())
    }

    /// Adds an account whose password is `correct horse NAME`.
    pub(crate) async fn add_account(&self, name: &str) -> i64 {
        let password_hash = self.hash_password(format!("correct horse {name}")).await;
        let account = Account {
            id: random::id_candidates(self.now()).next().unwrap(),
            name: name.to_owned(),
            email: Some(format!("{name}@example.org")),
            unverified_email: None,
            password_hash,
            role: Role::User,
            created_at: self.now(),
            signed_in_at: None,
            disabled_at: None,
            delete_at: None,
            credential_version: 0,
        };
        self.store().add_account(&any_events(), &account).await.unwrap();
        account.id
    }

    /// Hashes a password, or returns its hash from an earlier call, because hashing is slow.
    async fn hash_password(&self, password: String) -> String {
        static HASHES: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
        if let Some(hash) = HASHES.lock().unwrap().get(&password) {
            return hash.clone();
        }
        let hash = self.state.passwords.hash(Secret::new(password.clone())).await.unwrap();
        HASHES.lock().unwrap().insert(password, hash.clone());
        hash
    }

    /// Runs statements on the SQLite database, as another process would.
    pub(crate) fn execute_sql(&self, sql: &str) {
        let Database::Sqlite(path) = &self.database.database else { panic!("not SQLite") };
        rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
    }

    pub(crate) async fn issue_token(&self, account_id: Option<i64>, scopes: &str) -> SplitToken {
        let details = AppDetails {
            name: "Tests".to_owned(),
            website: None,
            redirect_uris: vec![RedirectUri::new("https://app.example/cb").unwrap()],
            scopes: "read write follow push profile".parse().unwrap(),
        };
        let properties = ClientProperties::new(&MASTODON, Registrar::Api);
        let app = App { id: 1, client_id: "tests".to_owned(), details, properties };
        let app = StoredApp::new(app, random::split_token(self.now()).hashed_secret(), self.now());
        // The app exists already if a token was issued before.
        let _ = self.store().add_app(&any_events(), &app).await.unwrap();
        let token = random::split_token(self.now());
        let new_token = NewToken {
            secret: token.hashed_secret(),
            app_id: 1,
            account_id,
            scopes: scopes.parse().unwrap(),
            created_at: self.now(),
            expires_at: None,
            device: None,
        };
        match account_id {
            Some(_) => self.store().add_token(&any_events(), &new_token).await.unwrap(),
            None => self.store().add_app_token(&new_token).await.unwrap(),
        };
        token
    }
}

/// Returns the path of a sealing key that all services of this process share.
fn sealing_key_file() -> PathBuf {
    static DIR: LazyLock<TempDir> = LazyLock::new(|| {
        let dir = tempfile::tempdir().unwrap();
        SealingKey::random().write_new(&dir.path().join("belfry.key")).unwrap();
        dir
    });
    DIR.path().join("belfry.key")
}

pub(crate) fn peer_address(ip: impl Into<IpAddr>) -> SocketAddr {
    SocketAddr::new(ip.into(), 40_000)
}

/// Returns the default settings without rate limits.
pub(crate) fn unlimited_config() -> Config {
    config_with(|config| config.limits.mode = RateLimitMode::Off)
}

/// Returns the default settings with a change.
pub(crate) fn config_with(change: impl FnOnce(&mut Config)) -> Config {
    let mut config = Config::default();
    change(&mut config);
    config
}

/// Returns the value of a series in the text of all metrics. `series` includes the labels.
#[track_caller]
pub(crate) fn metric_value(metrics: &str, series: &str) -> f64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {series}")).parse().unwrap()
}
