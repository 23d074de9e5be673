//! A connection to Redis or Valkey that can count: opened, tried, and shared by all callers.
//!
//! All keys carry one hash tag, so that in a cluster they lie in one slot: a script may touch only
//! keys of one slot, the limits of a call are of an account and of an address, and a refusal by one
//! must cost the other nothing. The price is that one node of the cluster does all the counting;
//! the others add safety, not speed. Separate services spread by having separate prefixes.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use belfry_core::limits::{Bucket, CountMode};
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, RedisError,
    RedisResult, ServerErrorKind,
};

const SCRIPT: &str = include_str!("count.lua");

/// Commands that may wait to be written; all of them go out together.
const QUEUE: usize = 4096;

/// A connection on which the script is known. Clones share it, and their calls are pipelined.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    connection: MultiplexedConnection,
    script: Arc<str>,
    prefix: Arc<str>,
}

/// The count before a call, and what is left of the window.
pub(super) type WindowState = (u32, Duration);

impl Connection {
    /// Connects and counts once, to know that it works. In a cluster it ends at the node that has
    /// the slot, whichever node was asked.
    pub(super) async fn open(info: &ConnectionInfo, prefix: &Arc<str>) -> RedisResult<Self> {
        let mut info = info.clone();
        let mut moves = 0;
        loop {
            let mut link = Self::connect(info.clone(), prefix).await?;
            match link.try_out().await {
                Ok(()) => return Ok(link),
                Err(error) if moves < 3 => info = moved(&info, &error).ok_or(error)?,
                Err(error) => return Err(error),
            }
            moves += 1;
        }
    }

    async fn connect(info: ConnectionInfo, prefix: &Arc<str>) -> RedisResult<Self> {
        // Whoever waits has its own patience, and shorter than any that could be set here.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_pipeline_buffer_size(QUEUE);
        let client = Client::open(info)?;
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        let script: String =
            redis::cmd("SCRIPT").arg("LOAD").arg(SCRIPT).query_async(&mut connection).await?;
        Ok(Self { connection, script: script.into(), prefix: Arc::clone(prefix) })
    }

    /// Writes, so that a server which only reads (a replica, a full one) does not pass for good.
    pub(super) async fn try_out(&mut self) -> RedisResult<()> {
        let key = format!("{{{}}}:probe", self.prefix);
        let arguments = [(key, u32::MAX, 1_000)];
        self.run(CountMode::Charge, &arguments).await.map(drop)
    }

    /// Counts a call.
    pub(super) async fn count(
        &mut self,
        mode: CountMode,
        buckets: &[Bucket<'_>],
    ) -> RedisResult<Vec<WindowState>> {
        let argument = |bucket: &Bucket<'_>| {
            let mut key = String::with_capacity(64);
            let _ = write!(key, "{{{}}}:{}:{}", self.prefix, bucket.limit.name(), bucket.key);
            (key, bucket.limit.requests(), bucket.limit.window().as_secs() * 1000)
        };
        let arguments: Vec<_> = buckets.iter().map(argument).collect();
        self.run(mode, &arguments).await
    }

    async fn run(
        &mut self,
        mode: CountMode,
        arguments: &[(String, u32, u64)],
    ) -> RedisResult<Vec<WindowState>> {
        let by_hash = command("EVALSHA", &self.script, mode, arguments);
        let told: Vec<u64> = match by_hash.query_async(&mut self.connection).await {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                let by_text = command("EVAL", SCRIPT, mode, arguments);
                by_text.query_async(&mut self.connection).await?
            }
            answer => answer?,
        };
        let (pairs, rest) = told.as_chunks();
        if pairs.len() != arguments.len() || !rest.is_empty() {
            let kind = ErrorKind::UnexpectedReturnType;
            return Err((kind, "the script did not answer two numbers per limit").into());
        }
        let read = |&[count, left]: &[u64; 2]| {
            (u32::try_from(count).unwrap_or(u32::MAX), Duration::from_millis(left))
        };
        Ok(pairs.iter().map(read).collect())
    }
}

fn command(name: &str, script: &str, mode: CountMode, arguments: &[(String, u32, u64)]) -> Cmd {
    let mut command = redis::cmd(name);
    command.arg(script).arg(arguments.len());
    for (key, ..) in arguments {
        command.arg(key);
    }
    command.arg(match mode {
        CountMode::Check => "check",
        CountMode::Peek => "peek",
        CountMode::Charge => "charge",
    });
    for (_, requests, window) in arguments {
        command.arg(requests).arg(window);
    }
    command
}

/// Where an answer says that the keys have moved to.
fn moved(info: &ConnectionInfo, error: &RedisError) -> Option<ConnectionInfo> {
    let (address, _slot) = error.redirect_node()?;
    let (host, port) = address.rsplit_once(':')?;
    let port = port.parse().ok()?;
    let mut address = info.addr().clone();
    let (ConnectionAddr::Tcp(was_host, was_port)
    | ConnectionAddr::TcpTls { host: was_host, port: was_port, .. }) = &mut address
    else {
        return None;
    };
    if !host.is_empty() {
        host.clone_into(was_host);
    }
    *was_port = port;
    Some(info.clone().set_addr(address))
}
