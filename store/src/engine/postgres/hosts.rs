//! The servers that the URL names. One of them is the primary, which accepts writes. A failover
//! makes another server the primary.

use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use belfry_runtime::log_throttled;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Connection, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::errors::{classify_connect_error, error_reason};
use super::tls;
use crate::engine::database::{HostConfig, PostgresUrl, SecretUrl};
use crate::error::StoreError;

/// Time after which the next host is tried as well, because the previous one may drop packets or be
/// suspended.
const NEXT_HOST_DELAY: Duration = Duration::from_secs(1);

/// The half of a connection that performs its I/O and receives the server's messages.
pub(crate) type ConnectionDriver =
    Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// The hosts of a URL. Clones share the choice of the primary.
#[derive(Clone)]
pub(crate) struct Hosts(Arc<SharedHosts>);

struct SharedHosts {
    hosts: Vec<HostConfig>,
    tls: MakeRustlsConnect,
    must_accept_writes: bool,
    primary: watch::Sender<Primary>,
    last_error: Mutex<Option<String>>,
}

/// The server to which connections are opened. Connections to an earlier primary are no longer
/// used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Primary {
    host: usize,
    /// Changes even if the same host is abandoned and used again.
    generation: u64,
}

impl Hosts {
    /// Parses a URL and reads the certificates that it names. Unless the URL says otherwise, the
    /// server must accept writes if Belfry writes to it, or if there are several servers, because a
    /// standby may be stale.
    pub(crate) fn new(url: &SecretUrl, will_write: bool) -> Result<Self, StoreError> {
        use TargetSessionAttrs::{Any, ReadOnly, ReadWrite};
        let open_error = |reason| StoreError::Open { database: url.without_password(), reason };
        let PostgresUrl { mut hosts, target, tls } = url.to_postgres().map_err(open_error)?;
        let default_target = if will_write || hosts.len() > 1 { ReadWrite } else { Any };
        let target = target.unwrap_or(default_target);
        if will_write && target == ReadOnly {
            let reason = "target_session_attrs must be read-write or any, because Belfry writes";
            return Err(open_error(reason.to_owned()));
        }
        for HostConfig { config, .. } in &mut hosts {
            config.target_session_attrs(target).application_name("belfry");
        }
        Ok(Self(Arc::new(SharedHosts {
            hosts,
            tls: tls::build_connector(tls.as_ref()).map_err(open_error)?,
            must_accept_writes: target == ReadWrite,
            primary: watch::Sender::new(Primary { host: 0, generation: 0 }),
            last_error: Mutex::new(None),
        })))
    }

    pub(super) fn tls(&self) -> MakeRustlsConnect {
        self.0.tls.clone()
    }

    pub(super) fn options(&self) -> &str {
        self.0.hosts.first().and_then(|host| host.config.get_options()).unwrap_or_default()
    }

    /// Returns whether only servers that accept writes are used.
    pub(super) fn must_accept_writes(&self) -> bool {
        self.0.must_accept_writes
    }

    /// Returns whether the URL names several hosts.
    pub(crate) fn has_several_hosts(&self) -> bool {
        self.0.hosts.len() > 1
    }

    /// Returns the error of the last attempt to connect, until an attempt succeeds.
    pub(super) fn last_error(&self) -> Option<String> {
        self.0.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_last_error(&self, error: Option<String>) {
        *self.0.last_error.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }

    /// Returns whether this is still the server to which connections are opened.
    pub(super) fn is_current(&self, primary: Primary) -> bool {
        *self.0.primary.borrow() == primary
    }

    /// Waits until connections are opened to a host other than this one, or forever if the URL
    /// names only one.
    pub(super) async fn wait_for_other_host(&self, primary: Primary) {
        if !self.has_several_hosts() {
            return pending().await;
        }
        let mut changes = self.0.primary.subscribe();
        let _never_closed = changes.wait_for(|current| current.host != primary.host).await;
    }

    /// Stops using all connections that were opened so far. Returns false, and changes nothing, if
    /// `primary` is no longer current.
    pub(super) fn abandon(&self, primary: Primary) -> bool {
        self.0.primary.send_if_modified(|current| {
            let is_current = *current == primary;
            if is_current {
                current.generation += 1;
            }
            is_current
        })
    }

    /// Connects to the last known primary or, if it fails or does not respond soon, to a different
    /// host.
    pub(crate) async fn connect(
        &self,
        max_duration: Duration,
    ) -> Result<(Client, ConnectionDriver, Primary), StoreError> {
        let host_count = self.0.hosts.len();
        let last_host = self.0.primary.borrow().host;
        let deadline = Instant::now() + max_duration;
        let delay =
            NEXT_HOST_DELAY.min(max_duration / u32::try_from(host_count).unwrap_or(u32::MAX));
        let mut next_hosts = (0..host_count).map(|offset| (last_host + offset) % host_count);
        let mut attempts = FuturesUnordered::new();
        let mut failures = Vec::new();
        loop {
            attempts.extend(next_hosts.next().map(|host| async move {
                let HostConfig { name, config } = &self.0.hosts[host];
                let attempt = timeout_at(deadline, config.connect(self.tls())).await;
                let outcome = match attempt {
                    Ok(outcome) => outcome.map_err(|error| classify_connect_error(&error)),
                    Err(_) => Err(StoreError::Unavailable(format!(
                        "no connection within {} s; check host and port in the URL, and any \
                         firewall in between",
                        max_duration.as_secs_f32()
                    ))),
                };
                outcome.map(|connection| (host, connection)).map_err(|error| (name, error))
            }));
            let outcome = match next_hosts.len() {
                0 => attempts.next().await,
                _ => match timeout(delay, attempts.next()).await {
                    Ok(outcome) => outcome,
                    Err(_) => continue,
                },
            };
            match outcome {
                Some(Ok((host, (client, driver)))) => {
                    self.set_last_error(None);
                    return Ok((client, driver, self.use_host(host)));
                }
                Some(Err(failure)) => {
                    failures.push(failure);
                    self.set_last_error(Some(error_reason(combine_failures(&failures))));
                }
                None => return Err(combine_failures(&failures)),
            }
        }
    }

    /// Selects the host to which connections are opened.
    fn use_host(&self, host: usize) -> Primary {
        self.0.primary.send_if_modified(|primary| {
            let is_changed = primary.host != host;
            if is_changed {
                *primary = Primary { host, generation: primary.generation + 1 };
                let host = &self.0.hosts[host].name;
                log_throttled!(info, "using a different PostgreSQL server", host);
            }
            is_changed
        });
        // Another connection may have selected another host in the meantime. The result then
        // differs from the current primary, so this connection is not used.
        Primary { host, ..*self.0.primary.borrow() }
    }
}

/// Combines the errors of all hosts into one. It is temporary if one of them is, because that host
/// may be the primary.
fn combine_failures(failures: &[(&String, StoreError)]) -> StoreError {
    let is_temporary =
        failures.iter().any(|(_, error)| matches!(error, StoreError::Unavailable(_)));
    let reasons = failures.iter().map(|(host, error)| {
        let reason = error_reason(error.clone());
        if host.is_empty() { reason } else { format!("{host}: {reason}") }
    });
    let reason = reasons.collect::<Vec<_>>().join("; ");
    if is_temporary { StoreError::Unavailable(reason) } else { StoreError::Failed(reason) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(url: &str, will_write: bool) -> Hosts {
        Hosts::new(&url.parse().unwrap(), will_write).unwrap()
    }

    #[test]
    fn a_server_must_accept_writes_unless_the_url_says_otherwise() {
        for (url, will_write, must_accept_writes) in [
            ("postgres://me@a/x", true, true),
            ("postgres://me@a/x", false, false),
            ("postgres://me@a,b/x", false, true),
            ("postgres://me@a/x?target_session_attrs=any", true, false),
            ("postgres://me@a,b/x?target_session_attrs=any", true, false),
            ("postgres://me@a/x?target_session_attrs=primary", false, true),
        ] {
            assert_eq!(hosts(url, will_write).must_accept_writes(), must_accept_writes, "{url}");
        }
        let read_only_url = "postgres://me@a,b/x?target_session_attrs=read-only".parse().unwrap();
        assert!(Hosts::new(&read_only_url, false).is_ok());
        assert!(Hosts::new(&read_only_url, true).is_err());
    }

    #[test]
    fn abandoning_an_old_primary_does_not_affect_newer_connections() {
        let hosts = hosts("postgres://me@a,b/x", true);
        let old_primary = hosts.use_host(0);
        assert!(hosts.is_current(old_primary));
        assert!(hosts.abandon(old_primary) && !hosts.is_current(old_primary));
        let new_primary = hosts.use_host(0);
        assert!(
            !hosts.abandon(old_primary) && hosts.is_current(new_primary),
            "connections were opened since the old primary was abandoned"
        );
        let other_host = hosts.use_host(1);
        assert!(hosts.is_current(other_host) && !hosts.is_current(new_primary));
    }
}
