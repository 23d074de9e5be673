//! Addresses to listen on.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
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
            _ => Err(format!(
                "{text:?} is not HOST:PORT: write \"127.0.0.1:8080\" for this machine only, or \
                 \"0.0.0.0:8080\" or \"[::]:8080\" for all networks"
            )),
        }
    }
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
    fn an_invalid_address_is_rejected() {
        for text in [
            "8080",
            ":8080",
            "localhost",
            "127.0.0.1",
            "::1",
            "::1:18400",
            "[::1]",
            "http://localhost:80/",
            "localhost:http",
            "localhost:65536",
            "1.2.3:80",
            "a.1:80",
            "a b:80",
            "*:80",
            "",
        ] {
            let error = text.parse::<ListenAddress>().unwrap_err();
            assert!(error.contains("is not HOST:PORT: write \"127.0.0.1:8080\""), "{error}");
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
