//! The sockets of one address to listen on.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::task::Poll;

use rustix::io::Errno;
use tokio::net::{TcpListener, TcpStream};

use crate::config::ListenAddress;

/// How often another free port is tried, if the one that the first address got is in use on
/// another address.
const MAX_ATTEMPTS: u32 = 20;

/// Listening sockets on one port. There are several if a host name has several addresses.
#[derive(Debug)]
pub struct Listeners(Vec<TcpListener>);

impl Listeners {
    /// Listens on all addresses of the host. Those that this machine does not have, such as `::1`
    /// without IPv6, are skipped, unless no other is left.
    pub async fn bind(address: &ListenAddress) -> io::Result<Self> {
        let addresses = address.resolve().await?;
        let mut attempt = 1;
        loop {
            match bind_all(&addresses).await {
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

    /// The port.
    pub fn port(&self) -> io::Result<u16> {
        self.0.first().map_or(Ok(0), |first| first.local_addr().map(|address| address.port()))
    }

    /// Accepts the next connection of any socket.
    pub(super) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        poll_fn(|context| {
            let mut accepted = self.0.iter().map(|listener| listener.poll_accept(context));
            accepted.find(Poll::is_ready).unwrap_or(Poll::Pending)
        })
        .await
    }
}

impl From<TcpListener> for Listeners {
    fn from(listener: TcpListener) -> Self {
        Self(vec![listener])
    }
}

async fn bind_all(addresses: &[SocketAddr]) -> io::Result<Vec<TcpListener>> {
    let mut listeners: Vec<TcpListener> = Vec::new();
    let mut skipped = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in addresses {
        let mut address = *address;
        if let (0, Some(first)) = (address.port(), listeners.first()) {
            address.set_port(first.local_addr()?.port());
        }
        match TcpListener::bind(address).await {
            Ok(listener) => listeners.push(listener),
            Err(error) if is_unavailable(&error) => skipped = error,
            Err(error) => return Err(error),
        }
    }
    if listeners.is_empty() { Err(skipped) } else { Ok(listeners) }
}

/// Whether this machine does not have the address, or its protocol.
fn is_unavailable(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error.raw_os_error() == Some(Errno::AFNOSUPPORT.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_address_of_a_host_name_is_bound_to_one_port() {
        let address: ListenAddress = "localhost:0".parse().unwrap();
        let listeners = Listeners::bind(&address).await.unwrap();
        let port = listeners.port().unwrap();
        for listener in &listeners.0 {
            let address = listener.local_addr().unwrap();
            assert_eq!(address.port(), port);
            let (connected, accepted) =
                tokio::join!(TcpStream::connect(address), listeners.accept());
            assert_eq!(connected.unwrap().local_addr().unwrap(), accepted.unwrap().1);
        }
    }

    #[tokio::test]
    async fn an_address_that_this_machine_does_not_have_is_skipped_if_another_is_left() {
        let [local, foreign] = ["127.0.0.1:0", "192.0.2.1:0"].map(|text| text.parse().unwrap());
        assert_eq!(bind_all(&[foreign, local]).await.unwrap().len(), 1);
        let error = bind_all(&[foreign]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
        assert_eq!(bind_all(&[]).await.unwrap_err().to_string(), "the host has no address");
    }
}
