//! Authorization server metadata (RFC 8414).

use serde::Serialize;

use super::pkce;
use super::response::ResponseMode;
use super::scope::Scope;

/// The issuer identifier. Clients compare the issuer in the metadata with the one in each
/// authorization response (RFC 9207), byte by byte.
#[must_use]
pub fn issuer(base_url: &str) -> String {
    format!("{}/", base_url.trim_end_matches('/'))
}

/// The metadata document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the protocol names them")]
pub struct Metadata {
    pub issuer: String,
    pub service_documentation: String,
    pub authorization_endpoint: String,
    pub token_endpoint: String,
    pub app_registration_endpoint: String,
    pub revocation_endpoint: String,
    pub userinfo_endpoint: String,
    pub introspection_endpoint: String,
    pub scopes_supported: Vec<Scope>,
    pub response_types_supported: [&'static str; 1],
    pub response_modes_supported: Vec<&'static str>,
    pub code_challenge_methods_supported: [&'static str; 1],
    pub grant_types_supported: [&'static str; 2],
    pub token_endpoint_auth_methods_supported: [&'static str; 2],
    pub authorization_response_iss_parameter_supported: bool,
}

/// The paths of the endpoints, below the base URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the protocol names them")]
pub struct EndpointPaths<'a> {
    pub authorization: &'a str,
    pub token: &'a str,
    pub app_registration: &'a str,
    pub revocation: &'a str,
    pub userinfo: &'a str,
    pub introspection: &'a str,
}

impl Metadata {
    /// Creates the document of the server at this base URL.
    #[must_use]
    pub fn new(base_url: &str, endpoints: &EndpointPaths<'_>, documentation_url: &str) -> Self {
        let at = |path: &str| format!("{}{path}", base_url.trim_end_matches('/'));
        Self {
            issuer: issuer(base_url),
            service_documentation: documentation_url.to_owned(),
            authorization_endpoint: at(endpoints.authorization),
            token_endpoint: at(endpoints.token),
            app_registration_endpoint: at(endpoints.app_registration),
            revocation_endpoint: at(endpoints.revocation),
            userinfo_endpoint: at(endpoints.userinfo),
            introspection_endpoint: at(endpoints.introspection),
            scopes_supported: Scope::ALL.to_vec(),
            response_types_supported: ["code"],
            response_modes_supported: ResponseMode::ALL.iter().map(|mode| mode.as_str()).collect(),
            code_challenge_methods_supported: [pkce::METHOD],
            grant_types_supported: ["authorization_code", "client_credentials"],
            token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
            authorization_response_iss_parameter_supported: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ENDPOINTS: EndpointPaths<'_> = EndpointPaths {
        authorization: "/oauth/authorize",
        token: "/oauth/token",
        app_registration: "/api/v1/apps",
        revocation: "/oauth/revoke",
        userinfo: "/oauth/userinfo",
        introspection: "/oauth/introspect",
    };

    #[test]
    fn the_document_has_exactly_these_fields() {
        let scopes: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
        let document = Metadata::new("https://belfry.example", &ENDPOINTS, "https://docs.example/");
        assert_eq!(
            serde_json::to_value(document).unwrap(),
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
    fn a_trailing_slash_of_the_base_url_is_ignored() {
        let document = |base_url| Metadata::new(base_url, &ENDPOINTS, "d");
        assert_eq!(document("http://a:1/"), document("http://a:1"));
        assert_eq!(issuer("https://a.example/belfry"), "https://a.example/belfry/");
    }
}
