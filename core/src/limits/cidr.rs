//! A range of addresses, as configured for proxies.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::Deserialize;
use thiserror::Error;

/// A range of addresses: `10.0.0.0/8`, `2001:db8::/32`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Cidr {
    address: IpAddr,
    prefix: u8,
}

/// Why a range cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is no range of addresses: write 10.0.0.0/8, 2001:db8::/32 or one address")]
pub struct CidrError(String);

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Self, CidrError> {
        let wrong = || CidrError(text.chars().take(100).collect());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) if prefix.bytes().all(|b| b.is_ascii_digit()) => {
                (address, Some(prefix.parse::<u8>().map_err(|_| wrong())?))
            }
            Some(_) => return Err(wrong()),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.unwrap_or(bits);
        let mapped = address.to_canonical().is_ipv4() && address.is_ipv6();
        match prefix {
            _ if prefix > bits => Err(wrong()),
            // A mapped range that is wider than all of IPv4 means no addresses we would know it by.
            0..96 if mapped => Err(wrong()),
            _ if mapped => Ok(Self { address: address.to_canonical(), prefix: prefix - 96 }),
            _ => Ok(Self { address, prefix }),
        }
    }
}

impl TryFrom<String> for Cidr {
    type Error = CidrError;

    fn try_from(text: String) -> Result<Self, CidrError> {
        text.parse()
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl Cidr {
    /// Whether an address is in the range. An IPv4-mapped IPv6 address is an IPv4 address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let differing = match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => (own.to_bits() ^ other.to_bits())
                .checked_shr(32 - u32::from(self.prefix))
                .unwrap_or(0)
                .into(),
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits() ^ other.to_bits())
                .checked_shr(128 - u32::from(self.prefix))
                .unwrap_or(0),
            _ => return false,
        };
        differing == 0_u128
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_contains_the_addresses_with_its_prefix() {
        for (range, address, inside) in [
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
            assert_eq!(range.contains(address.parse().unwrap()), inside, "{range} and {address}");
        }
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for wrong in [
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
            assert!(wrong.parse::<Cidr>().is_err(), "{wrong:?}");
        }
    }
}
