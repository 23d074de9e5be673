//! Limits on connections that are open or being opened: in total, and for each network. Those for
//! networks apply whatever the names and ports, because users choose these.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use belfry_core::limits::Network;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::shared_map::SharedMap;

/// Maximum number of connections to a network that has not accepted a message.
const MAX_UNPROVEN: usize = 8;
/// Maximum number of connections to a network that has accepted a message.
const MAX_PROVEN: usize = 256;

#[derive(Clone)]
pub(super) struct Connections {
    permits: Arc<Semaphore>,
    max: usize,
    networks: Arc<SharedMap<Network, NetworkConnections>>,
}

/// The connections to a network.
pub(super) struct NetworkConnections {
    permits: Arc<Semaphore>,
    is_proven: AtomicBool,
}

/// Counts a connection.
pub(super) struct ConnectionPermit {
    pub(super) network: Arc<NetworkConnections>,
    /// False if more than half of the permitted connections are open. Then this one must be closed
    /// after its first request, so that unused connections do not prevent others.
    pub(super) is_reusable: bool,
    _permits: [OwnedSemaphorePermit; 2],
}

impl Connections {
    pub(super) fn new(max: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(max)), max, networks: Arc::default() }
    }

    /// Waits until a connection to this address may be opened.
    pub(super) async fn acquire(&self, address: IpAddr) -> ConnectionPermit {
        let network = self.networks.get(Network::from_address(address));
        let network_permit = Arc::clone(&network.permits).acquire_owned().await;
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permits = [network_permit, permit].map(|permit| permit.expect("never closed"));
        let is_reusable = self.permits.available_permits() >= self.max / 2
            && network.permits.available_permits() >= network.max() / 2;
        ConnectionPermit { network, is_reusable, _permits: permits }
    }
}

impl Default for NetworkConnections {
    fn default() -> Self {
        Self { permits: Arc::new(Semaphore::new(MAX_UNPROVEN)), is_proven: false.into() }
    }
}

impl NetworkConnections {
    fn max(&self) -> usize {
        if self.is_proven.load(Ordering::Relaxed) { MAX_PROVEN } else { MAX_UNPROVEN }
    }

    /// Permits more connections, because a server in the network has accepted a message.
    pub(super) fn set_proven(&self) {
        if !self.is_proven.swap(true, Ordering::Relaxed) {
            self.permits.add_permits(MAX_PROVEN - MAX_UNPROVEN);
        }
    }
}
