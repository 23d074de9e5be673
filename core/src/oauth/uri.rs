//! The parts of a URI by RFC 3986, cut from the text as it stands: nothing is normalised.

use std::net::{Ipv4Addr, Ipv6Addr};

/// An absolute URI of which every character is one that a URI can hold.
pub(super) struct Uri<'a> {
    pub(super) scheme: &'a str,
    /// What stands after `//`, if that is there.
    pub(super) authority: Option<&'a str>,
    pub(super) path: &'a str,
    pub(super) fragment: Option<&'a str>,
}

/// Why a text is no absolute URI.
pub(super) enum UriError {
    /// It holds a character that no URI holds there, or a broken percent sign.
    Malformed,
    /// It has no scheme.
    Relative,
}

impl<'a> Uri<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, UriError> {
        let (rest, fragment) = cut(text, '#');
        let (rest, query) = cut(rest, '?');
        let Some((scheme, rest)) = rest.split_once(':').filter(|(scheme, _)| is_scheme(scheme))
        else {
            return Err(if holds(text, b"[]#") { UriError::Relative } else { UriError::Malformed });
        };
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => {
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                (Some(authority), path)
            }
            None => (None, rest),
        };
        let well_formed = holds(authority.unwrap_or_default(), b"[]")
            && [path, query.unwrap_or_default(), fragment.unwrap_or_default()]
                .iter()
                .all(|part| holds(part, b""));
        if !well_formed {
            return Err(UriError::Malformed);
        }
        Ok(Self { scheme, authority, path, fragment })
    }

    /// Whether it is for the web: `http` or `https`.
    pub(super) fn is_web(&self) -> bool {
        ["http", "https"].iter().any(|web| self.scheme.eq_ignore_ascii_case(web))
    }

    /// Whether it names a user before the host.
    pub(super) fn has_userinfo(&self) -> bool {
        self.authority.is_some_and(|authority| authority.contains('@'))
    }

    /// Whether the authority is a host with or without a port, such that every browser reads it
    /// as the same host as we do.
    pub(super) fn has_plain_host(&self) -> bool {
        let Some(authority) = self.authority else { return false };
        let (host, port) = match authority.rfind(':').filter(|_| !authority.ends_with(']')) {
            Some(colon) => (&authority[..colon], Some(&authority[colon + 1..])),
            None => (authority, None),
        };
        let good_port = port.is_none_or(|port| {
            port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok()
        });
        good_port && is_host(host)
    }
}

fn cut(text: &str, at: char) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}

/// Whether the text holds only unreserved characters, delimiters, whole percent signs, and what
/// else may stand in its part.
fn holds(text: &str, also: &[u8]) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(at, byte)| match byte {
        b'%' => {
            let hex = |b: Option<&u8>| b.is_some_and(u8::is_ascii_hexdigit);
            hex(bytes.get(at + 1)) && hex(bytes.get(at + 2))
        }
        byte => {
            byte.is_ascii_alphanumeric()
                || b"-._~:/?@!$&'()*+,;=".contains(byte)
                || also.contains(byte)
        }
    })
}

fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().is_ok();
    }
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_".contains(&b);
    let is_name = host.split('.').all(|label| !label.is_empty() && label.bytes().all(plain));
    is_name && (!looks_numeric(host) || host.parse::<Ipv4Addr>().is_ok())
}

/// Whether a browser takes the name for an IPv4 address: `127.1`, `2130706433`, `0x7f.1`.
fn looks_numeric(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    let hex = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    last.bytes().all(|b| b.is_ascii_digit())
        || hex.is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Whether the text is the address of a web page: `http` or `https`, a host, and no user.
pub(super) fn is_web_address(text: &str) -> bool {
    Uri::parse(text).is_ok_and(|uri| uri.is_web() && !uri.has_userinfo() && uri.has_plain_host())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_web_address_has_a_scheme_and_a_host() {
        for good in [
            "http://a",
            "https://app.example/about?x=1#top",
            "HTTPS://App.Example",
            "http://localhost:3000/",
            "http://127.0.0.1",
            "http://[::1]:8080/",
            "https://xn--mnchen-3ya.example/%7Ea",
        ] {
            assert!(is_web_address(good), "{good}");
        }
        for bad in [
            "",
            "a",
            "app.example",
            "//app.example",
            "http:",
            "http:app.example",
            "http:/app.example",
            "http://",
            "http:///path",
            "http://?q",
            "http://:80",
            "http://a:port",
            "http://a:99999",
            "http://a:+80",
            "http://a b",
            "http://a..b",
            "http://a.",
            "http://user@a",
            "http://127.1",
            "http://2130706433",
            "http://0x7f.1",
            "http://127.0.0.256",
            "http://127.0.0.01",
            "http://[::g]",
            "http://[::1",
            "http://a]",
            "http://a%2eb",
            "http://a/%2",
            "http://a/[",
            "http://a\\b",
            "http://a/\0",
            "http://münchen.example",
            "ftp://a",
            "javascript://a",
            "javascript:alert(1)",
        ] {
            assert!(!is_web_address(bad), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_cut_or_refused(text in any::<String>()) {
            is_web_address(&text);
        }

        #[test]
        fn any_text_like_a_uri_is_cut_or_refused(text in r"[a-z0-9:/?#@%.\[\]\\]{0,40}") {
            is_web_address(&text);
        }
    }
}
