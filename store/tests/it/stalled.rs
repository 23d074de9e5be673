//! A connection to PostgreSQL that stalls without being closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use belfry_store::test::{TestDatabase, options};
use belfry_store::{Database, Store};
use jiff::Timestamp;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use super::nodes::wait_until;

/// Forwards a connection, but stops forwarding the requests of the first one that sends `listen`.
async fn forward_connection(client: TcpStream, server: String, has_stalled: Arc<AtomicBool>) {
    let server = TcpStream::connect(server).await.unwrap();
    let (mut requests, mut to_client) = client.into_split();
    let (mut responses, mut to_server) = server.into_split();
    tokio::spawn(async move { tokio::io::copy(&mut responses, &mut to_client).await });
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = requests.read(&mut buffer).await {
        let message = &buffer[..length];
        let is_listen = message.windows(13).any(|part| part == b"listen belfry");
        if is_listen && !has_stalled.swap(true, Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        if to_server.write_all(message).await.is_err() {
            return;
        }
    }
}

/// If it were not replaced, the cache would be bypassed until TCP gives up, after many minutes.
#[tokio::test(flavor = "multi_thread")]
async fn a_listening_connection_that_stalls_is_replaced() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let mut url: Url = database.url().unwrap().parse().unwrap();
    let server = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
    let has_stalled = Arc::new(AtomicBool::new(false));
    let shared_flag = Arc::clone(&has_stalled);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(forward_connection(client, server.clone(), Arc::clone(&shared_flag)));
        }
    });

    let database = Database::Postgres(url.as_str().parse().unwrap());
    let store = Store::open(&database, &options(), Timestamp::UNIX_EPOCH).await.unwrap();

    wait_until("the cache is enabled", async || store.is_cache_enabled()).await;
    assert!(has_stalled.load(Ordering::Relaxed));
}
