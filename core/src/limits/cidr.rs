//! Address ranges in CIDR notation, as configured for trusted proxies.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

/// An address range: `10.0.0.0/8`, `2001:db8::/32`, or a single address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Cidr(IpNet);

/// The error for a string that is not an address range.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not an address: write 10.0.0.1, or a range such as 10.0.0.0/8 or 2001:db8::/32")]
pub struct CidrError(String);

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Self, CidrError> {
        let error = || CidrError(text.chars().take(100).collect());
        let range = text
            .parse::<IpNet>()
            .ok()
            .or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
            .ok_or_else(error)?;
        match range.addr().to_canonical() {
            // An IPv4-mapped range becomes an IPv4 range. A prefix below 96 bits would contain more
            // than IPv4 addresses.
            v4 @ IpAddr::V4(_) if range.addr().is_ipv6() => {
                let prefix = range.prefix_len().checked_sub(96).ok_or_else(error)?;
                IpNet::new(v4, prefix).map(Self).map_err(|_| error())
            }
            _ => Ok(Self(range)),
        }
    }
}

impl TryFrom<String> for Cidr {
    type Error = CidrError;

    fn try_from(text: String) -> Result<Self, CidrError> {
        text.parse()
    }
}

/// Formats the range, or only the address if the range is a single one.
impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.prefix_len() == self.0.max_prefix_len() {
            return self.0.addr().fmt(f);
        }
        self.0.fmt(f)
    }
}

impl Serialize for Cidr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Cidr {
    /// Returns whether the range is too large to belong to one operator: larger than a /8 of IPv4,
    /// or than the private range `fc00::/7` of IPv6.
    pub fn is_too_large(&self) -> bool {
        self.0.prefix_len() < if self.0.addr().is_ipv4() { 8 } else { 7 }
    }

    /// Returns the range written with its first address: `10.0.0.0/8` for `10.0.0.5/8`. Returns
    /// `None` if it is written that way already.
    pub fn normalize(&self) -> Option<Self> {
        let normalized_range = Self(self.0.trunc());
        (normalized_range != *self).then_some(normalized_range)
    }

    /// Returns the address as written: `10.0.0.5` for `10.0.0.5/8`.
    pub fn address(&self) -> IpAddr {
        self.0.addr()
    }

    /// Returns whether the range contains an address. An IPv4-mapped IPv6 address counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_contains_the_addresses_with_its_prefix() {
        for (range, address, is_inside) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.0.0.1", true),
            ("10.1.2.3/8", "10.9.9.9", true),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.0", false),
            ("192.0.2.1/31", "192.0.2.0", true),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("::/0", "2001:db8::1", true),
            ("::/0", "203.0.113.9", false),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("::1", "::1", true),
            ("::1", "::2", false),
            ("::ffff:10.0.0.0/104", "10.200.0.1", true),
            ("::ffff:10.0.0.1", "10.0.0.1", true),
        ] {
            let range: Cidr = range.parse().unwrap();
            assert_eq!(
                range.contains(address.parse().unwrap()),
                is_inside,
                "{range} and {address}"
            );
        }
    }

    #[test]
    fn a_range_is_displayed_as_written_and_a_single_address_without_a_prefix() {
        for range in ["10.0.0.0/8", "192.0.2.1", "::1", "2001:db8::/32", "0.0.0.0/0"] {
            assert_eq!(range.parse::<Cidr>().unwrap().to_string(), range);
        }
        assert_eq!("192.0.2.1/32".parse::<Cidr>().unwrap().to_string(), "192.0.2.1");
    }

    #[test]
    fn a_range_written_with_a_later_address_is_normalised() {
        for (range, normalized) in [
            ("10.0.0.5/8", Some("10.0.0.0/8")),
            ("2001:db8::1/32", Some("2001:db8::/32")),
            ("10.0.0.0/8", None),
            ("10.0.0.5", None),
            ("::1", None),
        ] {
            let actual = range.parse::<Cidr>().unwrap().normalize();
            assert_eq!(actual.map(|range| range.to_string()).as_deref(), normalized);
        }
    }

    #[test]
    fn a_range_larger_than_the_largest_private_network_is_too_large() {
        for (range, is_too_large) in [
            ("0.0.0.0/0", true),
            ("128.0.0.0/1", true),
            ("10.0.0.0/7", true),
            ("10.0.0.0/8", false),
            ("127.0.0.1", false),
            ("::/0", true),
            ("2000::/3", true),
            ("fc00::/7", false),
            ("::ffff:0.0.0.0/96", true),
        ] {
            assert_eq!(range.parse::<Cidr>().unwrap().is_too_large(), is_too_large, "{range}");
        }
    }

    #[test]
    fn invalid_ranges_are_rejected() {
        for range in [
            "",
            "/",
            "10.0.0.0/",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.0/-1",
            "10.0.0.0/+8",
            "10.0.0/8",
            "10.0.0.0/8/8",
            "localhost",
            "10.0.0.0/256",
            "::ffff:0:0/90",
            " 10.0.0.1",
        ] {
            assert!(range.parse::<Cidr>().is_err(), "{range:?}");
        }
    }
}
