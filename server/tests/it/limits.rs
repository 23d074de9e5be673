//! Limits on every call. Numbers in brackets are those of the list of attacks that a case is about.

mod address;
mod connections;
mod guard;
mod headers;
mod nodes;
mod outage;
mod settings;
mod table;
mod tls;

use crate::support::Caller;

/// How many of so many calls are not refused by a limit.
pub(crate) async fn admitted(caller: &Caller, what: &str, calls: usize) -> usize {
    let mut admitted = 0;
    for _ in 0..calls {
        admitted += usize::from(is_admitted(caller, what).await);
    }
    admitted
}

async fn is_admitted(caller: &Caller, what: &str) -> bool {
    caller.call(what, "").await.status != 429
}
