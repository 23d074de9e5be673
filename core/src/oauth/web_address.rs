//! Hosts of web addresses, restricted to forms that browsers parse as RFC 3986 does.

use fluent_uri::Uri;
use fluent_uri::component::{Authority, Host, Scheme};

/// Returns whether the text is the URL of a web page: `http` or `https`, a host, and no user name.
pub(super) fn is_web_address(text: &str) -> bool {
    Uri::parse(text).is_ok_and(|uri| {
        let has_host =
            |authority: Authority<'_>| !authority.has_userinfo() && has_plain_host(authority);
        is_web_scheme(uri.scheme()) && uri.authority().is_some_and(has_host)
    })
}

/// Returns a web address's host as a browser shows it, in lower case; `None` for any other text.
pub fn web_host(text: &str) -> Option<String> {
    let uri = Uri::parse(text).ok().filter(|uri| is_web_scheme(uri.scheme()))?;
    let authority = uri.authority()?;
    Some(match authority.host_parsed() {
        Host::Ipv6(address) => format!("[{address}]"),
        _ => authority.host().to_ascii_lowercase(),
    })
}

/// Returns whether the scheme is `http` or `https`.
pub(super) fn is_web_scheme(scheme: &Scheme) -> bool {
    ["http", "https"].iter().any(|web_scheme| scheme.as_str().eq_ignore_ascii_case(web_scheme))
}

/// Returns whether browsers parse the host of this authority as RFC 3986 does: an IP address in its
/// usual form, or labels of letters, digits, hyphens and underscores. A port, if any, must be a
/// number of at most 16 bits.
pub(super) fn has_plain_host(authority: Authority<'_>) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    };
    let is_name = |name: &str| name.split('.').all(is_label) && !is_numeric(name);
    let host = authority.host_parsed();
    let is_plain = matches!(host, Host::Ipv4(_) | Host::Ipv6(_))
        || matches!(host, Host::RegName(name) if is_name(name.as_str()));
    let has_port_number = authority.port().is_none_or(|port| !port.is_empty());
    is_plain && has_port_number && authority.port_to_u16().is_ok()
}

/// Returns whether browsers parse the name as an IPv4 address: `127.1`, `2130706433`, `0x7f.1`.
fn is_numeric(host: &str) -> bool {
    let last_label = host.rsplit('.').next().unwrap_or_default();
    let hex_digits = last_label.strip_prefix("0x").or_else(|| last_label.strip_prefix("0X"));
    last_label.bytes().all(|b| b.is_ascii_digit())
        || hex_digits.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_web_address_has_a_web_scheme_and_a_plain_host() {
        for address in [
            "http://a",
            "https://app.example/about?x=1#top",
            "HTTPS://App.Example",
            "http://localhost:3000/",
            "http://127.0.0.1",
            "http://[::1]:8080/",
            "https://xn--mnchen-3ya.example/%7Ea",
        ] {
            assert!(is_web_address(address), "{address}");
        }
        for address in [
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
            assert!(!is_web_address(address), "{address}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in any::<String>()) {
            is_web_address(&text);
        }

        #[test]
        fn parsing_a_uri_like_text_never_panics(text in r"[a-z0-9:/?#@%.\[\]\\]{0,40}") {
            is_web_address(&text);
        }
    }
}
