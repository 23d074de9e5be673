//! A port that nobody listens on.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::ops::Range;
use std::time::Duration;

/// Below the ports that the system gives to outgoing connections. Above, a client that tries again
/// and again to reach a stopped engine would one day be given the engine's own port and so be
/// connected to itself, or sit on the port when the engine comes back.
const PORTS: Range<u16> = 15_000..32_000;

/// A port of 127.0.0.1 that nobody listens on now; from a range that outgoing connections never
/// use, so that it stays free while an engine is stopped.
///
/// # Errors
/// When none of many tries finds one.
pub fn free_port() -> io::Result<u16> {
    let width = u64::from(PORTS.end - PORTS.start);
    (0..1000)
        .find_map(|_| {
            // Randomly keyed, so that processes which start together try different ports.
            let offset = RandomState::new().hash_one(()) % width;
            let port = PORTS.start + u16::try_from(offset).ok()?;
            is_free(port).then_some(port)
        })
        .ok_or_else(|| io::Error::other(format!("no free port in {PORTS:?}")))
}

/// Asks by calling, not by listening: a listener would live on for a moment in the processes that
/// other threads are just starting, and the engine would find its port taken.
fn is_free(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let answer = TcpStream::connect_timeout(&address, Duration::from_millis(200));
    answer.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_free_port_can_be_bound_and_is_in_the_range() {
        let port = free_port().unwrap();
        assert!(PORTS.contains(&port));
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    }

    #[test]
    fn a_port_that_somebody_listens_on_is_not_free() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(!is_free(listener.local_addr().unwrap().port()));
    }
}
