//! The listening sockets of one configured address.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::task::Poll;
use std::time::Duration;

use rustix::io::Errno;
#[cfg(target_os = "linux")]
use socket2::{SockFilter, SockRef};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::sleep;

use crate::config::ListenAddress;

/// Maximum number of attempts to find a port that is free on all addresses.
const MAX_ATTEMPTS: u32 = 20;

/// Maximum number of connections that wait to be accepted.
const MAX_QUEUE_LENGTH: u32 = 1024;

/// Time for TCP handshakes in progress to complete before a socket is closed. It is longer than a
/// round trip in a data centre, but short, because new connections are ignored meanwhile.
const HANDSHAKE_GRACE: Duration = Duration::from_millis(10);

/// Listening sockets on one port. There are several if a host name has several addresses.
#[derive(Debug)]
pub struct Listeners(Vec<TcpListener>);

impl Listeners {
    /// Listens on all addresses of the host. Addresses that this machine does not have, such as
    /// `::1` without IPv6, are skipped; it is an error if none is left.
    pub async fn bind(address: &ListenAddress) -> io::Result<Self> {
        let addresses = address.resolve().await?;
        let mut attempt = 1;
        loop {
            match listen_on_all(&addresses) {
                Err(error)
                    if error.kind() == io::ErrorKind::AddrInUse
                        && address.port == 0
                        && attempt < MAX_ATTEMPTS =>
                {
                    attempt += 1;
                }
                outcome => return outcome.map(Self),
            }
        }
    }

    /// Returns the port that all sockets listen on; 0 if there are none.
    pub fn port(&self) -> io::Result<u16> {
        self.0.first().map_or(Ok(0), |first| first.local_addr().map(|address| address.port()))
    }

    pub(super) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        poll_fn(|context| {
            let mut results = self.0.iter().map(|listener| listener.poll_accept(context));
            results.find(Poll::is_ready).unwrap_or(Poll::Pending)
        })
        .await
    }

    /// Stops listening, and returns the connections that are established but not yet accepted.
    /// Closing the sockets would reset them, and peers may have sent requests on them.
    pub(super) async fn close(self) -> Vec<(TcpStream, SocketAddr)> {
        for listener in &self.0 {
            // If this fails, connections that arrive at this moment are reset.
            drop(ignore_new_connections(listener));
        }
        sleep(HANDSHAKE_GRACE).await;
        self.0.into_iter().flat_map(accept_queued_connections).collect()
    }
}

/// Ignores the first packet of new connections. The peer repeats it after a second; by then the
/// socket is closed and the connection is refused, so a proxy tries another server.
#[cfg(target_os = "linux")]
fn ignore_new_connections(listener: &TcpListener) -> io::Result<()> {
    /// Offset of the flags in the TCP header (RFC 9293, section 3.1).
    const FLAGS_OFFSET: u32 = 13;
    /// The flag of a connection's first packet.
    const SYN: u32 = 2;
    // Classic BPF: load the byte; if it has the flag, return 0 (drop), otherwise the whole packet.
    let filter = [
        SockFilter::new(0x30, 0, 0, FLAGS_OFFSET),
        SockFilter::new(0x45, 0, 1, SYN),
        SockFilter::new(0x06, 0, 0, 0),
        SockFilter::new(0x06, 0, 0, u32::MAX),
    ];
    SockRef::from(listener).attach_filter(&filter)
}

#[cfg(not(target_os = "linux"))]
fn ignore_new_connections(_: &TcpListener) -> io::Result<()> {
    Ok(())
}

/// Accepts the connections in the kernel's queue, and closes the socket.
fn accept_queued_connections(listener: TcpListener) -> Vec<(TcpStream, SocketAddr)> {
    let Ok(listener) = listener.into_std() else { return vec![] };
    let mut connections = vec![];
    loop {
        match listener.accept() {
            Ok((stream, peer)) => {
                let stream =
                    stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
                connections.extend(stream.ok().map(|stream| (stream, peer)));
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            // Usually `WouldBlock`, because the queue is empty.
            Err(_) => return connections,
        }
    }
}

impl From<TcpListener> for Listeners {
    fn from(listener: TcpListener) -> Self {
        Self(vec![listener])
    }
}

/// Listens on an address. Tokio's `TcpListener::bind` is not used, because its queue is too short
/// for proxies that open a connection for each request.
fn listen_on(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(MAX_QUEUE_LENGTH)
}

/// Listens on these addresses, with the same port on all if any free port is requested.
fn listen_on_all(addresses: &[SocketAddr]) -> io::Result<Vec<TcpListener>> {
    let mut listeners: Vec<TcpListener> = Vec::new();
    let mut unavailable_error = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in addresses {
        let mut address = *address;
        if let (0, Some(first)) = (address.port(), listeners.first()) {
            address.set_port(first.local_addr()?.port());
        }
        match listen_on(address) {
            Ok(listener) => listeners.push(listener),
            Err(error) if is_unavailable(&error) => unavailable_error = error,
            Err(error) => return Err(error),
        }
    }
    if listeners.is_empty() { Err(unavailable_error) } else { Ok(listeners) }
}

/// Returns whether this machine does not have the address, or its protocol.
fn is_unavailable(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error.raw_os_error() == Some(Errno::AFNOSUPPORT.raw_os_error())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn all_addresses_of_a_host_name_use_the_same_port() {
        let address: ListenAddress = "localhost:0".parse().unwrap();
        let listeners = Listeners::bind(&address).await.unwrap();
        let port = listeners.port().unwrap();
        for listener in &listeners.0 {
            let address = listener.local_addr().unwrap();
            assert_eq!(address.port(), port);
            let (connect_result, accept_result) =
                tokio::join!(TcpStream::connect(address), listeners.accept());
            assert_eq!(connect_result.unwrap().local_addr().unwrap(), accept_result.unwrap().1);
        }
    }

    #[tokio::test]
    async fn an_address_that_this_machine_does_not_have_is_skipped_if_another_is_left() {
        let [local, unassigned] = ["127.0.0.1:0", "192.0.2.1:0"].map(|text| text.parse().unwrap());
        assert_eq!(listen_on_all(&[unassigned, local]).unwrap().len(), 1);
        let error = listen_on_all(&[unassigned]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
        assert_eq!(listen_on_all(&[]).unwrap_err().to_string(), "the host has no address");
    }

    #[tokio::test]
    async fn closing_the_listeners_returns_the_connections_not_yet_accepted() {
        let listener = listen_on(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = listener.local_addr().unwrap();
        let mut peers: Vec<std::net::TcpStream> =
            (0..500).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
        for peer in &mut peers {
            peer.write_all(b"a").unwrap();
        }
        let connections = Listeners::from(listener).close().await;
        assert_eq!(connections.len(), peers.len());
        for ((mut stream, peer_address), peer) in connections.into_iter().zip(&peers) {
            assert_eq!(peer_address, peer.local_addr().unwrap());
            assert_eq!(stream.read_u8().await.unwrap(), b'a');
        }
        let error = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn ignored_connections_do_not_affect_established_ones() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut peer = std::net::TcpStream::connect(address).unwrap();
        ignore_new_connections(&listener).unwrap();
        let timeout = Duration::from_millis(50);
        let error = std::net::TcpStream::connect_timeout(&address, timeout).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        peer.write_all(b"a").unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), b'a');
    }
}
