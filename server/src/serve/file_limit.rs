//! The limit on the process's open files. Each connection uses one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that the process opens in addition to connections: database, log, listeners, Redis.
const OTHER_FILES: u64 = 100;

/// Raises the soft limit on open files to the hard limit, and warns if that is still too low for
/// this many connections.
pub fn raise_file_limit(max_connections: usize) {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::debug!(%error, "cannot raise the limit on open files");
    }
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let needed = needed_files(max_connections);
    if limit < needed {
        tracing::warn!(
            limit,
            needed,
            "too few open files are allowed for http.max_connections: raise the limit (ulimit -n, \
             LimitNOFILE) or lower the setting"
        );
    }
}

/// Returns the number of files that a server with this many connections opens.
pub fn needed_files(max_connections: usize) -> u64 {
    u64::try_from(max_connections).unwrap_or(u64::MAX).saturating_add(OTHER_FILES)
}
