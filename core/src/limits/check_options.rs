//! The options of a gateway check: the requirements for a token besides its validity.

use crate::oauth::scope::{ScopeError, Scopes};

/// The requirements of a gateway check, from the query that the proxy is configured with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckOptions {
    /// The scopes that the token must have: `scope=write:media`.
    pub scopes: Scopes,
    /// Whether a token without an account is admitted: `app=allow`.
    pub allows_app_tokens: bool,
}

impl CheckOptions {
    /// Reads the options from the parameters of the check.
    ///
    /// Some proxies append the query of the original request to that of the check. A parameter that
    /// is in both queries may therefore come from the client and must not weaken the check. Such an
    /// `app` is ignored. Such a `scope` is still required, because a client could otherwise remove
    /// a required scope by sending it, too. It is ignored only if it is not a valid scope.
    pub fn new(
        check: &[(String, String)],
        original: &[(String, String)],
    ) -> Result<Self, ScopeError> {
        let mut scopes = Vec::new();
        let mut allows_app_tokens = false;
        for pair @ (name, value) in check {
            match name.as_str() {
                "scope" => match value.parse::<Scopes>() {
                    Ok(required) => scopes.push(required),
                    Err(_) if original.contains(pair) => {}
                    Err(error) => return Err(error),
                },
                "app" => allows_app_tokens |= value == "allow",
                _ => {}
            }
        }
        allows_app_tokens &= original.iter().all(|(name, _)| name != "app");
        Ok(Self { scopes: scopes.iter().flat_map(Scopes::iter).collect(), allows_app_tokens })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::percent::parse_query;

    #[test]
    fn parameters_that_the_client_may_have_sent_do_not_weaken_a_check() {
        for (check, original, scopes, allows_app_tokens) in [
            ("", "", Some(""), false),
            ("scope=write:media", "a=b", Some("write:media"), false),
            ("scope=write:media+read&scope=push", "", Some("write:media read push"), false),
            ("scope=nonsense", "scope=other", None, false),
            ("app=allow", "", Some(""), true),
            ("app=allow&scope=read", "scope=x", Some("read"), true),
            ("app=yes", "", Some(""), false),
            ("app", "", Some(""), false),
            // The proxy appended the query of its client.
            ("scope=nonsense&a=b", "scope=nonsense&a=b", Some(""), false),
            ("scope=read&app=allow", "scope=read&app=allow", Some("read"), false),
            ("%61pp=allow", "%61pp=allow", Some(""), false),
            ("app=allow", "app=allow%23x", Some(""), false),
            // The client repeats a parameter that the proxy is configured with.
            ("scope=write:media", "scope=write:media", Some("write:media"), false),
            ("app=allow", "app=1", Some(""), false),
        ] {
            let [check_pairs, original_pairs] = [check, original].map(|q| parse_query(q).unwrap());
            let options = CheckOptions::new(&check_pairs, &original_pairs).ok();
            let expected = scopes
                .map(|scopes| CheckOptions { scopes: scopes.parse().unwrap(), allows_app_tokens });
            assert_eq!(options, expected, "{check} for {original}");
        }
    }
}
