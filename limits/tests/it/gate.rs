//! A TCP proxy in front of Redis that forwards bytes, withholds them or closes connections.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gate {
    Open,
    /// Connections are accepted, but bytes are not forwarded until the gate is open.
    Withholding,
    /// Connections are closed, and new ones are closed as soon as they are accepted.
    Closed,
}

/// Starts an open proxy to a server. Returns the proxy's address, and the sender that changes its
/// state.
pub(super) async fn start_proxy(server_address: String) -> (SocketAddr, watch::Sender<Gate>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (gate_sender, gate) = watch::channel(Gate::Open);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let gate = gate.clone();
            let server_address = server_address.clone();
            tokio::spawn(async move {
                let mut closing_gate = gate.clone();
                tokio::select! {
                    _ = closing_gate.wait_for(|gate| *gate == Gate::Closed) => {}
                    () = forward(client, server_address, gate) => {}
                }
            });
        }
    });
    (address, gate_sender)
}

async fn forward(client: TcpStream, server_address: String, gate: watch::Receiver<Gate>) {
    let server = TcpStream::connect(server_address).await.unwrap();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let mut directions = JoinSet::new();
    for (mut from, mut to) in [(from_client, to_server), (from_server, to_client)] {
        let mut gate = gate.clone();
        directions.spawn(async move {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = from.read(&mut bytes).await {
                if gate.wait_for(|gate| *gate == Gate::Open).await.is_err() {
                    return;
                }
                if to.write_all(&bytes[..length]).await.is_err() {
                    return;
                }
            }
        });
    }
    directions.join_next().await;
}
