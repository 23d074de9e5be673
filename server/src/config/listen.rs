//! Addresses to listen on.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use url::Url;

/// An address to listen on: `127.0.0.1:8080`, `[::1]:8080` or `localhost:8080`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenAddress {
    /// A host name or an IP address, without brackets.
    host: String,
    /// 0 for any free port.
    pub port: u16,
}

impl ListenAddress {
    /// Returns `HOST:PORT` for a URL, with this port.
    pub(super) fn authority_with_port(&self, port: u16) -> String {
        Self { host: self.host.clone(), port }.to_string()
    }

    /// Returns the address at which this machine reaches the listener: a loopback address if it
    /// listens on all networks.
    pub(super) fn reachable_address(&self) -> Self {
        let host = match self.host.parse::<IpAddr>() {
            Ok(IpAddr::V4(address)) if address.is_unspecified() => "127.0.0.1".to_owned(),
            Ok(IpAddr::V6(address)) if address.is_unspecified() => "::1".to_owned(),
            _ => self.host.clone(),
        };
        Self { host, port: self.port }
    }

    /// Returns the addresses of the host, without duplicates. A name can have several: `localhost`
    /// usually has an IPv4 and an IPv6 address.
    ///
    /// # Errors
    /// If the name cannot be resolved.
    pub async fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for address in tokio::net::lookup_host((self.host.as_str(), self.port)).await? {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        Ok(addresses)
    }
}

impl From<SocketAddr> for ListenAddress {
    fn from(address: SocketAddr) -> Self {
        Self { host: address.ip().to_string(), port: address.port() }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(address.into());
        }
        let (host, port) = text.rsplit_once(':').unwrap_or_default();
        let host = &host.to_ascii_lowercase();
        let is_name_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let is_name = host.starts_with(|c: char| c.is_ascii_alphanumeric())
            && host.chars().all(is_name_char)
            // Rejects a misspelt address such as `1.2.3`.
            && Url::parse(&format!("http://{host}")).is_ok_and(|url| url.domain() == Some(host.as_str()));
        match port.parse() {
            Ok(port) if is_name => Ok(Self { host: host.clone(), port }),
            _ => Err(describe_invalid_address(text)),
        }
    }
}

/// Describes why a listen address is invalid, and suggests a valid one.
fn describe_invalid_address(text: &str) -> String {
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && port.parse::<u16>().is_err() {
        return format!("{text:?} has the port {port}: write one from 0 to 65535");
    }
    if is_number && host.is_empty() {
        return format!(
            "{text:?} has no host: write \"127.0.0.1:{port}\" for this machine only, or \
             \"0.0.0.0:{port}\" for all networks"
        );
    }
    if let (true, Ok(address)) = (is_number, host.parse::<Ipv6Addr>()) {
        return format!(
            "{text:?} has an IPv6 address without brackets: write \"[{address}]:{port}\""
        );
    }
    let suggestion = match text.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address) => SocketAddr::new(address, 8080).to_string(),
        Err(_) => match text.split_once("://").map(|(_, address)| address.trim_end_matches('/')) {
            Some(address) if address.parse::<ListenAddress>().is_ok() => address.to_owned(),
            _ => SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)).to_string(),
        },
    };
    format!("{text:?} is not an address to listen on: write HOST:PORT, as in \"{suggestion}\"")
}

impl Serialize for ListenAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ListenAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for text in ["127.0.0.1:8080", "[::1]:80", "localhost:0", "my-host.example:65535"] {
            assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn an_error_says_what_to_write() {
        for (text, advice) in [
            ("8080", "\"8080\" has no host: write \"127.0.0.1:8080\" for this machine only"),
            (":8080", "\":8080\" has no host: write \"127.0.0.1:8080\""),
            (
                "localhost",
                "is not an address to listen on: write HOST:PORT, as in \"127.0.0.1:8080\"",
            ),
            ("127.0.0.1", "as in \"127.0.0.1:8080\""),
            ("192.0.2.7", "as in \"192.0.2.7:8080\""),
            ("::1", "as in \"[::1]:8080\""),
            ("fd00::a", "as in \"[fd00::a]:8080\""),
            ("::1:18400", "has an IPv6 address without brackets: write \"[::1]:18400\""),
            ("::1:8080", "write \"[::1]:8080\""),
            ("[::1]", "as in \"[::1]:8080\""),
            ("http://localhost:80/", "as in \"localhost:80\""),
            ("localhost:http", "write HOST:PORT"),
            ("localhost:65536", "has the port 65536: write one from 0 to 65535"),
            ("70000", "has the port 70000: write one from 0 to 65535"),
            ("1.2.3:80", "write HOST:PORT"),
            ("a.1:80", "write HOST:PORT"),
            ("a b:80", "write HOST:PORT"),
            ("*:80", "write HOST:PORT"),
            ("", "write HOST:PORT"),
        ] {
            let error = text.parse::<ListenAddress>().unwrap_err();
            assert!(error.contains(advice), "{text}: {error}");
        }
    }

    #[test]
    fn an_address_for_all_networks_is_reachable_at_a_loopback_address() {
        for (text, reachable_address) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("192.0.2.1:80", "192.0.2.1:80"),
            ("localhost:80", "localhost:80"),
        ] {
            assert_eq!(
                text.parse::<ListenAddress>().unwrap().reachable_address().to_string(),
                reachable_address
            );
        }
    }

    #[tokio::test]
    async fn an_ip_address_resolves_to_itself_and_a_name_to_all_its_addresses() {
        let resolve = async |text: &str| {
            let address: ListenAddress = text.parse().unwrap();
            address.resolve().await.unwrap()
        };
        assert_eq!(resolve("[::1]:80").await, ["[::1]:80".parse().unwrap()]);
        let localhost = resolve("localhost:80").await;
        assert!(localhost.iter().all(|address| address.ip().is_loopback()), "{localhost:?}");
        assert!(localhost.contains(&"127.0.0.1:80".parse().unwrap()), "{localhost:?}");
    }
}
