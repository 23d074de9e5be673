//! A port that nobody listens on.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

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
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok().map(|_| port)
        })
        .ok_or_else(|| io::Error::other(format!("no free port in {PORTS:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_port_can_be_bound_and_is_in_the_range() {
        let port = free_port().unwrap();
        assert!(PORTS.contains(&port));
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    }
}
