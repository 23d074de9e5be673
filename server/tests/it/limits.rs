//! Rate limits over HTTP.

mod address;
mod cluster;
mod connections;
mod guard;
mod headers;
pub(crate) mod nodes;
mod outage;
mod settings;
mod table;
mod tls;

use crate::support::TestClient;

/// Sends this many requests and returns how many were admitted.
pub(crate) async fn count_admitted(client: &TestClient, request: &str, count: usize) -> usize {
    let mut admitted = 0;
    for _ in 0..count {
        admitted += usize::from(is_admitted(client, request).await);
    }
    admitted
}

async fn is_admitted(client: &TestClient, request: &str) -> bool {
    client.send(request, "").await.status != 429
}
