//! The policy for the addresses to which messages may be sent.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

use crate::limits::cidr::Cidr;

/// IPv4 blocks that are not for ordinary hosts: those of IANA's special-purpose registry, and
/// multicast.
const SPECIAL_IPV4: [Ipv4Net; 18] = [
    ipv4([0, 0, 0, 0], 8),       // this network
    ipv4([10, 0, 0, 0], 8),      // private
    ipv4([100, 64, 0, 0], 10),   // shared, for carrier-grade NAT
    ipv4([127, 0, 0, 0], 8),     // loopback
    ipv4([169, 254, 0, 0], 16),  // link-local, with the metadata services of clouds
    ipv4([172, 16, 0, 0], 12),   // private
    ipv4([192, 0, 0, 0], 24),    // protocol assignments
    ipv4([192, 0, 2, 0], 24),    // documentation
    ipv4([192, 31, 196, 0], 24), // AS112
    ipv4([192, 52, 193, 0], 24), // AMT
    ipv4([192, 88, 99, 0], 24),  // 6to4 relays
    ipv4([192, 168, 0, 0], 16),  // private
    ipv4([192, 175, 48, 0], 24), // AS112
    ipv4([198, 18, 0, 0], 15),   // benchmarks
    ipv4([198, 51, 100, 0], 24), // documentation
    ipv4([203, 0, 113, 0], 24),  // documentation
    ipv4([224, 0, 0, 0], 4),     // multicast
    ipv4([240, 0, 0, 0], 4),     // reserved, and the broadcast address
];

/// The IPv6 block of global unicast addresses. Loopback, link-local, private, multicast,
/// IPv4-mapped and NAT64 addresses are outside it.
const GLOBAL_IPV6: Ipv6Net = ipv6([0x2000, 0, 0], 3);

/// The blocks of [`GLOBAL_IPV6`] that are not for ordinary hosts.
const SPECIAL_IPV6: [Ipv6Net; 5] = [
    ipv6([0x2001, 0, 0], 23),         // protocol assignments, such as Teredo
    ipv6([0x2001, 0xdb8, 0], 32),     // documentation
    ipv6([0x2002, 0, 0], 16),         // 6to4
    ipv6([0x2620, 0x4f, 0x8000], 48), // AS112
    ipv6([0x3fff, 0, 0], 20),         // documentation
];

const fn ipv4([a, b, c, d]: [u8; 4], prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn ipv6([a, b, c]: [u16; 3], prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), prefix)
}

/// Decides to which addresses messages may be sent: all public ones, and the networks that the
/// operator allows.
#[derive(Debug, Clone, Default)]
pub struct PushAddressPolicy {
    allowed_networks: Vec<Cidr>,
}

impl PushAddressPolicy {
    pub fn new(allowed_networks: Vec<Cidr>) -> Self {
        Self { allowed_networks }
    }

    /// Returns whether messages may be sent to an address with this scheme. Without TLS, only to
    /// the networks in `push.allowed_networks`.
    pub fn allows(&self, scheme: Scheme, address: IpAddr) -> bool {
        // IPv4-mapped addresses are rejected even in allowed networks, because no URL needs them.
        let is_mapped = address.to_canonical() != address;
        let is_allowed = self.allowed_networks.iter().any(|network| network.contains(address));
        !is_mapped && (is_allowed || scheme == Scheme::Https && is_public(address))
    }

    /// Returns whether there are networks to which messages may be sent without TLS, and by names
    /// without a dot.
    pub(super) fn has_allowed_networks(&self) -> bool {
        !self.allowed_networks.is_empty()
    }
}

/// The scheme of a URL to which messages are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// HTTP without TLS.
    Http,
    Https,
}

/// Returns whether an address belongs to an ordinary host of the public internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !SPECIAL_IPV4.iter().any(|block| block.contains(&address)),
        IpAddr::V6(address) => {
            GLOBAL_IPV6.contains(&address)
                && !SPECIAL_IPV6.iter().any(|block| block.contains(&address))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first and the last address of each special-purpose block of the IANA registries, and
    /// other addresses that reach no ordinary host.
    const FORBIDDEN: &str = "
        0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255
        127.0.0.0 127.0.0.1 127.255.255.255 169.254.0.0 169.254.169.254 169.254.255.255
        172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.9 192.0.0.10 192.0.0.255 192.0.2.0 192.0.2.255
        192.31.196.0 192.31.196.255 192.52.193.0 192.52.193.255 192.88.99.0 192.88.99.255
        192.168.0.0 192.168.255.255 192.175.48.0 192.175.48.255 198.18.0.0 198.19.255.255
        198.51.100.0 198.51.100.255 203.0.113.0 203.0.113.255 224.0.0.0 239.255.255.255
        240.0.0.0 255.255.255.254 255.255.255.255
        :: ::1 ::8.8.8.8 ::ffff:8.8.8.8 ::ffff:127.0.0.1 ::ffff:0:8.8.8.8
        64:ff9b::808:808 64:ff9b::7f00:1 64:ff9b:1::1 64:ff9b:1:ffff:ffff:ffff:ffff:ffff
        100:: 100::ffff:ffff:ffff:ffff 100:0:0:1::1 1fff:ffff::1
        2001:: 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:1::1 2001:2::1 2001:3::1 2001:4:112::1
        2001:10::1 2001:20::1 2001:30::1 2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff
        2001:db8:: 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff 2002:: 2002:7f00:1::1 2002:ffff::1
        2620:4f:8000:: 2620:4f:8000:ffff:ffff:ffff:ffff:ffff 3fff:: 3fff:fff:ffff::1
        4000:: 5f00::1 fc00:: fd00:ec2::254 fdff::1 fe80:: fe80::1 febf::1 fec0::1 ff00:: ff02::1";

    /// The addresses next to the special-purpose blocks, and some of well-known push services.
    const PERMITTED: &str = "
        1.0.0.0 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
        169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.3.0
        192.31.195.255 192.31.197.0 192.52.192.255 192.52.194.0 192.88.98.255 192.88.100.0
        192.167.255.255 192.169.0.0 192.175.47.255 192.175.49.0 198.17.255.255 198.20.0.0
        198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255
        2000:: 2001:200:: 2001:4860:4860::8888 2001:db7:ffff::1 2001:db9:: 2003:: 2606:4700::1111
        2620:4f:7fff::1 2620:4f:8001:: 2a00:1450:4001::1 3ffe::1 3fff:1000::";

    fn parse(addresses: &str) -> impl Iterator<Item = IpAddr> {
        addresses.split_whitespace().map(|address| address.parse().unwrap())
    }

    #[test]
    fn only_ordinary_public_addresses_are_permitted() {
        let policy = PushAddressPolicy::default();
        for address in parse(FORBIDDEN) {
            assert!(!policy.allows(Scheme::Https, address), "{address}");
        }
        for address in parse(PERMITTED) {
            assert!(policy.allows(Scheme::Https, address), "{address}");
        }
    }

    #[test]
    fn no_address_is_permitted_without_tls() {
        let policy = PushAddressPolicy::default();
        for address in parse(PERMITTED).chain(parse(FORBIDDEN)) {
            assert!(!policy.allows(Scheme::Http, address), "{address}");
        }
    }

    #[test]
    fn an_allowed_network_is_permitted_with_and_without_tls() {
        let networks = ["127.0.0.0/8", "10.1.0.0/16", "fd00::/8"];
        let policy =
            PushAddressPolicy::new(networks.map(|network| network.parse().unwrap()).into());
        for (address, with_tls, without_tls) in [
            ("127.0.0.1", true, true),
            ("10.1.2.3", true, true),
            ("fd00::1", true, true),
            ("10.2.0.1", false, false),
            ("::1", false, false),
            ("::ffff:127.0.0.1", false, false),
            ("8.8.8.8", true, false),
            ("2a00:1450:4001::1", true, false),
        ] {
            let address = address.parse().unwrap();
            assert_eq!(policy.allows(Scheme::Https, address), with_tls, "{address}");
            assert_eq!(policy.allows(Scheme::Http, address), without_tls, "{address}");
        }
    }
}
