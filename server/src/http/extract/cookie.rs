//! Cookies: read from a request, written into an answer. All that are used are ours, so a few
//! lines do.

use axum::http::{HeaderMap, HeaderValue, header};
use belfry_core::secret::Secret;

use crate::config::BaseUrl;

/// A cookie of ours, by its plain name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cookie {
    /// Which browser this is, and thereby who is signed in there.
    Browser,
    /// The code that the page for codes is to show.
    Code,
}

impl Cookie {
    /// Over HTTPS the prefix makes browsers see to it that no other host and no plain connection
    /// has set the cookie.
    fn name(self, base_url: &BaseUrl) -> &'static str {
        match (self, base_url.is_secure()) {
            (Self::Browser, true) => "__Host-belfry",
            (Self::Browser, false) => "belfry",
            (Self::Code, true) => "__Host-belfry-code",
            (Self::Code, false) => "belfry-code",
        }
    }

    /// The value that a browser sent. A cookie that came twice is as good as none: one of them is
    /// not ours.
    pub(crate) fn read(self, headers: &HeaderMap, base_url: &BaseUrl) -> Option<Secret> {
        let name = self.name(base_url);
        let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut values = all
            .flat_map(|all| all.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(found, _)| *found == name)
            .map(|(_, value)| value);
        let value = values.next()?;
        (values.next().is_none() && is_ours(value)).then(|| Secret::new(value))
    }

    /// The header that sets it, for so many seconds.
    pub(crate) fn set(self, base_url: &BaseUrl, value: &Secret, seconds: u64) -> HeaderValue {
        self.write(base_url, value.reveal(), seconds)
    }

    /// The header that removes it.
    pub(crate) fn remove(self, base_url: &BaseUrl) -> HeaderValue {
        self.write(base_url, "", 0)
    }

    fn write(self, base_url: &BaseUrl, value: &str, seconds: u64) -> HeaderValue {
        let name = self.name(base_url);
        let secure = if base_url.is_secure() { "; Secure" } else { "" };
        let text =
            format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        let mut header = HeaderValue::from_str(&text).expect("names and secrets are plain ASCII");
        header.set_sensitive(true);
        header
    }
}

/// Whether it can be a value that we set.
fn is_ours(value: &str) -> bool {
    let of_base64url = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    value.len() == Secret::LENGTH && value.bytes().all(of_base64url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[&str]) -> Option<String> {
        let mut map = HeaderMap::new();
        for value in headers {
            map.append(header::COOKIE, value.parse().unwrap());
        }
        let base_url = "https://ring.example".parse().unwrap();
        Cookie::Browser.read(&map, &base_url).map(|secret| secret.reveal().to_owned())
    }

    // Attack 103.
    #[test]
    fn a_cookie_counts_when_it_is_there_once_and_could_be_ours() {
        let [value, other] = ["a", "b"].map(|letter| letter.repeat(51));
        let one = format!("__Host-belfry={value}");
        assert_eq!(read(&[&one]), Some(value.clone()));
        assert_eq!(read(&[&format!("x=y;{one} ; __Host-belfry-code={other}")]), Some(value));
        assert_eq!(read(&["x=y", &one]).map(|it| it.len()), Some(51));
        let twice = format!("{one}; __Host-belfry={other}");
        for none in
            [&*twice, &format!("belfry={other}"), "__Host-belfry=", "__Host-belfry=a", "", ";"]
        {
            assert_eq!(read(&[none]), None, "{none}");
        }
        assert_eq!(read(&[&one, &one]), None);
    }

    // Attack 101.
    #[test]
    fn a_cookie_is_for_this_host_and_no_script() {
        let value = Secret::new("a secret");
        let set = |base_url: &str| {
            let header = Cookie::Browser.set(&base_url.parse().unwrap(), &value, 60);
            header.to_str().unwrap().replace(value.reveal(), "…")
        };
        assert_eq!(
            set("https://ring.example"),
            "__Host-belfry=…; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure"
        );
        assert_eq!(set("http://a"), "belfry=…; Path=/; Max-Age=60; HttpOnly; SameSite=Lax");
    }
}
