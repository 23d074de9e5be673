//! The cookies of the pages. No cookie crate is needed, because the values are only secrets of a
//! fixed format, language codes and a flag.

use axum::http::{HeaderMap, HeaderValue, header};
use belfry_core::secret::SplitToken;

use crate::config::BaseUrl;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cookie {
    Browser,
    /// A flag of browsers that have signed in and not signed out. [`Self::Browser`] alone does not
    /// show that a session has ended, because browsers without a session have it too.
    SignedIn,
    /// The authorization code that the out-of-band page shows.
    Code,
    Language,
}

impl Cookie {
    /// Returns the cookie's name. With HTTPS, the prefix `__Host-` makes browsers reject a
    /// cookie set by another host or over a plain connection (RFC 6265bis, section 4.1.3).
    fn name(self, base_url: &BaseUrl) -> &'static str {
        match (self, base_url.is_https()) {
            (Self::Browser, true) => "__Host-belfry",
            (Self::Browser, false) => "belfry",
            (Self::SignedIn, true) => "__Host-belfry-signed-in",
            (Self::SignedIn, false) => "belfry-signed-in",
            (Self::Code, true) => "__Host-belfry-code",
            (Self::Code, false) => "belfry-code",
            (Self::Language, true) => "__Host-belfry-lang",
            (Self::Language, false) => "belfry-lang",
        }
    }

    pub(crate) fn read_secret(self, headers: &HeaderMap, base_url: &BaseUrl) -> Option<SplitToken> {
        SplitToken::parse(self.value(headers, base_url)?)
    }

    /// Returns the cookie's value; `None` if it was sent twice, because an attacker may have
    /// set one of the two.
    pub(crate) fn value<'a>(self, headers: &'a HeaderMap, base_url: &BaseUrl) -> Option<&'a str> {
        let name = self.name(base_url);
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut values = lines
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(pair_name, _)| *pair_name == name)
            .map(|(_, value)| value);
        let value = values.next()?;
        values.next().is_none().then_some(value)
    }

    /// Returns the `Set-Cookie` header. A maximum age of zero removes the cookie.
    pub(crate) fn set_cookie_header(
        self,
        base_url: &BaseUrl,
        value: &str,
        max_age_seconds: u64,
    ) -> HeaderValue {
        let name = self.name(base_url);
        let secure = if base_url.is_https() { "; Secure" } else { "" };
        let cookie = format!(
            "{name}={value}; Path=/; Max-Age={max_age_seconds}; HttpOnly; SameSite=Lax{secure}"
        );
        let mut header = HeaderValue::from_str(&cookie).expect("names and values are plain ASCII");
        header.set_sensitive(true);
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_browser_cookie(header_values: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in header_values {
            headers.append(header::COOKIE, value.parse().unwrap());
        }
        let base_url = "https://ring.example".parse().unwrap();
        Cookie::Browser.read_secret(&headers, &base_url).map(|secret| secret.reveal().to_owned())
    }

    #[test]
    fn only_a_well_formed_cookie_that_was_sent_once_is_read() {
        let [value, other_value] = ["a", "b"].map(|letter| letter.repeat(64));
        let cookie = format!("__Host-belfry={value}");
        assert_eq!(read_browser_cookie(&[&cookie]), Some(value.clone()));
        assert_eq!(
            read_browser_cookie(&[&format!("x=y;{cookie} ; __Host-belfry-code={other_value}")]),
            Some(value)
        );
        assert_eq!(read_browser_cookie(&["x=y", &cookie]).map(|value| value.len()), Some(64));
        let repeated_cookie = format!("{cookie}; __Host-belfry={other_value}");
        for header in [
            &*repeated_cookie,
            &format!("belfry={other_value}"),
            "__Host-belfry=",
            "__Host-belfry=a",
            "",
            ";",
        ] {
            assert_eq!(read_browser_cookie(&[header]), None, "{header}");
        }
        assert_eq!(read_browser_cookie(&[&cookie, &cookie]), None);
    }

    #[test]
    fn a_cookie_is_restricted_to_this_host_and_hidden_from_scripts() {
        for (base_url, expected) in [
            (
                "https://ring.example",
                "__Host-belfry=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure",
            ),
            ("http://a", "belfry=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax"),
        ] {
            assert_eq!(
                Cookie::Browser.set_cookie_header(&base_url.parse().unwrap(), "x", 60),
                expected
            );
        }
    }
}
