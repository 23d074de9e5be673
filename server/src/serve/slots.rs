//! Limits on open connections: in total, per network, and for health requests beyond the total.

use std::collections::HashMap;
use std::iter;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use belfry_core::limits::Network;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::{HttpSettings, IPV6_48_MULTIPLE};

/// The number of connections beyond the maximum that are accepted for health requests.
const HEALTH_CONNECTIONS: usize = 32;

/// Limits the connections of one listener.
pub(super) struct ConnectionSlots {
    permits: Arc<Semaphore>,
    health_permits: Arc<Semaphore>,
    /// Number of open connections from each network, and from the /48 around each IPv6 network.
    connection_counts: Arc<Mutex<HashMap<Network, usize>>>,
    max_per_network: usize,
    /// Maximum per IPv6 /48.
    max_per_site: usize,
}

/// The slot of an open connection. Dropping it releases the slot.
pub(super) struct ConnectionSlot {
    _permit: OwnedSemaphorePermit,
    _network_slot: Option<NetworkSlot>,
    /// True if the connection exceeds the maximum and serves health requests only.
    pub(super) is_health_only: bool,
}

#[derive(Debug)]
pub(super) struct TooManyConnections;

impl ConnectionSlots {
    /// Creates the slots of a listener.
    pub(super) fn new(http: HttpSettings) -> Self {
        let max_connections = http.max_connections.min(Semaphore::MAX_PERMITS);
        let max_per_network = http.max_connections_per_address;
        Self {
            permits: Arc::new(Semaphore::new(max_connections)),
            health_permits: Arc::new(Semaphore::new(HEALTH_CONNECTIONS)),
            connection_counts: Arc::default(),
            max_per_network,
            max_per_site: max_per_network.saturating_mul(IPV6_48_MULTIPLE as usize),
        }
    }

    /// Acquires a slot for an accepted connection. The address is `None` for a trusted proxy, whose
    /// connections are not limited per network. Waits while all slots are taken, including those
    /// for health requests.
    pub(super) async fn acquire(
        &self,
        address: Option<IpAddr>,
    ) -> Result<ConnectionSlot, TooManyConnections> {
        let network_slot = address.map(|address| self.acquire_network_slot(address)).transpose()?;
        let permits = Arc::clone(&self.permits);
        let health_permits = Arc::clone(&self.health_permits);
        let (permit, is_health_only) = tokio::select! {
            biased;
            permit = permits.acquire_owned() => (permit, false),
            permit = health_permits.acquire_owned() => (permit, true),
        };
        let permit = permit.expect("the semaphores are never closed");
        Ok(ConnectionSlot { _permit: permit, _network_slot: network_slot, is_health_only })
    }

    /// Counts a connection against its network, an IPv4 address or the /64 of an IPv6 address,
    /// and against the /48 around it.
    fn acquire_network_slot(&self, address: IpAddr) -> Result<NetworkSlot, TooManyConnections> {
        let network = Network::from_address(address);
        let site = network.site();
        let mut counts = lock_counts(&self.connection_counts);
        let is_full =
            |network: Network, max: usize| counts.get(&network).is_some_and(|count| *count >= max);
        if is_full(network, self.max_per_network)
            || site.is_some_and(|site| is_full(site, self.max_per_site))
        {
            return Err(TooManyConnections);
        }
        let connection_counts = Arc::clone(&self.connection_counts);
        let slot = NetworkSlot { connection_counts, network, site };
        for network in slot.counted_networks() {
            *counts.entry(network).or_default() += 1;
        }
        Ok(slot)
    }
}

pub(super) struct NetworkSlot {
    connection_counts: Arc<Mutex<HashMap<Network, usize>>>,
    network: Network,
    /// The /48 that also counts the connection.
    site: Option<Network>,
}

impl NetworkSlot {
    fn counted_networks(&self) -> impl Iterator<Item = Network> {
        iter::once(self.network).chain(self.site)
    }
}

impl Drop for NetworkSlot {
    fn drop(&mut self) {
        let mut counts = lock_counts(&self.connection_counts);
        for network in self.counted_networks() {
            if let Some(count) = counts.get_mut(&network) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(&network);
                }
            }
        }
    }
}

fn lock_counts(
    connection_counts: &Mutex<HashMap<Network, usize>>,
) -> MutexGuard<'_, HashMap<Network, usize>> {
    connection_counts.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_a_network_share_its_maximum_number_of_connections() {
        let http = HttpSettings { max_connections_per_address: 2, ..HttpSettings::default() };
        let slots = ConnectionSlots::new(http);
        let acquire_slot = |text: &str| slots.acquire_network_slot(text.parse().unwrap());
        for (address, same_network, other_network) in [
            ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"),
            ("2001:db8:1:2::1", "2001:db8:1:2:ffff::1", "2001:db8:1:3::1"),
        ] {
            let first_slot = acquire_slot(address).unwrap();
            let second_slot = acquire_slot(same_network).unwrap();
            assert!(acquire_slot(address).is_err(), "{address}");
            assert!(acquire_slot(same_network).is_err(), "{same_network}");
            assert!(acquire_slot(other_network).is_ok(), "{other_network}");
            drop(first_slot);
            assert!(acquire_slot(same_network).is_ok(), "{same_network}");
            drop(second_slot);
        }
        assert!(
            lock_counts(&slots.connection_counts).is_empty(),
            "networks without connections use no memory"
        );
    }

    #[test]
    fn an_ipv6_48_is_allowed_a_multiple_of_the_connections_of_a_64() {
        let http = HttpSettings { max_connections_per_address: 2, ..HttpSettings::default() };
        let address = |number: u16| format!("2001:db8:1:{number:x}::1").parse().unwrap();
        let slots = ConnectionSlots::new(http);
        let open_slots: Vec<_> =
            (0..16).map(|number| slots.acquire_network_slot(address(number)).unwrap()).collect();
        assert!(
            slots.acquire_network_slot(address(16)).is_err()
                && slots.acquire_network_slot(address(0)).is_err()
        );
        assert!(
            slots.acquire_network_slot("2001:db8:2::1".parse().unwrap()).is_ok(),
            "other /48 networks are admitted"
        );
        drop(open_slots);
        assert!(slots.acquire_network_slot(address(16)).is_ok());
        assert!(
            lock_counts(&slots.connection_counts).is_empty(),
            "networks without connections use no memory"
        );
    }

    #[tokio::test]
    async fn slots_beyond_the_maximum_are_for_health_requests_only() {
        let slots =
            ConnectionSlots::new(HttpSettings { max_connections: 2, ..HttpSettings::default() });
        let acquire_slot = async || slots.acquire(None).await.unwrap();
        let regular_slots = [acquire_slot().await, acquire_slot().await];
        assert!(regular_slots.iter().all(|slot| !slot.is_health_only));
        let health_slot = acquire_slot().await;
        assert!(health_slot.is_health_only);
        drop(regular_slots);
        assert!(!acquire_slot().await.is_health_only);
    }
}
