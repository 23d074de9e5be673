//! Counters that all nodes share, in Redis or Valkey, by the clock of that server.
//!
//! One run of a script decides about all limits of a request.
//!
//! **Outages.** A request waits for at most `limits.redis_timeout` and is then counted locally.
//! A connection is discarded if it is broken, after an error response, or after three timeouts in a
//! row. From then on requests are counted locally at once, while a task reconnects. No request is
//! rejected because Redis is unavailable, and limits still apply: each node admits at most the
//! limit. Local counts are not written back, but a key that was exhausted locally remains so until
//! its window ends.
//!
//! **Server settings.** Redis must not evict keys at random, because an evicted key starts again
//! from 0. A full server that evicts nothing rejects writes, which counts as an outage.

mod connection;
mod diagnosis;
mod reconnect;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use belfry_core::limits::{Bucket, CountMode};
use redis::{
    Client, ConnectionInfo, ErrorKind, IntoConnectionInfo, RedisError, RedisResult, TlsCertificates,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::time::{Instant, timeout};
use tokio_util::task::AbortOnDropHandle;

pub(super) use self::connection::WindowState;
pub use self::diagnosis::{RedisDiagnosis, diagnose};
use self::reconnect::ManagedConnection;
use crate::metrics::RedisMetrics;

/// The server at a `rediss://…` URL whose certificate must be issued by an authority in this PEM
/// file, instead of one of the operating system.
///
/// # Errors
/// When the URL is invalid or the file cannot be used.
pub fn with_root_certificate(url: &str, file: &Path) -> RedisResult<ConnectionInfo> {
    let failed = |reason: String| {
        let setting = "limits.redis_root_certificate";
        let reason = format!("cannot use {}: {reason}", file.display());
        RedisError::from((ErrorKind::InvalidClientConfig, setting, reason))
    };
    let root_cert = fs::read(file).map_err(|error| failed(error.to_string()))?;
    if CertificateDer::pem_slice_iter(&root_cert).next().is_none() {
        return Err(failed("it contains no certificate".to_owned()));
    }
    let certificates = TlsCertificates { client_tls: None, root_cert: Some(root_cert) };
    let client = Client::build_with_tls(url, certificates);
    Ok(client.map_err(|error| failed(error.to_string()))?.get_connection_info().clone())
}

/// The shared counters.
#[derive(Debug)]
pub struct RedisCounters {
    connection: Arc<ManagedConnection>,
    pub(super) metrics: RedisMetrics,
    _reconnect_task: AbortOnDropHandle<()>,
}

impl RedisCounters {
    /// Connects to a server. A request waits for its response for at most `timeout`.
    /// All keys begin with `prefix` as hash tag. Services that share a server need different
    /// prefixes.
    ///
    /// An unreachable server is not an error: a task reconnects until this value is dropped.
    ///
    /// # Errors
    /// When the URL is invalid, or the prefix is not a valid hash tag.
    pub async fn connect(
        server: impl IntoConnectionInfo,
        prefix: &str,
        timeout: Duration,
    ) -> RedisResult<Self> {
        let info = server.into_connection_info()?;
        if prefix.is_empty() || prefix.contains(['{', '}']) {
            let reason = "limits.redis_prefix must not be empty or contain a brace";
            return Err((ErrorKind::InvalidClientConfig, reason).into());
        }
        let connection = Arc::new(ManagedConnection::new(info, prefix, timeout));
        if let Err(reason) = connection.try_connect().await {
            connection.log_unavailable(&reason);
        }
        let task = tokio::spawn(reconnect::reconnect_loop(Arc::clone(&connection)));
        let metrics = RedisMetrics::default();
        Ok(Self { connection, metrics, _reconnect_task: AbortOnDropHandle::new(task) })
    }

    /// Counts a request. Returns the windows before it; `None` when Redis is unavailable.
    pub(super) async fn count(
        &self,
        mode: CountMode,
        buckets: &[Bucket<'_>],
    ) -> Option<Vec<WindowState>> {
        let live = self.connection.get()?;
        let mut connection = live.connection.clone();
        let start = Instant::now();
        match timeout(self.connection.timeout, connection.count(mode, buckets)).await {
            Ok(Ok(states)) => {
                live.record_success();
                self.metrics.durations.observe_duration(start.elapsed());
                return Some(states);
            }
            Ok(Err(error)) => {
                self.metrics.errors.inc();
                self.connection.discard(&live, &error.to_string());
            }
            Err(_) => {
                self.metrics.timeouts.inc();
                self.connection.record_timeout(&live);
            }
        }
        None
    }

    /// Whether Redis is used at the moment.
    pub(super) fn is_connected(&self) -> bool {
        self.connection.get().is_some()
    }
}
