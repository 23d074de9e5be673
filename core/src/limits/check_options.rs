//! The options of a gateway check: what it requires of a token besides its validity.

use crate::oauth::scope::{ScopeError, Scopes};

/// What a gateway check requires, from the query that the proxy is configured with.
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
    /// Some proxies add the query of their client to that of the check, so a parameter that the
    /// original request has too may come from the client. It must not weaken the check: `app` is
    /// then ignored. A `scope` is required all the same, because a client could otherwise remove it
    /// by repeating it, unless it is not a scope.
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
    fn parameters_that_may_be_the_clients_do_not_weaken_a_check() {
        for (check, original, scopes, allows_app_tokens) in [
            ("", "", Some(""), false),
            ("scope=write:media", "a=b", Some("write:media"), false),
            ("scope=write:media+read&scope=push", "", Some("write:media read push"), false),
            ("scope=nonsense", "scope=other", None, false),
            ("app=allow", "", Some(""), true),
            ("app=allow&scope=read", "scope=x", Some("read"), true),
            ("app=yes", "", Some(""), false),
            ("app", "", Some(""), false),
            // The proxy copied the query of its client.
            ("scope=nonsense&a=b", "scope=nonsense&a=b", Some(""), false),
            ("scope=read&app=allow", "scope=read&app=allow", Some("read"), false),
            ("%61pp=allow", "%61pp=allow", Some(""), false),
            ("app=allow", "app=allow%23x", Some(""), false),
            // The client repeats what the proxy is configured with.
            ("scope=write:media", "scope=write:media", Some("write:media"), false),
            ("app=allow", "app=1", Some(""), false),
        ] {
            let [check_pairs, original_pairs] = [check, original].map(|q| parse_query(q).unwrap());
            let found = CheckOptions::new(&check_pairs, &original_pairs).ok();
            let expected = scopes
                .map(|scopes| CheckOptions { scopes: scopes.parse().unwrap(), allows_app_tokens });
            assert_eq!(found, expected, "{check} for {original}");
        }
    }
}
