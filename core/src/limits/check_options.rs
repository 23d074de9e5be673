//! The options of a gateway check: the requirements for a token in addition to its validity.

use thiserror::Error;

use crate::oauth::scope::{ScopeError, Scopes};
use crate::percent::{self, PercentError};

/// Maximum length of a parameter name in an error. Bounded because anyone can send a check.
const MAX_NAME_BYTES: usize = 100;

/// The requirements of a gateway check, from the query that the proxy is configured with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckOptions {
    /// The scopes that the token must have: `scope=write:media`.
    pub scopes: Scopes,
    /// True if an app token is admitted: `app=allow`.
    pub allows_app_tokens: bool,
}

/// The reason a check's query string is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CheckOptionsError {
    #[error(transparent)]
    Query(#[from] PercentError),
    #[error(transparent)]
    Scope(#[from] ScopeError),
    #[error("`scope` is empty; name the scopes that the check requires, or remove `scope`")]
    EmptyScope,
    #[error("the only value of `app` is `allow`; without `app`, app tokens are rejected")]
    InvalidApp,
    #[error("unknown parameter `{0}`; a check has only `scope` and `app`")]
    UnknownParameter(String),
}

impl CheckOptions {
    /// Reads the options from the query string of the check.
    ///
    /// Some proxies append the query of the original request to that of the check. A parameter that
    /// is in both queries may therefore come from the client, and must not weaken the check:
    ///
    /// - `app` is ignored if the original query has an `app`, or is malformed and may contain one.
    ///   Otherwise, a value other than `allow` is an error, because the proxy's operator expects it
    ///   to have an effect.
    /// - A valid `scope` is always required. If one that is in both queries were ignored, a client
    ///   could remove a required scope by sending it as well. An invalid `scope` is an error,
    ///   unless the original query has it with the same value.
    /// - Any other parameter is an error, unless the original query has it with the same value. A
    ///   check that is configured with a misspelt `scope` would otherwise require none.
    pub fn parse(check_query: &str, original_query: &str) -> Result<Self, CheckOptionsError> {
        let original_pairs = percent::parse_query(original_query).ok();
        let may_be_in_original_query = |name: &str| {
            original_pairs
                .as_ref()
                .is_none_or(|pairs| pairs.iter().any(|(original_name, _)| original_name == name))
        };
        let is_in_original_query = |pair: &(String, String)| {
            original_pairs.as_ref().is_some_and(|pairs| pairs.contains(pair))
        };
        let mut scopes = Vec::new();
        let mut allows_app_tokens = false;
        for pair in percent::parse_query(check_query)? {
            match pair.0.as_str() {
                "scope" => match parse_scopes(&pair.1) {
                    Ok(required) => scopes.push(required),
                    Err(_) if is_in_original_query(&pair) => {}
                    Err(error) => return Err(error),
                },
                "app" if may_be_in_original_query("app") => {}
                "app" if pair.1 == "allow" => allows_app_tokens = true,
                "app" => return Err(CheckOptionsError::InvalidApp),
                _ if is_in_original_query(&pair) => {}
                _ => {
                    let end = pair.0.floor_char_boundary(MAX_NAME_BYTES);
                    return Err(CheckOptionsError::UnknownParameter(pair.0[..end].to_owned()));
                }
            }
        }
        Ok(Self { scopes: scopes.iter().flat_map(Scopes::iter).collect(), allows_app_tokens })
    }
}

/// Parses the value of `scope`, which must name at least one scope.
fn parse_scopes(value: &str) -> Result<Scopes, CheckOptionsError> {
    let scopes: Scopes = value.parse()?;
    if scopes.is_empty() { Err(CheckOptionsError::EmptyScope) } else { Ok(scopes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_that_the_client_may_have_sent_do_not_weaken_a_check() {
        for (check, original, scopes, allows_app_tokens) in [
            ("", "", Some(""), false),
            ("scope=write:media", "a=b", Some("write:media"), false),
            ("scope=write:media+read&scope=push", "", Some("write:media read push"), false),
            ("scope=nonsense", "scope=other", None, false),
            ("app=allow", "", Some(""), true),
            ("app=allow&scope=read", "scope=x", Some("read"), true),
            ("app=yes", "app=yes", Some(""), false),
            // The proxy appended its client's query.
            ("scope=nonsense&a=b", "scope=nonsense&a=b", Some(""), false),
            ("scope=read&app=allow", "scope=read&app=allow", Some("read"), false),
            ("%61pp=allow", "%61pp=allow", Some(""), false),
            ("app=allow", "app=allow%23x", Some(""), false),
            // The client repeats a parameter that the proxy is configured with.
            ("scope=write:media", "scope=write:media", Some("write:media"), false),
            ("app=allow", "app=1", Some(""), false),
            // A malformed query.
            ("scope=read&app=allow", "q=100%", Some("read"), false),
            ("scope=x", "scope=x&q=%ff", None, false),
            ("scope=read&q=100%", "", None, false),
            ("scope=read&q=%ff", "q=%ff", None, false),
            // An empty scope from the client.
            ("scope=", "scope=", Some(""), false),
            ("scope=&scope=read", "scope=", Some("read"), false),
        ] {
            let options = CheckOptions::parse(check, original).ok();
            let expected = scopes
                .map(|scopes| CheckOptions { scopes: scopes.parse().unwrap(), allows_app_tokens });
            assert_eq!(options, expected, "{check} for {original}");
        }
    }

    #[test]
    fn invalid_and_unknown_parameters_are_rejected() {
        let empty_scope =
            "`scope` is empty; name the scopes that the check requires, or remove `scope`";
        let unknown_parameter =
            |name| format!("unknown parameter `{name}`; a check has only `scope` and `app`");
        let invalid_app =
            "the only value of `app` is `allow`; without `app`, app tokens are rejected";
        for (check, original, error) in [
            ("app=yes", "", invalid_app.to_owned()),
            ("app", "", invalid_app.to_owned()),
            ("app=allow&app=yes", "", invalid_app.to_owned()),
            ("scope=", "", empty_scope.to_owned()),
            ("scope", "", empty_scope.to_owned()),
            ("scope=read&scope=", "a=b", empty_scope.to_owned()),
            ("scopes=write:statuses", "", unknown_parameter("scopes")),
            ("Scope=write", "scope=write", unknown_parameter("Scope")),
            ("scope=read&apps=allow", "", unknown_parameter("apps")),
            ("=write", "", unknown_parameter("")),
            // The original request has the name, but not the value.
            ("scopes=write", "scopes=read", unknown_parameter("scopes")),
            ("scopes=write", "q=100%", unknown_parameter("scopes")),
        ] {
            let result = CheckOptions::parse(check, original);
            let message = result.map_err(|error| error.to_string());
            assert_eq!(message, Err(error), "{check} for {original}");
        }
        let error = CheckOptions::parse(&"ä".repeat(1000), "").unwrap_err();
        assert_eq!(error, CheckOptionsError::UnknownParameter("ä".repeat(MAX_NAME_BYTES / 2)));
    }
}
