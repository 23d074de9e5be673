//! The limit on the process's open files. Each connection uses one.

use belfry_delivery::outbound::MAX_CONNECTIONS;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::Config;

/// Files that the process opens in addition to connections: database, log, listeners, Redis.
const OTHER_FILES: usize = 100;

/// Raises the soft limit on open files to the hard limit, and warns if that is still too low for
/// the given settings.
pub fn raise_file_limit(config: &Config) {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::debug!(%error, "cannot raise the limit on open files");
    }
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let needed = needed_files(config);
    if limit < needed {
        tracing::warn!(
            limit,
            needed,
            "too few open files are allowed for http.max_connections: raise the limit (ulimit -n, \
             LimitNOFILE) or lower the setting"
        );
    }
}

/// Returns the number of files that a server with the given settings opens.
fn needed_files(config: &Config) -> u64 {
    let push_connections = if config.push.contact.is_some() { MAX_CONNECTIONS } else { 0 };
    (config.http.max_connections.saturating_add(OTHER_FILES + push_connections)) as u64
}
