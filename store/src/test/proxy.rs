//! A proxy in front of PostgreSQL that drops notifications or delays requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::TestDatabase;
use crate::engine::database::Database;

pub struct PostgresProxy {
    /// The database, at the proxy's address.
    pub database: Database,
    pub faults: Arc<Faults>,
}

pub struct Faults {
    /// True while notifications are dropped.
    pub drops_notifications: AtomicBool,
    pub dropped_notifications: AtomicUsize,
    /// Requests that contain this string are delayed until their client has disconnected and this
    /// string has become empty.
    pub delayed_text: watch::Sender<&'static str>,
}

impl PostgresProxy {
    pub async fn start(database: &TestDatabase, drops_notifications: bool) -> Self {
        let mut url = url::Url::parse(database.url().unwrap()).unwrap();
        let server = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap_or(5432));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        let faults = Arc::new(Faults {
            drops_notifications: AtomicBool::new(drops_notifications),
            dropped_notifications: AtomicUsize::new(0),
            delayed_text: watch::Sender::new(""),
        });
        let shared_faults = Arc::clone(&faults);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.unwrap();
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(forward_requests(from_client, to_server, Arc::clone(&shared_faults)));
                tokio::spawn(forward_responses(from_server, to_client, Arc::clone(&shared_faults)));
            }
        });
        Self { database: Database::Postgres(url.as_str().parse().unwrap()), faults }
    }
}

/// Forwards requests. A delayed request is sent after its client has closed the connection,
/// together with the requests that followed it.
async fn forward_requests(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, faults: Arc<Faults>) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let mut requests = buffer[..length].to_vec();
        let delayed_text = *faults.delayed_text.borrow();
        let is_delayed = !delayed_text.is_empty()
            && requests.windows(delayed_text.len()).any(|bytes| bytes == delayed_text.as_bytes());
        if is_delayed {
            let _ = from.read_to_end(&mut requests).await;
            faults.delayed_text.subscribe().wait_for(|text| text.is_empty()).await.unwrap();
        }
        if to.write_all(&requests).await.is_err() {
            return;
        }
    }
}

/// Forwards messages, except notifications while they are dropped. A message consists of a letter,
/// its length and its content.
async fn forward_responses(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    faults: Arc<Faults>,
) -> std::io::Result<()> {
    loop {
        let mut message = vec![0; 5];
        from.read_exact(&mut message).await?;
        let length = u32::from_be_bytes(message[1..].try_into().unwrap());
        message.resize(length as usize + 1, 0);
        from.read_exact(&mut message[5..]).await?;
        if message[0] == b'A' && faults.drops_notifications.load(Ordering::SeqCst) {
            faults.dropped_notifications.fetch_add(1, Ordering::SeqCst);
        } else {
            // Continues after the client has disconnected, because the server would otherwise abort
            // its transaction.
            let _ = to.write_all(&message).await;
        }
    }
}
