//! Authorization server metadata (RFC 8414).

use serde_json::{Value, json};

use super::authorization_response::ResponseMode;
use super::issuer_policy::IssuerPolicy;
use super::pkce;

/// Returns the issuer identifier: the base URL with a slash, as in Mastodon. Clients compare the
/// issuer in the metadata with the one in each authorization response (RFC 9207), byte by byte.
pub fn issuer(base_url: &str) -> String {
    format!("{}/", base_url.trim_end_matches('/'))
}

/// Returns the metadata document of an issuer of the server at this base URL. `endpoints` contains
/// the metadata field and the path of each endpoint.
pub fn metadata_document(
    policy: &IssuerPolicy,
    base_url: &str,
    endpoints: &[(&str, &str)],
    documentation_url: &str,
) -> Value {
    let scopes: Vec<_> = policy.scopes.iter().map(|scope| scope.as_str()).collect();
    let grant_types: Vec<_> =
        policy.grant_types.iter().map(|grant_type| grant_type.as_str()).collect();
    let auth_methods: Vec<_> = policy.auth_method_names().collect();
    let response_modes: Vec<_> = ResponseMode::ALL.iter().map(|mode| mode.as_str()).collect();
    let mut document = json!({
        "issuer": issuer(base_url),
        "service_documentation": documentation_url,
        "scopes_supported": scopes,
        "response_types_supported": ["code"],
        "response_modes_supported": response_modes,
        "code_challenge_methods_supported": [pkce::METHOD],
        "grant_types_supported": grant_types,
        "token_endpoint_auth_methods_supported": auth_methods,
        "authorization_response_iss_parameter_supported": true,
    });
    for (field, path) in endpoints {
        document[*field] = format!("{}{path}", base_url.trim_end_matches('/')).into();
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::issuer_policy::MASTODON;

    #[test]
    fn a_trailing_slash_in_the_base_url_is_ignored() {
        let document = |base_url| metadata_document(&MASTODON, base_url, &[("a", "/b")], "d");
        assert_eq!(document("http://a:1/"), document("http://a:1"));
        assert_eq!(issuer("https://a.example/belfry"), "https://a.example/belfry/");
    }
}
