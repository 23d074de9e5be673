//! URLs that name several hosts.

use super::SecretUrl;

impl SecretUrl {
    /// A URL for each host, with the password: of `redis://:PASSWORD@a:1,b:2` it is
    /// `redis://:PASSWORD@a:1` and `redis://:PASSWORD@b:2`.
    pub fn reveal_each(&self) -> Vec<String> {
        let text = self.reveal();
        let start = text.find("://").map_or(0, |at| at + 3);
        let end = text[start..].find(['/', '?', '#']).map_or(text.len(), |at| start + at);
        let hosts = text[start..end].rfind('@').map_or(start, |at| start + at + 1);
        let (before, after) = (&text[..hosts], &text[end..]);
        text[hosts..end].split(',').map(|host| format!("{before}{host}{after}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_the_user_and_the_parameters_of_the_url() {
        for (url, expected) in [
            ("redis://a", vec!["redis://a"]),
            (
                "rediss://me:h,2@a,b/0?x=1,2",
                vec!["rediss://me:h,2@a/0?x=1,2", "rediss://me:h,2@b/0?x=1,2"],
            ),
            ("redis://a:1,[::1]:2,c", vec!["redis://a:1", "redis://[::1]:2", "redis://c"]),
        ] {
            assert_eq!(url.parse::<SecretUrl>().unwrap().reveal_each(), expected);
        }
    }
}
