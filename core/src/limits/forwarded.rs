//! The client's address: the peer's address, or the one that trusted proxies report.
//!
//! `X-Forwarded-For` and `Forwarded` are read from the right, where the nearest proxy appended. The
//! first address that is not a trusted proxy is the client; everything to its left was sent by the
//! client and may be forged. If all are trusted proxies, the leftmost one is the client. An entry
//! that is not an address (`unknown`, an obfuscated identifier) ends the search at the proxy that
//! wrote it. When the two headers name different clients, one of them may be forged: a proxy that
//! sets only the other has passed it on. Then both are ignored, and the peer counts as the client,
//! so all proxies of a chain must use the same header.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::cidr::Cidr;

/// The proxies whose forwarding headers are trusted; by default none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct TrustedProxies(pub Vec<Cidr>);

impl TrustedProxies {
    /// Returns whether an address belongs to a trusted proxy.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|range| range.contains(address))
    }

    /// Returns the client's address, from the peer's address and the values of the two headers,
    /// each in the order of its lines.
    pub fn client_address<'a>(
        &self,
        peer: IpAddr,
        x_forwarded_for: impl DoubleEndedIterator<Item = &'a [u8]>,
        forwarded: impl DoubleEndedIterator<Item = &'a [u8]>,
    ) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.contains(peer) {
            return peer;
        }
        let x_forwarded_for_client = self.find_client(peer, x_forwarded_for, parse_address);
        let forwarded_client = self.find_client(peer, forwarded, parse_forwarded_element);
        match (x_forwarded_for_client, forwarded_client) {
            (Some(x_client), Some(client)) if x_client != client => peer,
            (x_client, client) => x_client.or(client).unwrap_or(peer),
        }
    }

    /// Returns the client according to one header; `None` without that header.
    fn find_client<'a>(
        &self,
        peer: IpAddr,
        lines: impl DoubleEndedIterator<Item = &'a [u8]>,
        parse: impl Fn(&str) -> Option<IpAddr>,
    ) -> Option<IpAddr> {
        let mut client = None;
        for hop in lines.rev().flat_map(|line| line.rsplit(|&byte| byte == b',')) {
            let nearest_address = client.unwrap_or(peer);
            let Some(address) = str::from_utf8(hop).ok().and_then(&parse) else {
                return Some(nearest_address);
            };
            if !self.contains(address) {
                return Some(address);
            }
            client = Some(address);
        }
        client
    }
}

/// Formats the ranges, or `none`.
/// Parses an address as proxies write it: bare, with a port, in brackets, with a zone, in quotes.
fn parse_address(text: &str) -> Option<IpAddr> {
    let trimmed = text.trim();
    let text =
        trimmed.strip_prefix('"').and_then(|quoted| quoted.strip_suffix('"')).unwrap_or(trimmed);
    let address = if let Some(after_bracket) = text.strip_prefix('[') {
        let (bracketed, port) = after_bracket.split_once(']')?;
        let port = port.strip_prefix(':').or(port.is_empty().then_some("0"))?;
        port.parse::<u16>().ok()?;
        IpAddr::V6(parse_without_zone(bracketed)?)
    } else if let Ok(socket_address) = text.parse::<SocketAddr>() {
        socket_address.ip()
    } else {
        text.parse().ok().or_else(|| parse_without_zone(text).map(IpAddr::V6))?
    };
    Some(address.to_canonical())
}

/// Parses an IPv6 address and ignores its zone.
fn parse_without_zone(text: &str) -> Option<Ipv6Addr> {
    text.split('%').next()?.parse().ok()
}

/// Parses the `for` parameter of one element of `Forwarded` (RFC 7239).
///
/// Elements are split at commas from the right, ignoring quotes, so that an open quote sent by a
/// client cannot hide the elements that a trusted proxy appended. Parameters are split at semicolons
/// in the same way. An element in which a quoted string was split contains a part with an odd number
/// of quotes, or a backslash. No address has either, so such an element is rejected.
fn parse_forwarded_element(element: &str) -> Option<IpAddr> {
    let is_split = |part: &str| part.matches('"').count() % 2 == 1;
    if element.contains('\\') || element.split(';').any(is_split) {
        return None;
    }
    let mut for_values = element.split(';').filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case("for").then_some(value)
    });
    let value = for_values.next()?;
    if for_values.next().is_some() { None } else { parse_address(value) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PROXY: &str = "10.0.0.1";

    fn client_address(peer: &str, x_forwarded_for: &[&str], forwarded: &[&str]) -> String {
        let ranges = ["10.0.0.0/8", "fd00::/8"].map(|range| range.parse().unwrap());
        let x_forwarded_for = x_forwarded_for.iter().map(|line| line.as_bytes());
        let forwarded = forwarded.iter().map(|line| line.as_bytes());
        let proxies = TrustedProxies(ranges.into());
        proxies.client_address(peer.parse().unwrap(), x_forwarded_for, forwarded).to_string()
    }

    #[test]
    fn an_untrusted_peer_is_the_client_whatever_it_sends() {
        assert_eq!(client_address("203.0.113.9", &["1.2.3.4"], &["for=1.2.3.4"]), "203.0.113.9");
        assert_eq!(client_address("::ffff:203.0.113.9", &["1.2.3.4"], &[]), "203.0.113.9");
    }

    #[test]
    fn without_trusted_proxies_headers_are_ignored() {
        let line: &[u8] = b"1.2.3.4";
        let peer = [10, 0, 0, 1].into();
        let client =
            TrustedProxies::default().client_address(peer, [line].into_iter(), [].into_iter());
        assert_eq!(client, peer);
    }

    #[test]
    fn the_client_is_the_right_most_hop_that_is_not_a_trusted_proxy() {
        for (lines, expected) in [
            (&["1.2.3.4"][..], "1.2.3.4"),
            (&["6.6.6.6, 1.2.3.4"], "1.2.3.4"),
            (&["6.6.6.6", "1.2.3.4"], "1.2.3.4"),
            (&["6.6.6.6, 1.2.3.4", "10.0.0.2 ,fd00::7"], "1.2.3.4"),
            (&["1.2.3.4,10.0.0.3"], "1.2.3.4"),
            (&["10.0.0.9, 10.0.0.3"], "10.0.0.9"),
            (&["10.6.6.6, 1.2.3.4"], "1.2.3.4"),
            (&["2001:db8::1"], "2001:db8::1"),
            (&["::ffff:1.2.3.4"], "1.2.3.4"),
            (&["1.2.3.4:5678"], "1.2.3.4"),
            (&["[2001:db8::1]:5678"], "2001:db8::1"),
            (&["[2001:db8::1]"], "2001:db8::1"),
            (&["fe80::1%eth0"], "fe80::1"),
            (&["\"1.2.3.4\""], "1.2.3.4"),
            (&[], PROXY),
        ] {
            assert_eq!(client_address(PROXY, lines, &[]), expected, "{lines:?}");
        }
    }

    #[test]
    fn an_invalid_entry_ends_the_search_at_the_proxy_that_wrote_it() {
        for (line, expected) in [
            ("unknown", PROXY),
            ("", PROXY),
            ("1.2.3.4, ", PROXY),
            ("1.2.3.4, unknown", PROXY),
            ("1.2.3.4, _hidden, 10.0.0.3", "10.0.0.3"),
            ("1.2.3", PROXY),
            ("1.2.3.4.5", PROXY),
            ("01.2.3.4", PROXY),
            ("1.2.3.4:99999", PROXY),
            ("[2001:db8::1", PROXY),
            ("[2001:db8::1]x", PROXY),
            ("[1.2.3.4]", PROXY),
            ("example.org", PROXY),
            ("'; drop table", PROXY),
            ("\u{661}.2.3.4", PROXY),
        ] {
            assert_eq!(client_address(PROXY, &[line], &[]), expected, "{line:?}");
        }
    }

    #[test]
    fn forwarded_elements_are_parsed_as_in_rfc_7239() {
        for (line, expected) in [
            ("for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"),
            ("For=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17"),
            ("for=192.0.2.43, for=198.51.100.17", "198.51.100.17"),
            ("for=192.0.2.43, for=10.0.0.4;proto=https", "192.0.2.43"),
            ("proto=http ; FOR = 1.2.3.4 ", "1.2.3.4"),
            ("for=\"_gazonk\"", PROXY),
            ("for=unknown", PROXY),
            ("proto=http", PROXY),
            ("for=1.2.3.4;for=5.6.7.8", PROXY),
            ("for", PROXY),
        ] {
            assert_eq!(client_address(PROXY, &[], &[line]), expected, "{line}");
        }
    }

    #[test]
    fn quotes_neither_hide_nor_forge_an_element() {
        for (line, expected) in [
            ("for=\"6.6.6.6, for=1.2.3.4", "1.2.3.4"),
            ("for=1.2.3.4;host=\"a,for=6.6.6.6\"", PROXY),
            ("proto=https;host=\"a;for=6.6.6.6;b\"", PROXY),
            ("for=1.2.3.4;host=\"a,for=6.6.6.6;x=\"", PROXY),
            ("for=1.2.3.4;host=\"a\\\",for=6.6.6.6;x=\\\"\"", PROXY),
        ] {
            assert_eq!(client_address(PROXY, &[], &[line]), expected, "{line}");
        }
    }

    #[test]
    fn headers_that_disagree_are_ignored() {
        assert_eq!(client_address(PROXY, &["1.2.3.4"], &["for=1.2.3.4"]), "1.2.3.4");
        assert_eq!(client_address(PROXY, &["6.6.6.6"], &["for=1.2.3.4"]), PROXY);
        assert_eq!(client_address(PROXY, &["1.2.3.4"], &["for=unknown"]), PROXY);
    }

    #[test]
    fn the_client_is_found_behind_a_hundred_thousand_proxies() {
        let proxies = vec!["10.0.0.7"; 100_000].join(",");
        assert_eq!(client_address(PROXY, &["1.2.3.4", &proxies], &[]), "1.2.3.4");
    }

    proptest! {
        #[test]
        fn invalid_bytes_do_not_panic_and_the_last_hop_decides(
            garbage in prop::collection::vec(any::<u8>(), 0..80),
            hop in any::<std::net::Ipv4Addr>(),
        ) {
            let proxies = TrustedProxies(vec!["10.0.0.1".parse().unwrap()]);
            let peer: IpAddr = PROXY.parse().unwrap();
            prop_assume!(IpAddr::V4(hop) != peer);
            let _ = proxies.client_address(peer, [garbage.as_slice()].into_iter(), [garbage.as_slice()].into_iter());
            let mut line = garbage;
            line.extend_from_slice(format!(",{hop}").as_bytes());
            let client = proxies.client_address(peer, [line.as_slice()].into_iter(), [].into_iter());
            prop_assert_eq!(client, IpAddr::V4(hop));
        }
    }
}
