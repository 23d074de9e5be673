//! A connection to Redis or Valkey that runs the counting script.
//!
//! All keys have one hash tag, so that they are in one slot of a cluster: a script may access keys
//! of one slot only, a request has buckets of an account and of an address, and a request rejected
//! by one must not be counted by the other. The price is that one node of the cluster does all the
//! counting. Services with different prefixes are spread over the cluster.

use std::sync::Arc;
use std::time::Duration;

use belfry_core::limits::{Bucket, CountMode};
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, RedisError,
    RedisResult, ServerErrorKind,
};

const SCRIPT: &str = include_str!("count.lua");

/// The number of commands that may wait to be sent in one batch.
const PIPELINE_SIZE: usize = 4096;

/// A connection to a server that has loaded the script. Clones share it and pipeline commands.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    multiplexed: MultiplexedConnection,
    script: Arc<str>,
    prefix: Arc<str>,
}

/// The count before a request, and the time left in the window.
pub(super) type WindowState = (u32, Duration);

impl Connection {
    /// Connects and runs the script once. In a cluster, follows redirects to the node of the slot.
    pub(super) async fn open(info: &ConnectionInfo, prefix: &Arc<str>) -> RedisResult<Self> {
        let mut info = info.clone();
        let mut redirects = 0;
        loop {
            let mut connection = Self::connect(info.clone(), prefix).await?;
            match connection.probe().await {
                Ok(()) => return Ok(connection),
                Err(error) if redirects < 3 => info = redirect(&info, &error).ok_or(error)?,
                Err(error) => return Err(error),
            }
            redirects += 1;
        }
    }

    async fn connect(info: ConnectionInfo, prefix: &Arc<str>) -> RedisResult<Self> {
        // The timeouts are in `reconnect` and `RedisCounters::query`.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_pipeline_buffer_size(PIPELINE_SIZE);
        let client = Client::open(info)?;
        let mut multiplexed = client.get_multiplexed_async_connection_with_config(&config).await?;
        let script: String =
            redis::cmd("SCRIPT").arg("LOAD").arg(SCRIPT).query_async(&mut multiplexed).await?;
        Ok(Self { multiplexed, script: script.into(), prefix: Arc::clone(prefix) })
    }

    /// Writes once, so that a server that only reads (a replica, a full one) is not used.
    pub(super) async fn probe(&mut self) -> RedisResult<()> {
        let key = format!("{{{}}}:probe", self.prefix);
        let arguments = [(key, u32::MAX, 1_000)];
        self.run(CountMode::Charge, &arguments).await.map(drop)
    }

    /// Runs the script for a request.
    pub(super) async fn count(
        &mut self,
        mode: CountMode,
        buckets: &[Bucket<'_>],
    ) -> RedisResult<Vec<WindowState>> {
        let argument = |bucket: &Bucket<'_>| {
            let key = format!("{{{}}}:{}:{}", self.prefix, bucket.limit.name(), bucket.key);
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
        let response: Vec<u64> = match by_hash.query_async(&mut self.multiplexed).await {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                let by_text = command("EVAL", SCRIPT, mode, arguments);
                by_text.query_async(&mut self.multiplexed).await?
            }
            response => response?,
        };
        let (pairs, rest) = response.as_chunks();
        if pairs.len() != arguments.len() || !rest.is_empty() {
            let kind = ErrorKind::UnexpectedReturnType;
            return Err((kind, "the script must return two numbers per limit").into());
        }
        let parse = |&[count, left]: &[u64; 2]| {
            (u32::try_from(count).unwrap_or(u32::MAX), Duration::from_millis(left))
        };
        Ok(pairs.iter().map(parse).collect())
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

/// The address that a MOVED or ASK error redirects to.
fn redirect(info: &ConnectionInfo, error: &RedisError) -> Option<ConnectionInfo> {
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
