//! Limits on open connections: in total, per network, and for health requests beyond the total.

use std::collections::HashMap;
use std::iter;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use belfry_core::limits::Network;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config;

/// The number of connections beyond the maximum that are accepted for health requests.
const HEALTH_CONNECTIONS: usize = 32;

/// Limits the connections of one listener.
pub(super) struct Slots {
    all: Arc<Semaphore>,
    health: Arc<Semaphore>,
    /// Number of open connections from each network, and from the /48 around each IPv6 network.
    networks: Arc<Mutex<HashMap<Network, usize>>>,
    max_per_network: usize,
    /// Maximum for a /48; `None` if there is none.
    max_per_site: Option<usize>,
}

/// The slot of an open connection. Dropping it releases the slot.
pub(super) struct Slot {
    _permit: OwnedSemaphorePermit,
    _network: Option<NetworkSlot>,
    /// True if the connection exceeds the maximum and serves health requests only.
    pub(super) is_health_only: bool,
}

/// The network has too many open connections.
#[derive(Debug)]
pub(super) struct TooManyConnections;

impl Slots {
    /// Creates the slots of a listener. A /48 is allowed `site_multiple` times the connections of a
    /// single IPv6 network; any number if `site_multiple` is 0.
    pub(super) fn new(http: config::Http, site_multiple: u32) -> Self {
        let all = http.max_connections.min(Semaphore::MAX_PERMITS);
        let max_per_network = http.max_connections_per_address;
        let multiple = usize::try_from(site_multiple).unwrap_or(usize::MAX);
        Self {
            all: Arc::new(Semaphore::new(all)),
            health: Arc::new(Semaphore::new(HEALTH_CONNECTIONS)),
            networks: Arc::default(),
            max_per_network,
            max_per_site: (multiple > 0).then(|| max_per_network.saturating_mul(multiple)),
        }
    }

    /// Acquires a slot for an accepted connection. The address is `None` for a trusted proxy, whose
    /// connections are not limited per network. Waits while all slots are taken, including those
    /// for health requests.
    pub(super) async fn acquire(
        &self,
        address: Option<IpAddr>,
    ) -> Result<Slot, TooManyConnections> {
        let network = address.map(|address| self.acquire_network_slot(address)).transpose()?;
        let (all, health) = (Arc::clone(&self.all), Arc::clone(&self.health));
        let (permit, is_health_only) = tokio::select! {
            biased;
            permit = all.acquire_owned() => (permit, false),
            permit = health.acquire_owned() => (permit, true),
        };
        let permit = permit.expect("the semaphores are never closed");
        Ok(Slot { _permit: permit, _network: network, is_health_only })
    }

    /// Counts a connection for its network, which is an IPv4 address or the /64 of an IPv6 address,
    /// and for the /48 around it.
    fn acquire_network_slot(&self, address: IpAddr) -> Result<NetworkSlot, TooManyConnections> {
        let network = Network::from_address(address);
        let site = network.site().zip(self.max_per_site);
        let mut counts = lock(&self.networks);
        let is_full = |(network, max): (Network, usize)| {
            counts.get(&network).is_some_and(|count| *count >= max)
        };
        if iter::once((network, self.max_per_network)).chain(site).any(is_full) {
            return Err(TooManyConnections);
        }
        let (networks, site) = (Arc::clone(&self.networks), site.map(|(site, _)| site));
        let slot = NetworkSlot { networks, network, site };
        for network in slot.counted_networks() {
            *counts.entry(network).or_default() += 1;
        }
        Ok(slot)
    }
}

/// A connection counted for its network.
pub(super) struct NetworkSlot {
    networks: Arc<Mutex<HashMap<Network, usize>>>,
    network: Network,
    /// The /48 for which the connection is counted as well.
    site: Option<Network>,
}

impl NetworkSlot {
    fn counted_networks(&self) -> impl Iterator<Item = Network> {
        iter::once(self.network).chain(self.site)
    }
}

impl Drop for NetworkSlot {
    fn drop(&mut self) {
        let mut counts = lock(&self.networks);
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

fn lock(networks: &Mutex<HashMap<Network, usize>>) -> MutexGuard<'_, HashMap<Network, usize>> {
    networks.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_a_network_share_its_maximum_number_of_connections() {
        let http = config::Http { max_connections_per_address: 2, ..config::Http::default() };
        let slots = Slots::new(http, 8);
        let acquire = |text: &str| slots.acquire_network_slot(text.parse().unwrap());
        for (one, same, other) in [
            ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"),
            ("2001:db8:1:2::1", "2001:db8:1:2:ffff::1", "2001:db8:1:3::1"),
        ] {
            let (first, second) = (acquire(one).unwrap(), acquire(same).unwrap());
            assert!(acquire(one).is_err() && acquire(same).is_err(), "{one}");
            assert!(acquire(other).is_ok(), "{other}");
            drop(first);
            assert!(acquire(same).is_ok(), "{same}");
            drop(second);
        }
        assert!(lock(&slots.networks).is_empty(), "networks without connections use no memory");
    }

    #[test]
    fn an_ipv6_48_is_allowed_a_multiple_of_the_connections_of_a_64() {
        let http = config::Http { max_connections_per_address: 2, ..config::Http::default() };
        let address = |number: u16| format!("2001:db8:1:{number:x}::1").parse().unwrap();
        let slots = Slots::new(http, 3);
        let open: Vec<_> =
            (0..6).map(|number| slots.acquire_network_slot(address(number)).unwrap()).collect();
        assert!(
            slots.acquire_network_slot(address(6)).is_err()
                && slots.acquire_network_slot(address(0)).is_err()
        );
        assert!(
            slots.acquire_network_slot("2001:db8:2::1".parse().unwrap()).is_ok(),
            "another /48"
        );
        drop(open);
        assert!(slots.acquire_network_slot(address(6)).is_ok());
        assert!(lock(&slots.networks).is_empty(), "networks without connections use no memory");

        let slots = Slots::new(http, 0);
        let open: Vec<_> =
            (0..100).map(|number| slots.acquire_network_slot(address(number))).collect();
        assert!(open.iter().all(Result::is_ok), "0 means no maximum");
    }

    #[tokio::test]
    async fn slots_beyond_the_maximum_are_for_health_requests_only() {
        let slots = Slots::new(config::Http { max_connections: 2, ..config::Http::default() }, 8);
        let acquire = async || slots.acquire(None).await.unwrap();
        let regular = [acquire().await, acquire().await];
        assert!(regular.iter().all(|slot| !slot.is_health_only));
        let health = acquire().await;
        assert!(health.is_health_only);
        drop(regular);
        assert!(!acquire().await.is_health_only);
    }
}
