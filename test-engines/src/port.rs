//! Choosing a free port.

use std::collections::BTreeSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The ports for engines, below the ephemeral ports of outgoing connections. If an engine had an
/// ephemeral port, a client that keeps reconnecting while it is stopped could be assigned the same
/// port and connect to itself, or block the port when the engine restarts.
const PORTS: Range<u16> = 15_000..32_000;

/// The ports that this process has chosen. An engine binds its port some time after it was chosen.
static CHOSEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// Returns a port of 127.0.0.1 that has no listener, and that no outgoing connection takes while an
/// engine is stopped. Each call in a process returns a different one.
///
/// # Errors
/// If no free port was found in many attempts.
pub fn free_port() -> io::Result<u16> {
    let port_count = u64::from(PORTS.end - PORTS.start);
    (0..1000)
        .find_map(|_| {
            // Randomly keyed, so that processes that start together try different ports.
            let offset = RandomState::new().hash_one(()) % port_count;
            let port = PORTS.start + u16::try_from(offset).ok()?;
            let mut chosen = CHOSEN.lock().unwrap_or_else(PoisonError::into_inner);
            (!chosen.contains(&port) && is_free(port) && chosen.insert(port)).then_some(port)
        })
        .ok_or_else(|| io::Error::other(format!("no free port in {PORTS:?}")))
}

/// Returns whether a port has no listener. Connects instead of binding, because a process that
/// another thread is spawning at this moment would inherit the bound socket and block the port.
fn is_free(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let connection = TcpStream::connect_timeout(&address, Duration::from_millis(200));
    connection.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
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
    fn a_port_with_a_listener_is_not_free() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(!is_free(listener.local_addr().unwrap().port()));
    }
}
