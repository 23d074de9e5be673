//! Whose requests are counted together: an account, an address, or a name as tried from an address.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv6Addr};

use base64ct::{Base64UrlUnpadded, Encoding};
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// Whose requests a row counts together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyKind {
    /// The account of the caller's token; a call without one draws on no such row.
    Account,
    /// The address of the caller.
    Ip,
}

/// Whose requests one limit counts together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitKey<'a> {
    /// An account, by its id, over all its tokens and addresses.
    Account(i64),
    /// An address, over all accounts.
    Network(Network),
    /// A name that is tried from an address: of an account, or the id of a client.
    ///
    /// The address is part of it so that a stranger who fails elsewhere locks nobody out.
    Tried(Network, Cow<'a, str>),
}

impl<'a> LimitKey<'a> {
    /// A name that is tried from an address. Case and outer blanks do not make it another name.
    #[must_use]
    pub fn tried(from: Network, name: &'a str) -> Self {
        let name = name.trim();
        let plain = name.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase());
        Self::Tried(from, if plain { name.into() } else { name.to_lowercase().into() })
    }
}

/// In a whole number, where it can be: every call is hashed.
impl Hash for LimitKey<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Account(id) => id.cast_unsigned().hash(state),
            Self::Network(network) => network.number().hash(state),
            Self::Tried(network, name) => (network.number(), name).hash(state),
        }
    }
}

/// The key as text, for an engine that keeps text: distinct keys have distinct texts, and none is
/// long, whatever a caller sends as a name.
impl fmt::Display for LimitKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(id) => write!(f, "account:={id}"),
            Self::Network(network) => write!(f, "ip:{network}"),
            Self::Tried(network, name) => write!(f, "tried:{network}:{}", Short(name)),
        }
    }
}

/// A text of at most 64 bytes as it is, a longer one by its digest.
struct Short<'a>(&'a str);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            text if text.len() <= 64 => write!(f, "={text}"),
            text => write!(f, "#{}", digest(text)),
        }
    }
}

fn digest(text: &str) -> String {
    Base64UrlUnpadded::encode_string(&Sha256::digest(text))
}

/// The part of an address that one customer of a network has: an IPv4 address, or the /64 of an
/// IPv6 address, within which a customer picks addresses freely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network(IpAddr);

impl Network {
    /// Distinct networks as distinct numbers: the lower half of an IPv6 network is empty.
    fn number(self) -> u128 {
        match self.0 {
            IpAddr::V4(v4) => u128::from(v4.to_bits()) + 1,
            IpAddr::V6(v6) => v6.to_bits(),
        }
    }

    /// The network of an address. An IPv4-mapped IPv6 address is an IPv4 address.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(v6) => Self(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into()),
            v4 @ IpAddr::V4(_) => Self(v4),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0, if self.0.is_ipv6() { "/64" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn network(address: &str) -> Network {
        Network::of(address.parse().unwrap())
    }

    #[test]
    fn a_network_is_an_ipv4_address_or_an_ipv6_slash_64() {
        for (one, other, same) in [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("192.0.2.1", "::192.0.2.1", false),
            ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true),
            ("2001:db8:1:2::1", "2001:db8:1:3::1", false),
            ("::1", "::2", true),
        ] {
            assert_eq!(network(one) == network(other), same, "{one} and {other}");
        }
    }

    #[test]
    fn a_network_is_written_as_people_know_it() {
        assert_eq!(network("::ffff:192.0.2.1").to_string(), "192.0.2.1");
        assert_eq!(network("2001:db8:1:2:3:4:5:6").to_string(), "2001:db8:1:2::/64");
    }

    #[test]
    fn case_and_blanks_do_not_make_another_name() {
        let here = network("192.0.2.1");
        for spelling in ["bob", "Bob", "BOB", " bob ", "bOB\n"] {
            assert_eq!(
                LimitKey::tried(here, spelling),
                LimitKey::tried(here, "bob"),
                "{spelling:?}"
            );
        }
        assert_eq!(LimitKey::tried(here, "ÄNNE"), LimitKey::tried(here, "änne"));
        assert_ne!(LimitKey::tried(here, "bob"), LimitKey::tried(here, "b ob"));
    }

    #[test]
    fn distinct_keys_have_distinct_short_texts() {
        let (here, there) = (network("192.0.2.1"), network("2001:db8::1"));
        let long = "x".repeat(100_000);
        let forged = [format!("#{}", digest(&long)), digest(&long), "192.0.2.1:=bob".into()];
        let mut keys = vec![LimitKey::Network(here), LimitKey::Network(there)];
        keys.extend([i64::MIN, -1, 0, 1, 192, i64::MAX].map(LimitKey::Account));
        for name in ["bob", "", "192.0.2.1", &long, &forged[0], &forged[1], &forged[2]] {
            keys.push(LimitKey::tried(here, name));
            keys.push(LimitKey::tried(there, name));
        }
        let texts: HashSet<String> = keys.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), keys.iter().collect::<HashSet<_>>().len());
        assert!(texts.iter().all(|text| text.len() < 120));
    }
}
