//! The connection pool. A request that times out is cancelled on the server, so that the node never
//! occupies more server processes than it has connections.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{
    Connect, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, Timeouts,
};
use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::{Client, Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::describe;
use crate::log_throttle;
use crate::metrics::exposition::Exposition;
use crate::metrics::{PostgresMetrics, families};
use crate::store::{Options, StoreError};

/// How long a cancel request may take, and the cancelled statement after it.
const CANCEL_TIMEOUT: Duration = Duration::from_millis(500);

/// Pooled connections. Clones share them.
#[derive(Clone)]
pub(super) struct Connections {
    pool: Pool,
    /// One for each connection but one, which is reserved for probes: they must not wait while all
    /// others are in use, because the node would stop to use its cache under load.
    permits: Arc<Semaphore>,
    pub(super) timeout: Duration,
    tls: MakeRustlsConnect,
    pub(super) metrics: Arc<PostgresMetrics>,
}

impl Connections {
    /// A pool of the configured size, with one connection more for probes.
    pub(super) fn new(
        config: &Config,
        tls: MakeRustlsConnect,
        options: &Options,
    ) -> Result<Self, String> {
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let size = options.connections.get();
        let connector = Connector(tls.clone());
        let pool = Pool::builder(Manager::from_connect(config.clone(), connector, recycling))
            .max_size(size + 1)
            .timeouts(Timeouts {
                wait: Some(options.timeout),
                create: Some(options.timeout),
                recycle: Some(options.timeout),
            })
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| error.to_string())?;
        let permits = Arc::new(Semaphore::new(size.min(Semaphore::MAX_PERMITS)));
        Ok(Self { pool, permits, timeout: options.timeout, tls, metrics: Arc::default() })
    }

    /// Writes the metrics of the pool.
    pub(super) fn write_metrics(&self, out: &mut Exposition) {
        let status = self.pool.status();
        let mut connections = out.family(&families::POSTGRES_CONNECTIONS);
        connections.value(&["in_use"], status.size.saturating_sub(status.available));
        connections.value(&["idle"], status.available);
        out.value(&families::POSTGRES_MAX_CONNECTIONS, status.max_size);
        self.metrics.write(out);
    }

    /// Runs `work` on a connection with a timeout.
    pub(super) async fn run<T>(
        &self,
        work: impl AsyncFnOnce(&Object) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, StoreError> {
        let waiting = self.metrics.waiting.enter();
        let permit = timeout(self.timeout, self.permits.acquire()).await;
        drop(waiting);
        let Ok(Ok(_permit)) = permit else {
            return Err(StoreError::Unavailable("all connections are in use".to_owned()));
        };
        self.run_without_permit(work).await
    }

    /// Sends a probe. It uses the connections in turn, so it goes where writes go.
    pub(super) async fn probe(&self, sql: &str) -> Result<(), StoreError> {
        self.run_without_permit(async |client: &Object| client.batch_execute(sql).await).await
    }

    /// Runs `work` with a timeout. After a timeout the statement is cancelled and its outcome
    /// awaited; if there is none, the connection is broken and discarded.
    async fn run_without_permit<T>(
        &self,
        work: impl AsyncFnOnce(&Object) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, StoreError> {
        let client = self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) => error.into(),
            other => StoreError::Unavailable(other.to_string()),
        })?;
        let outcome = {
            let mut work = pin!(work(&client));
            if let Ok(outcome) = timeout(self.timeout, &mut work).await {
                Some(outcome)
            } else {
                let cancel = client.cancel_token();
                match timeout(CANCEL_TIMEOUT, cancel.cancel_query(self.tls.clone())).await {
                    Ok(Ok(())) => timeout(CANCEL_TIMEOUT, work).await.ok(),
                    _ => None,
                }
            }
        };
        if let Some(outcome) = outcome {
            return Ok(outcome?);
        }
        drop(Object::take(client));
        let seconds = self.timeout.as_secs_f32();
        Err(StoreError::Unavailable(format!("no response within {seconds} s")))
    }
}

/// Opens connections, and logs why they are lost: the pool would log only "db error".
struct Connector(MakeRustlsConnect);

impl Connect for Connector {
    fn connect(&self, config: &Config) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), Error>> {
        let (config, tls) = (config.clone(), self.0.clone());
        Box::pin(async move {
            let (client, connection) = config.connect(tls).await?;
            let task = async move {
                if let Err(error) = connection.await
                    && log_throttle::POSTGRES_LOST.admits()
                {
                    tracing::warn!(error = describe(&error), "connection to PostgreSQL lost");
                }
            };
            Ok((client, tokio::spawn(task)))
        })
    }
}

/// Limits the time of statements on the server to a little less than the timeout of the client, in
/// case that no cancel request reaches it. Options of the URL come later, so they take precedence.
pub(super) fn set_server_timeouts(config: &mut Config, client_timeout: Duration) {
    let milliseconds = |percent| (client_timeout * percent / 100).as_millis().max(1);
    let mut options = format!(
        "-c statement_timeout={} -c lock_timeout={} -c idle_in_transaction_session_timeout={}",
        milliseconds(90),
        milliseconds(80),
        milliseconds(90),
    );
    if let Some(configured) = config.get_options() {
        options = format!("{options} {configured}");
    }
    config.options(options);
}
