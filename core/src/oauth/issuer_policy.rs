//! What an issuer offers to its clients, and its metadata (RFC 8414). An issuer is one constant.

use serde_json::{Value, json};

use super::authorization_response::ResponseMode;
use super::client::{AuthMethod, ClientProperties, GrantType, Issuer, Registrar};
use super::error::OAuthError;
use super::pkce;
use super::scope::{Scope, ScopeError, Scopes};

/// The rules of an issuer. A grant type, scope or method that is not listed here does not exist
/// for its clients, even if another issuer has it.
#[derive(Debug, Clone)]
pub struct IssuerPolicy {
    /// Clients of other issuers are unknown to this one.
    pub issuer: Issuer,
    /// The end of the issuer identifier, after the base URL.
    pub identifier_suffix: &'static str,
    /// The grant types of the token endpoint, which are also those of a new client.
    pub grant_types: &'static [GrantType],
    /// The scopes, in the order of `scopes_supported` in the metadata.
    pub scopes: &'static [Scope],
    pub auth_methods: &'static [AuthMethod],
    /// The scope of a request without scopes.
    pub default_scope: Scope,
    /// Whether an authorization request of a client with a secret is invalid without a PKCE
    /// challenge. A client without a secret always needs one.
    pub requires_pkce: bool,
    /// Whether an earlier consent implies a new one also for redirect URIs that are not `https`,
    /// if the request has a PKCE challenge.
    pub implies_consent_with_pkce: bool,
    /// The response to the revocation of a token that the client does not own.
    pub foreign_revocation: Result<(), OAuthError>,
}

/// The issuer of Mastodon's API, whose endpoints are below `/oauth`.
pub const MASTODON: IssuerPolicy = IssuerPolicy {
    issuer: Issuer::OAuth,
    // Clients compare the issuer in the metadata with the one in each authorization response (RFC
    // 9207), byte by byte. Mastodon's has a slash.
    identifier_suffix: "/",
    grant_types: &[GrantType::AuthorizationCode, GrantType::ClientCredentials],
    scopes: Scope::MASTODON,
    auth_methods: &[AuthMethod::ClientSecret],
    default_scope: Scope::Read,
    requires_pkce: false,
    implies_consent_with_pkce: true,
    foreign_revocation: Err(OAuthError::UnauthorizedRevocation),
};

/// The issuer of clients without a secret, and of Matrix's OAuth 2.0 API, whose endpoints are below
/// `/id`.
pub const ID: IssuerPolicy = IssuerPolicy {
    issuer: Issuer::Id,
    identifier_suffix: "/id",
    grant_types: &[GrantType::AuthorizationCode, GrantType::RefreshToken],
    scopes: Scope::ALL,
    auth_methods: &[AuthMethod::None, AuthMethod::ClientSecret],
    default_scope: Scope::Profile,
    requires_pkce: false,
    implies_consent_with_pkce: false,
    foreign_revocation: Ok(()),
};

impl IssuerPolicy {
    /// Parses several strings, each with any number of scopes of this issuer.
    pub fn parse_scopes<T: AsRef<str>>(
        &self,
        lists: impl IntoIterator<Item = T>,
    ) -> Result<Scopes, ScopeError> {
        let mut scopes = Scopes::default();
        let has_devices = self.scopes.contains(&Scope::MatrixApi);
        for list in lists {
            let list = list.as_ref();
            let parsed = if has_devices { Scopes::parse_with_devices(list) } else { list.parse() };
            scopes.add_all(parsed?);
        }
        let foreign_scope = scopes.iter().find(|scope| !self.scopes.contains(scope));
        match foreign_scope {
            Some(scope) => Err(ScopeError::Unknown(scope.as_str().to_owned())),
            None => Ok(scopes),
        }
    }

    /// Returns the scopes of clients that register themselves.
    pub fn self_registered_scopes(&self) -> impl Iterator<Item = Scope> {
        self.scopes.iter().copied().filter(|scope| !scope.is_admin())
    }

    pub fn parse_grant_type(&self, text: &str) -> Result<GrantType, OAuthError> {
        let grant_type =
            GrantType::from_name(text).filter(|known| self.grant_types.contains(known));
        grant_type.ok_or(OAuthError::UnsupportedGrantType)
    }

    /// Returns whether a sign-in gets a family of tokens: short-lived ones, and one to refresh them.
    pub fn issues_families(&self) -> bool {
        self.grant_types.contains(&GrantType::RefreshToken)
    }

    /// Returns the issuer identifier of the server at this base URL.
    pub fn identifier(&self, base_url: &str) -> String {
        format!("{}{}", base_url.trim_end_matches('/'), self.identifier_suffix)
    }

    /// Returns the values of `token_endpoint_auth_method` that clients may register.
    pub fn auth_method_names(&self) -> impl Iterator<Item = &'static str> {
        self.auth_methods.iter().flat_map(|method| method.wire_names()).copied()
    }
}

/// Returns the metadata document of an issuer of the server at this base URL. `endpoints` contains
/// the metadata field and the path of each endpoint.
pub fn metadata_document(
    policy: &IssuerPolicy,
    base_url: &str,
    endpoints: &[(&str, &str)],
    documentation_url: &str,
) -> Value {
    let scopes: Vec<_> = if policy.issues_families() {
        // Agents request every scope that is listed. Matrix's is invalid without a device.
        let scopes = policy.self_registered_scopes().filter(|scope| *scope != Scope::MatrixApi);
        scopes.map(Scope::as_str).collect()
    } else {
        policy.scopes.iter().map(|scope| scope.as_str()).collect()
    };
    let grant_types: Vec<_> =
        policy.grant_types.iter().map(|grant_type| grant_type.as_str()).collect();
    let auth_methods: Vec<_> = policy.auth_method_names().collect();
    let response_modes: Vec<_> = ResponseMode::ALL.iter().map(|mode| mode.as_str()).collect();
    let mut document = json!({
        "issuer": policy.identifier(base_url),
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

impl ClientProperties {
    /// Returns the properties of a client with a secret. It may use every grant type of its issuer,
    /// unless it is a first-party client, whose tokens are issued without OAuth.
    pub fn new(policy: &IssuerPolicy, registered_by: Registrar) -> Self {
        let grant_types = if registered_by.is_first_party() { &[] } else { policy.grant_types };
        Self {
            auth_method: AuthMethod::ClientSecret,
            grant_types: grant_types.to_vec(),
            registered_by,
            issuer: policy.issuer,
        }
    }

    /// Returns whether this client may authenticate with this method at the endpoints of an issuer.
    pub fn may_authenticate(&self, policy: &IssuerPolicy, method: AuthMethod) -> bool {
        self.auth_method == method && self.issuer == policy.issuer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_another_issuer_has_does_not_exist_here() {
        let other_policy = IssuerPolicy {
            grant_types: &[GrantType::AuthorizationCode],
            scopes: &[Scope::Read],
            auth_methods: &[AuthMethod::None],
            ..MASTODON
        };
        for (policy, grant_type, scopes, auth_methods) in [
            (
                MASTODON,
                Ok(GrantType::ClientCredentials),
                Ok(Scopes::from_iter([Scope::Read, Scope::Push])),
                vec!["client_secret_basic", "client_secret_post"],
            ),
            (
                other_policy,
                Err(OAuthError::UnsupportedGrantType),
                Err(ScopeError::Unknown("push".to_owned())),
                vec!["none"],
            ),
        ] {
            assert_eq!(policy.parse_grant_type("client_credentials"), grant_type);
            assert_eq!(policy.parse_scopes(["read", "push read", ""]), scopes);
            assert!(policy.auth_method_names().eq(auth_methods));
            let code = policy.parse_grant_type("authorization_code");
            assert_eq!(code, Ok(GrantType::AuthorizationCode));
        }
    }

    #[test]
    fn a_trailing_slash_in_the_base_url_is_ignored() {
        let document = |base_url| metadata_document(&MASTODON, base_url, &[("a", "/b")], "d");
        assert_eq!(document("http://a:1/"), document("http://a:1"));
        for (policy, identifier) in
            [(MASTODON, "https://a.example/b/"), (ID, "https://a.example/b/id")]
        {
            assert_eq!(policy.identifier("https://a.example/b"), identifier);
        }
    }
}
