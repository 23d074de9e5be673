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

/// Returns the number of requests, out of `requests`, that no limit rejects.
pub(crate) async fn admitted(client: &TestClient, request: &str, requests: usize) -> usize {
    let mut admitted = 0;
    for _ in 0..requests {
        admitted += usize::from(is_admitted(client, request).await);
    }
    admitted
}

async fn is_admitted(client: &TestClient, request: &str) -> bool {
    client.send(request, "").await.status != 429
}
