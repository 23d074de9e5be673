//! How nodes on one PostgreSQL hear of each other's writes.
//!
//! A write tells what it changed in its own transaction. Each node listens on a connection of its
//! own, and believes its cache only while that connection answers: a node that is cut off reads
//! from the database until it hears again.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, future, stream};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_postgres::{AsyncMessage, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::store::cache::{Cache, Change};
use crate::store::engine::{Statement, sql};

/// How often the connection is asked whether it still answers, and for how long it may think.
/// Together they stay below the second within which a revoked token is refused everywhere.
const ASK: Duration = Duration::from_millis(300);
const ANSWER: Duration = Duration::from_millis(500);

/// The statement that tells other nodes of a change.
pub(super) fn tell(change: Change) -> Statement {
    sql("select pg_notify('belfry', $1)", [change.to_text().into()])
}

/// The task that listens; it ends with this value.
pub(super) struct Listener(JoinHandle<()>);

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Listener {
    /// Begins to listen, and begins anew whenever the connection is lost.
    pub(super) fn start(config: Config, tls: MakeRustlsConnect, cache: Arc<Cache>) -> Self {
        Self(tokio::spawn(async move {
            loop {
                let lost = listen(&config, tls.clone(), &cache).await;
                if cache.is_believed() {
                    tracing::warn!(%lost, "the cache is bypassed: other nodes are not heard");
                    cache.believe(false);
                }
                sleep(ASK).await;
            }
        }))
    }
}

/// Listens until the connection fails, and says why it did.
async fn listen(config: &Config, tls: MakeRustlsConnect, cache: &Arc<Cache>) -> String {
    let (client, mut connection) = match config.connect(tls).await {
        Ok(connected) => connected,
        Err(error) => return super::told(&error),
    };
    let heard = Arc::clone(cache);
    let messages = stream::poll_fn(move |context| connection.poll_message(context));
    let hearing = tokio::spawn(messages.for_each(move |message| {
        if let Ok(AsyncMessage::Notification(told)) = message {
            heard.forget(&[Change::from_text(told.payload())]);
        }
        future::ready(())
    }));
    let asking = async {
        client.batch_execute("listen belfry").await?;
        if !cache.is_believed() {
            tracing::info!("the cache is in use: other nodes are heard");
        }
        cache.believe(true);
        loop {
            sleep(ASK).await;
            match timeout(ANSWER, client.simple_query("")).await {
                Ok(answer) => drop(answer?),
                Err(_) => return Ok("no answer in time".to_owned()),
            }
        }
    };
    let lost = asking.await.unwrap_or_else(|error: tokio_postgres::Error| super::told(&error));
    hearing.abort();
    lost
}
