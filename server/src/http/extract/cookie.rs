//! The cookies of the pages. No cookie crate is needed, because the values are only secrets of a
//! fixed format, language codes and a flag.

use axum::http::{HeaderMap, HeaderValue, header};
use belfry_core::secret::SplitToken;

use crate::config::BaseUrl;

/// A cookie of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cookie {
    /// Identifies the browser and its session.
    Browser,
    /// A flag of browsers that have signed in and not signed out. [`Self::Browser`] alone does not
    /// show that a session has ended, because browsers without a session have it too.
    SignedIn,
    /// The authorization code that the out-of-band page shows.
    Code,
    /// The language chosen on a page.
    Language,
}

impl Cookie {
    /// Returns the name of the cookie. With HTTPS, the prefix `__Host-` makes browsers reject a
    /// cookie set by another host or over a plain connection (RFC 6265bis section 4.1.3).
    fn name(self, base_url: &BaseUrl) -> &'static str {
        match (self, base_url.is_secure()) {
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

    /// Returns the secret in the cookie.
    pub(crate) fn read(self, headers: &HeaderMap, base_url: &BaseUrl) -> Option<SplitToken> {
        SplitToken::parse(self.value(headers, base_url)?)
    }

    /// Returns the value of the cookie; `None` if it was sent twice, because an attacker may have
    /// set one of the two.
    pub(crate) fn value<'a>(self, headers: &'a HeaderMap, base_url: &BaseUrl) -> Option<&'a str> {
        let name = self.name(base_url);
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut values = lines
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(other, _)| *other == name)
            .map(|(_, value)| value);
        let value = values.next()?;
        values.next().is_none().then_some(value)
    }

    /// Returns the header that sets the cookie, with its lifetime in seconds; zero removes it.
    pub(crate) fn set(self, base_url: &BaseUrl, value: &str, seconds: u64) -> HeaderValue {
        let name = self.name(base_url);
        let secure = if base_url.is_secure() { "; Secure" } else { "" };
        let text =
            format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        let mut header = HeaderValue::from_str(&text).expect("names and values are plain ASCII");
        header.set_sensitive(true);
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_browser_cookie(headers: &[&str]) -> Option<String> {
        let mut map = HeaderMap::new();
        for value in headers {
            map.append(header::COOKIE, value.parse().unwrap());
        }
        let base_url = "https://ring.example".parse().unwrap();
        Cookie::Browser.read(&map, &base_url).map(|secret| secret.reveal().to_owned())
    }

    #[test]
    fn a_cookie_is_read_if_it_was_sent_once_and_has_the_format_of_a_secret() {
        let [value, other] = ["a", "b"].map(|letter| letter.repeat(64));
        let one = format!("__Host-belfry={value}");
        assert_eq!(read_browser_cookie(&[&one]), Some(value.clone()));
        assert_eq!(
            read_browser_cookie(&[&format!("x=y;{one} ; __Host-belfry-code={other}")]),
            Some(value)
        );
        assert_eq!(read_browser_cookie(&["x=y", &one]).map(|value| value.len()), Some(64));
        let twice = format!("{one}; __Host-belfry={other}");
        for cookies in
            [&*twice, &format!("belfry={other}"), "__Host-belfry=", "__Host-belfry=a", "", ";"]
        {
            assert_eq!(read_browser_cookie(&[cookies]), None, "{cookies}");
        }
        assert_eq!(read_browser_cookie(&[&one, &one]), None);
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
            assert_eq!(Cookie::Browser.set(&base_url.parse().unwrap(), "x", 60), expected);
        }
    }
}
