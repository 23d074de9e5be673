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

    const ENDPOINTS: [(&str, &str); 6] = [
        ("authorization_endpoint", "/oauth/authorize"),
        ("token_endpoint", "/oauth/token"),
        ("app_registration_endpoint", "/api/v1/apps"),
        ("revocation_endpoint", "/oauth/revoke"),
        ("userinfo_endpoint", "/oauth/userinfo"),
        ("introspection_endpoint", "/oauth/introspect"),
    ];

    const SCOPES: &str = "read write write:accounts write:blocks write:bookmarks \
        write:conversations write:favourites write:filters write:follows write:lists write:media \
        write:mutes write:notifications write:reports write:statuses read:accounts read:blocks \
        read:bookmarks read:favourites read:filters read:follows read:lists read:mutes \
        read:notifications read:search read:statuses follow push profile admin:read \
        admin:read:accounts admin:read:reports admin:read:domain_allows admin:read:domain_blocks \
        admin:read:ip_blocks admin:read:email_domain_blocks admin:read:canonical_email_blocks \
        admin:write admin:write:accounts admin:write:reports admin:write:domain_allows \
        admin:write:domain_blocks admin:write:ip_blocks admin:write:email_domain_blocks \
        admin:write:canonical_email_blocks";

    /// Clients compare these lists, so a new scope or grant type must not change them.
    #[test]
    fn the_metadata_document_lists_all_endpoints_and_capabilities() {
        let scopes: Vec<&str> = SCOPES.split(' ').collect();
        assert_eq!(
            metadata_document(
                &MASTODON,
                "https://belfry.example",
                &ENDPOINTS,
                "https://docs.example/"
            ),
            json!({
                "issuer": "https://belfry.example/",
                "service_documentation": "https://docs.example/",
                "authorization_endpoint": "https://belfry.example/oauth/authorize",
                "token_endpoint": "https://belfry.example/oauth/token",
                "app_registration_endpoint": "https://belfry.example/api/v1/apps",
                "revocation_endpoint": "https://belfry.example/oauth/revoke",
                "scopes_supported": scopes,
                "response_types_supported": ["code"],
                "response_modes_supported": ["query", "fragment", "form_post"],
                "code_challenge_methods_supported": ["S256"],
                "grant_types_supported": ["authorization_code", "client_credentials"],
                "token_endpoint_auth_methods_supported":
                    ["client_secret_basic", "client_secret_post"],
                "userinfo_endpoint": "https://belfry.example/oauth/userinfo",
                "introspection_endpoint": "https://belfry.example/oauth/introspect",
                "authorization_response_iss_parameter_supported": true,
            })
        );
    }

    #[test]
    fn a_trailing_slash_in_the_base_url_is_ignored() {
        let document = |base_url| metadata_document(&MASTODON, base_url, &ENDPOINTS, "d");
        assert_eq!(document("http://a:1/"), document("http://a:1"));
        assert_eq!(issuer("https://a.example/belfry"), "https://a.example/belfry/");
    }
}
