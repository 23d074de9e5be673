//! Counters that all nodes share, in Redis or Valkey, with windows timed by that server's clock.
//!
//! One run of a script checks all limits of a request. In a cluster, the limits of one subject are
//! in one slot. A request with several subjects runs the script once for each slot (`reservation`).
//!
//! **Outages.** A request waits for at most `limits.redis_timeout` and is then counted locally. A
//! connection is discarded if it is broken, after an error response, or after three timeouts in a
//! row; a test write is made every few seconds, so an outage is detected without requests. From
//! then on requests are counted locally without waiting, while a task reconnects. In a cluster this
//! applies to each shard separately. No request is rejected because Redis is unavailable, and
//! limits still apply: each node admits at most the limit. Local counts are not written back, but a
//! key that was exhausted locally remains so until its window ends.
//!
//! **Server settings.** Redis must not evict keys at random, because an evicted key starts again
//! from 0. A full server that evicts nothing rejects writes, which counts as an outage.

mod connection;
mod diagnosis;
mod node;
mod refresh;
mod reservation;
mod routing;
mod script;
mod slots;
mod topology;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use belfry_core::limits::{Bucket, CountMode};
use belfry_runtime::file_access::describe_file_error;
use belfry_runtime::supervisor::{Task, TaskStatus};
use redis::{Client, ConnectionInfo, ErrorKind, RedisError, RedisResult, TlsCertificates};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::time::Instant;

pub use self::diagnosis::{RedisDiagnosis, diagnose};
use self::node::CONNECT_TIMEOUT;
pub(super) use self::reservation::Reservation;
pub(super) use self::script::WindowState;
use self::script::{ScriptMode, ScriptRun};
use self::topology::{Servers, Topology, group_buckets};
use crate::metrics::RedisMetrics;

/// Returns the connection settings for a `rediss://…` URL whose server needs a certificate from an
/// authority in this PEM file, instead of one that the operating system trusts.
///
/// # Errors
/// If the URL is invalid, or the file cannot be read or contains no usable certificate.
pub fn connection_info_with_root_certificate(
    url: &str,
    file: &Path,
) -> RedisResult<ConnectionInfo> {
    let config_error = |reason: String| {
        let setting = "limits.redis_root_certificate";
        let reason = format!("cannot use {}: {reason}", file.display());
        RedisError::from((ErrorKind::InvalidClientConfig, setting, reason))
    };
    let root_cert =
        fs::read(file).map_err(|error| config_error(describe_file_error(file, &error)))?;
    if CertificateDer::pem_slice_iter(&root_cert).next().is_none() {
        return Err(config_error("it contains no certificate".to_owned()));
    }
    let certificates = TlsCertificates { client_tls: None, root_cert: Some(root_cert) };
    let client = Client::build_with_tls(url, certificates);
    Ok(client.map_err(|error| config_error(error.to_string()))?.get_connection_info().clone())
}

/// Counters in Redis, shared by all nodes.
#[derive(Debug)]
pub struct RedisCounters {
    servers: Arc<Servers>,
    refresh_task: Task,
}

#[derive(Debug)]
pub(super) struct CountResult {
    /// The window of each bucket before the request; `None` where Redis is unavailable.
    pub(super) states: Vec<Option<WindowState>>,
    /// To be confirmed if the request is admitted, and released otherwise.
    pub(super) reservation: Option<Reservation>,
}

impl RedisCounters {
    /// Connects to a server, or to the cluster that these nodes are part of. A request waits for a
    /// response for at most `timeout`. All keys begin with `prefix`, which must not contain a
    /// brace.
    ///
    /// An unreachable server is not an error: a task tries to connect until this value is dropped.
    pub async fn connect(addresses: Vec<ConnectionInfo>, prefix: &str, timeout: Duration) -> Self {
        let servers = Arc::new(Servers::new(addresses, prefix, timeout));
        servers.update_at_startup().await;
        servers.wait_for_connections(Instant::now() + CONNECT_TIMEOUT + timeout).await;
        let task_servers = Arc::clone(&servers);
        let refresh = move || refresh::refresh_loop(Arc::clone(&task_servers));
        Self { servers, refresh_task: Task::spawn("redis_refresh", refresh) }
    }

    /// Returns the background task's status.
    pub(super) fn task_status(&self) -> Arc<TaskStatus> {
        self.refresh_task.status()
    }

    pub(super) async fn count(&self, mode: CountMode, buckets: &[Bucket<'_>]) -> CountResult {
        let mut count_result = CountResult { states: vec![None; buckets.len()], reservation: None };
        let is_cluster = match &*self.servers.topology() {
            Topology::Unknown => return count_result,
            Topology::Single(_) => false,
            Topology::Cluster(_) => true,
        };
        let mut groups = group_buckets(buckets, &self.servers.settings.prefix, is_cluster);
        let indices: Vec<_> = groups.iter().map(|group| group.indices.clone()).collect();
        let results = if groups.len() > 1 {
            let mode = match mode {
                CountMode::Check => ScriptMode::Reserve,
                _ => ScriptMode::Count(mode),
            };
            let (results, reservation) =
                reservation::count_in_slots(&self.servers, groups, mode).await;
            count_result.reservation = reservation;
            results
        } else if let Some(group) = groups.pop() {
            let run = ScriptRun { mode: ScriptMode::Count(mode), counters: group.counters };
            let deadline = Instant::now() + self.servers.settings.timeout;
            vec![self.servers.run(group.slot, &run, deadline).await]
        } else {
            Vec::new()
        };
        for (indices, result) in indices.into_iter().zip(results) {
            let Some(result) = result else { continue };
            for (index, state) in indices.into_iter().zip(result.states) {
                count_result.states[index] = Some(state);
            }
        }
        count_result
    }

    pub(super) fn metrics(&self) -> &RedisMetrics {
        &self.servers.metrics
    }

    /// Returns the addresses of the nodes that are not connected, and the number of all nodes,
    /// which is 0 until one has responded.
    pub(super) fn unavailable_shards(&self) -> (Vec<String>, usize) {
        self.servers.unavailable_shards()
    }
}
