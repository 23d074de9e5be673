//! A connection to a Redis or Valkey server that runs the rate-limit script.

use std::io;
use std::time::Duration;

use belfry_core::limits::CountMode;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, RedisResult,
    ServerErrorKind, Value,
};

use super::script::{RedisCounter, RunResult, ScriptMode, ScriptRun};
use super::slots::NodeAddress;

/// Number of commands that may wait to be sent in one batch.
const PIPELINE_SIZE: usize = 4096;

/// A connection to a server. Clones share it and pipeline commands.
#[derive(Debug, Clone)]
pub(super) struct Connection(MultiplexedConnection);

impl Connection {
    /// Connects. Sets no timeout: the caller does.
    pub(super) async fn open(info: &ConnectionInfo) -> RedisResult<Self> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_pipeline_buffer_size(PIPELINE_SIZE);
        let client = Client::open(info.clone())?;
        client.get_multiplexed_async_connection_with_config(&config).await.map(Self)
    }

    /// Runs the script with one write, to detect a server that cannot write, such as one that is
    /// out of memory. Without a hash tag the script runs without keys, which is all that a cluster
    /// node without slots allows.
    pub(super) async fn test_write(&mut self, prefix: &str, tag: Option<&str>) -> RedisResult<()> {
        let counters =
            tag.map(|tag| RedisCounter::for_test_write(prefix, tag)).into_iter().collect();
        let mode = ScriptMode::Count(CountMode::Charge);
        self.run(&ScriptRun { mode, counters }, false).await.map(drop)
    }

    /// Returns the nodes that own each slot. A server that is not in a cluster responds with an
    /// error.
    pub(super) async fn cluster_slots(&mut self) -> RedisResult<Value> {
        redis::cmd("CLUSTER").arg("SLOTS").query_async(&mut self.0).await
    }

    /// Runs the script. `send_asking` permits keys of a slot that is being moved to this node.
    pub(super) async fn run(
        &mut self,
        run: &ScriptRun,
        send_asking: bool,
    ) -> RedisResult<RunResult> {
        let response = match self.send(&run.command(false), send_asking).await {
            // Loading the script first would fail again if the server lost it in between.
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.send(&run.command(true), send_asking).await?
            }
            response => response?,
        };
        run.parse(&response)
    }

    async fn send(&mut self, command: &Cmd, send_asking: bool) -> RedisResult<Vec<u64>> {
        if !send_asking {
            return command.query_async(&mut self.0).await;
        }
        // One pipeline, because ASKING applies to the next command of the connection, which is
        // shared.
        let mut pipeline = redis::pipe();
        pipeline.cmd("ASKING").ignore().add_command(command.clone());
        let (response,) = pipeline.query_async(&mut self.0).await?;
        Ok(response)
    }
}

pub(super) async fn with_timeout<T>(
    time_limit: Duration,
    attempt: impl Future<Output = RedisResult<T>>,
) -> RedisResult<T> {
    tokio::time::timeout(time_limit, attempt).await.unwrap_or_else(|_| {
        let reason = format!("no response within {} s", time_limit.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, reason).into())
    })
}

/// Returns a copy of the connection settings with a different address; `None` if the server is not
/// reached over TCP.
pub(super) fn with_address(
    info: &ConnectionInfo,
    (host, port): &NodeAddress,
) -> Option<ConnectionInfo> {
    let mut address = info.addr().clone();
    let (ConnectionAddr::Tcp(target_host, target_port)
    | ConnectionAddr::TcpTls { host: target_host, port: target_port, .. }) = &mut address
    else {
        return None;
    };
    host.clone_into(target_host);
    *target_port = *port;
    Some(info.clone().set_addr(address))
}

/// Returns a server's host, which is empty if it is not reached over TCP.
pub(super) fn tcp_host(info: &ConnectionInfo) -> &str {
    match info.addr() {
        ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => host,
        _ => "",
    }
}
