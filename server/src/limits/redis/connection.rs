//! A connection to Redis or Valkey that runs the counting script.
//!
//! All keys have one hash tag, so that they are in one slot of a cluster: a script may access keys
//! of one slot only, a request has buckets of an account and of an address, and a request rejected
//! by one must not be counted by the other. The price is that one node of the cluster does all the
//! counting. Services with different prefixes are spread over the cluster.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use belfry_core::limits::{Bucket, CountMode};
use jiff::SignedDuration;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, ErrorKind, RedisError,
    RedisResult, Script,
};

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("count.lua")));

/// The number of commands that may wait to be sent in one batch.
const PIPELINE_SIZE: usize = 4096;

/// A connection to a server that has loaded the script. Clones share it and pipeline commands.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    multiplexed: MultiplexedConnection,
    prefix: Arc<str>,
}

/// The count before a request, and the time left in the window.
pub(in crate::limits) type WindowState = (u32, Duration);

impl Connection {
    /// Connects and runs the script once. In a cluster, follows redirects to the node of the slot.
    pub(super) async fn open(info: &ConnectionInfo, prefix: &Arc<str>) -> RedisResult<Self> {
        // The timeouts are in `reconnect` and `RedisCounters::count`.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_pipeline_buffer_size(PIPELINE_SIZE);
        let mut info = info.clone();
        let mut redirects = 0;
        loop {
            let client = Client::open(info.clone())?;
            let multiplexed = client.get_multiplexed_async_connection_with_config(&config).await?;
            let mut connection = Self { multiplexed, prefix: Arc::clone(prefix) };
            match connection.probe().await {
                Ok(()) => return Ok(connection),
                Err(error) if redirects < 3 => info = redirect(&info, &error).ok_or(error)?,
                Err(error) => return Err(error),
            }
            redirects += 1;
        }
    }

    /// Writes once, so that a server that cannot write, such as a replica or one without free
    /// memory, is not used.
    pub(super) async fn probe(&mut self) -> RedisResult<()> {
        let key = format!("{{{}}}:probe", self.prefix);
        self.run(CountMode::Charge, &[(key, u32::MAX, 1_000)]).await.map(drop)
    }

    /// The time of the server, since 1970.
    pub(super) async fn time(&mut self) -> RedisResult<SignedDuration> {
        let time = redis::cmd("TIME").query_async(&mut self.multiplexed).await?;
        let (seconds, micros): (i64, i64) = time;
        Ok(SignedDuration::from_secs(seconds) + SignedDuration::from_micros(micros))
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
        let mut invocation = SCRIPT.arg(match mode {
            CountMode::Check => "check",
            CountMode::Peek => "peek",
            CountMode::Charge => "charge",
            CountMode::Refund => "refund",
        });
        for (key, requests, window) in arguments {
            invocation.key(key).arg(requests).arg(window);
        }
        let states: Vec<(u32, u64)> = invocation.invoke_async(&mut self.multiplexed).await?;
        if states.len() != arguments.len() {
            let kind = ErrorKind::UnexpectedReturnType;
            return Err((kind, "the script must return two numbers per limit").into());
        }
        Ok(states.into_iter().map(|(count, left)| (count, Duration::from_millis(left))).collect())
    }
}

/// The address that a MOVED or ASK error redirects to.
fn redirect(info: &ConnectionInfo, error: &RedisError) -> Option<ConnectionInfo> {
    let (address, _slot) = error.redirect_node()?;
    let (host, port) = address.rsplit_once(':')?;
    let port = port.parse().ok()?;
    let mut address = info.addr().clone();
    let (ConnectionAddr::Tcp(target_host, target_port)
    | ConnectionAddr::TcpTls { host: target_host, port: target_port, .. }) = &mut address
    else {
        return None;
    };
    if !host.is_empty() {
        host.clone_into(target_host);
    }
    *target_port = port;
    Some(info.clone().set_addr(address))
}
