//! How nodes on one PostgreSQL hear of each other's writes.
//!
//! A write tells what it changed in its own transaction. Each node listens on a connection of its
//! own, and believes its cache only while that connection answers: a node that is cut off reads
//! from the database until it hears again.
//!
//! What a node wrote itself it has forgotten when the answer to the commit came, so it need not heed
//! its own word: that would cost the next reader a query.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, future, stream};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_postgres::{AsyncMessage, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::random;
use crate::store::cache::{Cache, Change};
use crate::store::engine::{Statement, sql};

/// How often the connection is asked whether it still answers, and for how long it may think.
/// Together they stay below the second within which a revoked token is refused everywhere.
const ASK: Duration = Duration::from_millis(300);
const ANSWER: Duration = Duration::from_millis(500);

/// What a node calls itself when it tells of its writes, to know its own word again.
pub(super) struct Name(AtomicU64);

impl Name {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(drawn()))
    }

    /// Takes another name: what was told under the old one is then heard like another node's. To be
    /// called, before the cache forgets, when it is not known what became of a write: it may be
    /// committed later than that.
    pub(super) fn change(&self) {
        self.0.store(drawn(), Ordering::SeqCst);
    }

    /// The statement that tells other nodes of a change.
    pub(super) fn tell(&self, change: Change) -> Statement {
        sql("select pg_notify('belfry', $1)", [self.signed(change).into()])
    }

    fn signed(&self, change: Change) -> String {
        format!("{} by {:016x}", change.to_text(), self.0.load(Ordering::SeqCst))
    }

    /// What is told by another node; nothing when it is our own word. A node of an older version
    /// does not say who it is.
    fn heed(&self, told: &str) -> Option<Change> {
        let (change, teller) = told.split_once(" by ").unwrap_or((told, ""));
        let own = u64::from_str_radix(teller, 16) == Ok(self.0.load(Ordering::SeqCst));
        (!own).then(|| Change::from_text(change))
    }
}

fn drawn() -> u64 {
    u64::from_be_bytes(random::bytes())
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
    pub(super) fn start(
        config: Config,
        tls: MakeRustlsConnect,
        cache: Arc<Cache>,
        name: Arc<Name>,
    ) -> Self {
        Self(tokio::spawn(async move {
            loop {
                let lost = listen(&config, tls.clone(), &cache, &name).await;
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
async fn listen(
    config: &Config,
    tls: MakeRustlsConnect,
    cache: &Arc<Cache>,
    name: &Arc<Name>,
) -> String {
    let (client, mut connection) = match config.connect(tls).await {
        Ok(connected) => connected,
        Err(error) => return super::told(&error),
    };
    let (heard, name) = (Arc::clone(cache), Arc::clone(name));
    let messages = stream::poll_fn(move |context| connection.poll_message(context));
    let hearing = tokio::spawn(messages.for_each(move |message| {
        if let Ok(AsyncMessage::Notification(told)) = message
            && let Some(change) = name.heed(told.payload())
        {
            heard.forget(&[change]);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_heeds_the_others_and_not_itself() {
        let (one, other) = (Name::new(), Name::new());
        let digest = belfry_core::secret::Secret::new("t").digest();
        for change in [Change::Rules(-7), Change::Token(digest), Change::Everything] {
            assert_eq!(one.heed(&one.signed(change)), None);
            assert_eq!(one.heed(&other.signed(change)), Some(change));
            // As older nodes tell it.
            assert_eq!(one.heed(&change.to_text()), Some(change));
        }
        for unknown in ["", "rules", "rules x by y", "something new by 1"] {
            assert_eq!(one.heed(unknown), Some(Change::Everything), "{unknown}");
        }
    }

    #[test]
    fn what_was_told_under_an_older_name_is_heeded() {
        let name = Name::new();
        let before = name.signed(Change::Rules(7));
        name.change();
        assert_eq!(name.heed(&before), Some(Change::Rules(7)));
        assert_eq!(name.heed(&name.signed(Change::Rules(7))), None);
    }
}
