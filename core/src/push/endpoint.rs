//! The URL of a device's push service or push gateway.

use std::net::IpAddr;

use thiserror::Error;
use url::{Host, Url};

use super::address::{PushAddressPolicy, Scheme};

/// Maximum length of a URL, in bytes. Push service URLs have up to about 1,000 bytes.
const MAX_LENGTH: usize = 2048;

/// Maximum length of a host name in DNS, in bytes.
const MAX_HOST_LENGTH: usize = 253;

/// A URL to which messages may be sent, unless its host name resolves to a forbidden address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    url: Url,
    origin: EndpointOrigin,
}

/// The scheme, host and port of an endpoint. Endpoints with the same origin share connections.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EndpointOrigin {
    /// `https`, or `http` if the operator allows networks without TLS.
    pub scheme: Scheme,
    /// A name in lower case and ASCII, or an address.
    pub host: Host,
    /// 443, or 1024 or above; the default of the scheme if the URL has none.
    pub port: u16,
}

/// The reason a URL is not accepted as an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EndpointError {
    #[error("the URL is longer than {MAX_LENGTH} bytes")]
    TooLong,
    #[error("the URL is invalid")]
    Invalid,
    #[error("the URL must begin with https://")]
    SchemeNotHttps,
    #[error("the URL must not contain a user name or password")]
    ContainsCredentials,
    #[error("the URL must not contain a fragment")]
    ContainsFragment,
    #[error("the host name must not end with a dot")]
    FinalDot,
    #[error("the host name must contain a dot")]
    SingleLabel,
    #[error("the port must be 443, or 1024 or above")]
    ForbiddenPort,
    #[error("the URL must not contain an address of a private or reserved network")]
    ForbiddenAddress,
}

impl Endpoint {
    /// Parses a URL, and rejects it if its host is a forbidden IP address. The addresses of a host
    /// name must be checked with [`PushAddressPolicy::allows`] when it is resolved.
    pub fn parse(text: &str, address_policy: &PushAddressPolicy) -> Result<Self, EndpointError> {
        if text.len() > MAX_LENGTH {
            return Err(EndpointError::TooLong);
        }
        let url = Url::parse(text).map_err(|_| EndpointError::Invalid)?;
        // Percent-encoding and Punycode make a URL longer.
        if url.as_str().len() > MAX_LENGTH
            || url.host_str().is_some_and(|host| host.len() > MAX_HOST_LENGTH)
        {
            return Err(EndpointError::TooLong);
        }
        let scheme = match url.scheme() {
            "https" => Scheme::Https,
            "http" if address_policy.has_allowed_networks() => Scheme::Http,
            _ => return Err(EndpointError::SchemeNotHttps),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(EndpointError::ContainsCredentials);
        }
        if url.fragment().is_some() {
            return Err(EndpointError::ContainsFragment);
        }
        let host = url.host().ok_or(EndpointError::Invalid)?.to_owned();
        // With a final dot, one host would have two origins.
        if matches!(&host, Host::Domain(name) if name.ends_with('.')) {
            return Err(EndpointError::FinalDot);
        }
        // Names without a dot are those of the operator's network.
        if matches!(&host, Host::Domain(name) if !name.contains('.'))
            && !address_policy.has_allowed_networks()
        {
            return Err(EndpointError::SingleLabel);
        }
        let port = url.port_or_known_default().ok_or(EndpointError::ForbiddenPort)?;
        if port != 443 && port < 1024 {
            return Err(EndpointError::ForbiddenPort);
        }
        let origin = EndpointOrigin { scheme, host, port };
        match origin.address() {
            Some(address) if !address_policy.allows(scheme, address) => {
                Err(EndpointError::ForbiddenAddress)
            }
            _ => Ok(Self { url, origin }),
        }
    }

    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the origin as text. The port is omitted if it is the default of the scheme.
    pub fn serialized_origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Returns the scheme, host and port.
    pub fn origin(&self) -> &EndpointOrigin {
        &self.origin
    }
}

impl EndpointOrigin {
    /// Returns the address; `None` if the host is a name.
    pub fn address(&self) -> Option<IpAddr> {
        match self.host {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<Endpoint, EndpointError> {
        Endpoint::parse(text, &PushAddressPolicy::default())
    }

    fn policy_for_loopback() -> PushAddressPolicy {
        PushAddressPolicy::new(vec!["127.0.0.0/8".parse().unwrap()])
    }

    #[test]
    fn urls_of_push_services_are_accepted() {
        for (text, host, port) in [
            ("https://fcm.googleapis.com/fcm/send/a:b-C_d", "fcm.googleapis.com", 443),
            (
                "https://updates.push.services.mozilla.com/wpush/v2/gAAA",
                "updates.push.services.mozilla.com",
                443,
            ),
            ("https://web.push.apple.com/QA?x=y", "web.push.apple.com", 443),
            ("https://PUSH.example:8443/", "push.example", 8443),
            ("https://push.example:1024/", "push.example", 1024),
            ("https://bücher.example/", "xn--bcher-kva.example", 443),
            ("https://8.8.8.8/", "8.8.8.8", 443),
            ("https://[2a00:1450:4001::1]:65535/", "[2a00:1450:4001::1]", 65535),
        ] {
            let endpoint = parse(text).unwrap();
            let origin = endpoint.origin();
            assert_eq!((origin.host.to_string().as_str(), origin.port), (host, port), "{text}");
            assert_eq!(origin.scheme, Scheme::Https);
            let port = if port == 443 { String::new() } else { format!(":{port}") };
            assert_eq!(endpoint.serialized_origin(), format!("https://{host}{port}"));
        }
    }

    #[test]
    fn invalid_and_unsafe_urls_are_rejected() {
        use EndpointError::{
            ContainsCredentials, ContainsFragment, FinalDot, ForbiddenPort, Invalid,
            SchemeNotHttps, SingleLabel,
        };
        for (text, error) in [
            ("", Invalid),
            ("push.example", Invalid),
            ("//push.example/", Invalid),
            ("https://", Invalid),
            ("https://push.example:99999/", Invalid),
            ("https://push .example/", Invalid),
            ("https://push.example./", FinalDot),
            ("https://localhost./", FinalDot),
            ("https://localhost/", SingleLabel),
            ("https://db:8443/", SingleLabel),
            ("https://[::1", Invalid),
            ("https://1.2.3.4.5/", Invalid),
            ("https://256.256.256.256/", Invalid),
            ("http://push.example/", SchemeNotHttps),
            ("ftp://push.example/", SchemeNotHttps),
            ("file:///etc/passwd", SchemeNotHttps),
            ("gopher://push.example:6379/_FLUSHALL", SchemeNotHttps),
            ("wss://push.example/", SchemeNotHttps),
            ("data:text/plain,x", SchemeNotHttps),
            ("https://user@push.example/", ContainsCredentials),
            ("https://user:password@push.example/", ContainsCredentials),
            ("https://:password@push.example/", ContainsCredentials),
            ("https://push.example@10.0.0.1/", ContainsCredentials),
            ("https://push.example/#a", ContainsFragment),
            ("https://push.example:80/", ForbiddenPort),
            ("https://push.example:22/", ForbiddenPort),
            ("https://push.example:1023/", ForbiddenPort),
            ("https://push.example:0/", ForbiddenPort),
        ] {
            assert_eq!(parse(text), Err(error), "{text}");
        }
        let long = format!("https://push.example/{}", "a".repeat(MAX_LENGTH));
        assert_eq!(parse(&long[..MAX_LENGTH]).map(drop), Ok(()));
        assert_eq!(parse(&long[..=MAX_LENGTH]), Err(EndpointError::TooLong));
        // Percent-encoding and Punycode are longer.
        let names = format!("https://{}example/", "ü.".repeat(200));
        let path = format!("https://push.example/{}", "ü".repeat(400));
        for text in [names, path] {
            assert!(text.len() < MAX_LENGTH);
            assert_eq!(parse(&text), Err(EndpointError::TooLong), "{text}");
        }
    }

    #[test]
    fn every_notation_of_a_forbidden_address_is_rejected() {
        for host in [
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "017700000001",
            "127.0.0.1.",
            "１２７.０.０.１",
            "127。0。0。1",
            "%31%32%37.0.0.1",
            "0",
            "0.0.0.0",
            "10.1",
            "169.254.169.254",
            "0xa9fea9fe",
            "2852039166",
            "100.100.100.200",
            "192.168.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "[::]",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[::ffff:8.8.8.8]",
            "[::127.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[64:ff9b::8.8.8.8]",
            "[2002:7f00:1::]",
            "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
            "[2001:db8::1]",
            "[fe80::1]",
            "[fd00:ec2::254]",
            "[ff02::1]",
        ] {
            let text = format!("https://{host}/");
            assert_eq!(parse(&text), Err(EndpointError::ForbiddenAddress), "{text}");
        }
    }

    #[test]
    fn plain_http_is_accepted_only_for_allowed_networks_and_names() {
        for (text, expected) in [
            ("http://127.0.0.1:8080/", Ok(())),
            // Every address of the name is checked later.
            ("http://push.example:8080/", Ok(())),
            ("https://127.0.0.1:8080/", Ok(())),
            ("http://gateway:8080/", Ok(())),
            ("http://8.8.8.8:8080/", Err(EndpointError::ForbiddenAddress)),
            ("http://10.0.0.1:8080/", Err(EndpointError::ForbiddenAddress)),
            ("http://127.0.0.1/", Err(EndpointError::ForbiddenPort)),
        ] {
            assert_eq!(Endpoint::parse(text, &policy_for_loopback()).map(drop), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_accepted_url_is_https_without_credentials_to_a_name_or_a_permitted_address(
            text in "https?://([a-z@:]{0,4}@)?[0-9a-fx.:\\[\\]%]{1,20}(:[0-9]{1,5})?/[a-z#?]{0,3}"
        ) {
            if let Ok(endpoint) = parse(&text) {
                let url = endpoint.url();
                let origin = endpoint.origin();
                prop_assert_eq!(url.scheme(), "https");
                prop_assert!(url.username().is_empty() && url.password().is_none());
                prop_assert!(origin.port == 443 || origin.port > 1023);
                if let Some(address) = origin.address() {
                    prop_assert!(PushAddressPolicy::default().allows(Scheme::Https, address));
                }
            }
        }
    }
}
