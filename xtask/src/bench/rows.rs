//! What is measured: one entry each, to which an area adds its own.

use super::load::Load;
use super::program::Program;
use super::request::Request;
use super::start::{Start, idle_memory, time_to_ready};

/// Paths, loaded side by side with a bare server.
///
/// A row that needs a user makes one first:
/// ```text
/// prepare: |belfry| {
///     belfry.command(&["account", "add", "ann"])?;
///     let token = belfry.command(&["token", "issue", "ann", "--scopes", "push"])?;
///     let headers = vec![("authorization".into(), format!("Bearer {token}"))];
///     Ok(Request { headers, ..Request::new("GET", "/path") })
/// }
/// ```
pub(super) const LOADS: &[Load] = &[Load {
    name: "GET /healthz",
    connections: 16,
    floor: 0.9,
    serve: &["--limits", "off"],
    prepare: |_| Ok(Request::new("GET", "/healthz")),
}];

/// What a Belfry costs before anybody calls.
pub(super) const STARTS: &[Start] = &[
    Start { name: "idle memory", unit: "MB", ceiling: 25.0, measure: idle_memory },
    Start {
        name: "start to ready, empty data",
        unit: "ms",
        ceiling: 100.0,
        measure: time_to_ready,
    },
];

/// Programs that measure a part alone, in `server/examples`.
pub(super) const PROGRAMS: &[Program] =
    &[Program { name: "the store alone", example: "store", arguments: &[], engines: true }];

/// The names of all rows.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let loads = LOADS.iter().map(|row| row.name);
    loads.chain(STARTS.iter().map(|row| row.name)).chain(PROGRAMS.iter().map(|row| row.name))
}
