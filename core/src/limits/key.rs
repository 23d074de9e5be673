//! Rate-limit keys: an account, an app, a network, or a name used from a network.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::secret::Sha256Digest;

/// The kind of key under which a configured limit counts requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyKind {
    /// The access token's account, or the app of an app token; the limit does not apply to requests
    /// without a valid token.
    Account,
    /// The access token's app, over all its users; the limit does not apply to requests without a
    /// valid token.
    App,
    /// The client's network: an IPv4 address or an IPv6 /64.
    #[serde(rename = "ip")]
    Network,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenOwner {
    /// The account's id; `None` for an app token.
    pub account_id: Option<i64>,
    pub app_id: i64,
}

/// The key under which a limit counts requests together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LimitKey {
    /// An account by its id, over all its tokens and addresses.
    Account(i64),
    /// An app by its id. App tokens are counted under their app.
    App(i64),
    /// A network, over all accounts.
    Network(Network),
    /// The digest of an account name or a client id, and the network that uses it. The network is
    /// part of the key, so that failures from one network do not lock out users in another.
    /// The name is hashed, because users sometimes enter their password in the name field, and
    /// because its length is unbounded.
    NameFromNetwork(Network, Sha256Digest),
}

impl LimitKey {
    /// Returns the key for a token's account, or for the app of an app token.
    pub fn for_account(owner: TokenOwner) -> Self {
        owner.account_id.map_or(Self::App(owner.app_id), Self::Account)
    }

    /// Returns the key for a name used from a network. Ignores case and surrounding whitespace.
    pub fn for_name(network: Network, name: &str) -> Self {
        Self::NameFromNetwork(network, Sha256Digest::compute(&name.trim().to_lowercase()))
    }

    /// Returns the key subject: the account, app or network under which related counts are stored
    /// together. For IPv6 it is the site, under which a request may be counted as well.
    pub fn subject(self) -> Self {
        match self {
            Self::Account(_) | Self::App(_) => self,
            Self::Network(network) | Self::NameFromNetwork(network, _) => {
                Self::Network(network.site().unwrap_or(network))
            }
        }
    }

    /// Returns the key for the site around an IPv6 network; `None` if there is none.
    pub(super) fn site(self) -> Option<Self> {
        match self {
            Self::Account(_) | Self::App(_) => None,
            Self::Network(network) => network.site().map(Self::Network),
            Self::NameFromNetwork(network, name) => {
                Some(Self::NameFromNetwork(network.site()?, name))
            }
        }
    }
}

/// Formats the key as stored in Redis. Distinct keys have distinct strings of bounded length.
impl fmt::Display for LimitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(id) => write!(f, "account:={id}"),
            Self::App(id) => write!(f, "app:={id}"),
            Self::Network(network) => write!(f, "ip:{network}"),
            Self::NameFromNetwork(network, name) => {
                write!(f, "tried:{network}:#{}", name.to_text())
            }
        }
    }
}

/// The part of an address that identifies one subscriber: an IPv4 address, or the /64 of an IPv6
/// address, within which a subscriber chooses addresses freely. Larger subscribers get a site,
/// which may be counted as well ([`Network::site`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network(IpNet);

impl Network {
    /// Returns an address's network. An IPv4-mapped IPv6 address counts as IPv4.
    pub fn from_address(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self(IpNet::new_assert(address, if address.is_ipv4() { 32 } else { 64 }).trunc())
    }

    /// Returns the site around an IPv6 network, which is its /48; `None` for an IPv4 address and for
    /// a site.
    pub fn site(self) -> Option<Self> {
        match self.0 {
            IpNet::V6(v6) if v6.prefix_len() > 48 => {
                Some(Self(IpNet::new_assert(v6.addr().into(), 48).trunc()))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpNet::V4(v4) => v4.addr().fmt(f),
            IpNet::V6(v6) => v6.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn network(address: &str) -> Network {
        Network::from_address(address.parse().unwrap())
    }

    #[test]
    fn a_network_is_an_ipv4_address_or_an_ipv6_slash_64() {
        for (first, second, is_same) in [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("192.0.2.1", "::192.0.2.1", false),
            ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true),
            ("2001:db8:1:2::1", "2001:db8:1:3::1", false),
            ("::1", "::2", true),
        ] {
            assert_eq!(network(first) == network(second), is_same, "{first} and {second}");
        }
    }

    #[test]
    fn a_network_is_displayed_as_an_address_or_a_prefix() {
        assert_eq!(network("::ffff:192.0.2.1").to_string(), "192.0.2.1");
        assert_eq!(network("2001:db8:1:2:3:4:5:6").to_string(), "2001:db8:1:2::/64");
    }

    #[test]
    fn only_an_ipv6_network_has_a_site_and_a_site_has_none() {
        let site = |address| network(address).site();
        assert_eq!(site("192.0.2.1"), None);
        assert_eq!(site("::ffff:192.0.2.1"), None);
        let site_48 = site("2001:db8:1:2::3").unwrap();
        assert_eq!(site_48.to_string(), "2001:db8:1::/48");
        assert_eq!(site("2001:db8:1:ffff::3"), Some(site_48));
        assert_ne!(site("2001:db8:2:2::3"), Some(site_48));
        assert_ne!(
            site_48,
            network("2001:db8:1::"),
            "a /48 differs from the /64 with the same first address"
        );
        assert_eq!(site_48.site(), None);
    }

    #[test]
    fn all_network_keys_of_one_request_have_the_same_subject() {
        for (address, other_address) in
            [("192.0.2.1", "192.0.2.2"), ("2001:db8:1:2::3", "2001:db8:2::3")]
        {
            let first_network = network(address);
            let second_network = network(other_address);
            let subject = LimitKey::Network(first_network).subject();
            let keys = [LimitKey::Network(first_network), LimitKey::for_name(first_network, "bob")];
            let sites = keys.into_iter().filter_map(LimitKey::site);
            for key in keys.into_iter().chain(sites).chain([subject]) {
                assert_eq!(key.subject(), subject, "{key}");
            }
            assert_ne!(LimitKey::Network(second_network).subject(), subject);
        }
        for key in [LimitKey::Account(1), LimitKey::App(1)] {
            assert_eq!(key.subject(), key);
        }
    }

    #[test]
    fn case_and_surrounding_whitespace_in_a_name_are_ignored() {
        let first_network = network("192.0.2.1");
        let key = |name| LimitKey::for_name(first_network, name);
        for spelling in ["bob", "Bob", "BOB", " bob ", "bOB\n"] {
            assert_eq!(key(spelling), key("bob"), "{spelling:?}");
        }
        assert_eq!(key("ÄNNE"), key("änne"));
        assert_ne!(key("bob"), key("b ob"));
    }

    #[test]
    fn distinct_keys_have_distinct_short_strings() {
        let first_network = network("192.0.2.1");
        let second_network = network("2001:db8::1");
        let long_name = "x".repeat(100_000);
        let digest = Sha256Digest::compute(&long_name).to_text();
        let forged_names = [format!("#{digest}"), digest, "192.0.2.1:=bob".into()];
        let mut keys = vec![LimitKey::Network(first_network), LimitKey::Network(second_network)];
        keys.extend([i64::MIN, -1, 0, 1, 192, i64::MAX].map(LimitKey::Account));
        keys.extend([-1, 0, 1, 192].map(LimitKey::App));
        for name in [
            "bob",
            "",
            "192.0.2.1",
            &long_name,
            &forged_names[0],
            &forged_names[1],
            &forged_names[2],
        ] {
            keys.push(LimitKey::for_name(first_network, name));
            keys.push(LimitKey::for_name(second_network, name));
        }
        let strings: HashSet<String> = keys.iter().map(ToString::to_string).collect();
        assert_eq!(strings.len(), keys.iter().collect::<HashSet<_>>().len());
        assert!(strings.iter().all(|string| string.len() < 120));
        assert!(
            strings.iter().all(|string| !string.contains("bob")),
            "entered names are not stored"
        );
    }
}
