//! Requests of authenticated clients about tokens: issue (RFC 6749, sections 4.1.3 and 4.4.2),
//! introspection (RFC 7662) and revocation (RFC 7009).

use super::app::App;
use super::client::GrantType;
use super::client_auth::Credentials;
use super::error::OAuthError;
use super::issuer_policy::IssuerPolicy;
use super::parameter::Parameter;
use super::parameters::Parameters;
use crate::secret::Secret;

#[derive(Debug, Clone)]
pub struct TokenRequest {
    /// The client's credentials, not yet verified.
    pub credentials: Credentials,
    /// The parameters that depend on the grant type.
    pub kind: TokenRequestKind,
}

/// The parameters of a token request, by grant type.
#[derive(Debug, Clone)]
pub enum TokenRequestKind {
    /// `authorization_code`: a token for the user who approved the request.
    AuthorizationCode {
        code: Secret,
        redirect_uri: String,
        /// The PKCE verifier, if any.
        verifier: Option<Secret>,
    },
    /// `refresh_token`: the next tokens of a family.
    RefreshToken {
        token: Secret,
        /// The requested scopes, which must be among those of the family.
        scope: Option<String>,
    },
    ClientCredentials {
        /// The requested scopes, resolved once the app is known.
        scope: Option<String>,
    },
}

impl TokenRequestKind {
    pub fn grant_type(&self) -> GrantType {
        match self {
            Self::AuthorizationCode { .. } => GrantType::AuthorizationCode,
            Self::RefreshToken { .. } => GrantType::RefreshToken,
            Self::ClientCredentials { .. } => GrantType::ClientCredentials,
        }
    }
}

impl TokenRequest {
    /// Parses a request from its `Authorization` header and its body. Missing and repeated
    /// parameters are reported before missing credentials, but two authentication methods are
    /// reported before a missing redirect URI.
    pub fn parse(
        policy: &IssuerPolicy,
        authorization: Option<&[u8]>,
        parameters: Parameters<'_>,
    ) -> Result<Self, OAuthError> {
        use Parameter::{ClientId, ClientSecret, Code, CodeVerifier, RedirectUri, Scope};
        let known_parameters = [Code, ClientId, ClientSecret, RedirectUri, CodeVerifier, Scope];
        // Repeated parameters are errors even if the grant type does not use them.
        for parameter in [Parameter::GrantType].into_iter().chain(known_parameters) {
            parameters.optional(parameter)?;
        }
        match policy.parse_grant_type(parameters.required(Parameter::GrantType)?)? {
            GrantType::AuthorizationCode => {
                let code = Secret::new(parameters.required(Code)?);
                let credentials = Credentials::parse(policy, authorization, parameters);
                // A contradictory request is reported before a missing redirect URI.
                if let Err(OAuthError::MultipleAuthMethods) = credentials {
                    return Err(OAuthError::MultipleAuthMethods);
                }
                let redirect_uri = parameters.required(RedirectUri)?.to_owned();
                let verifier = parameters.optional(CodeVerifier)?.map(Secret::new);
                let kind = TokenRequestKind::AuthorizationCode { code, redirect_uri, verifier };
                Ok(Self { credentials: credentials?, kind })
            }
            GrantType::RefreshToken => {
                let token = Secret::new(parameters.required(Parameter::RefreshToken)?);
                let credentials = Credentials::parse(policy, authorization, parameters)?;
                let scope = parameters.optional(Scope)?.map(str::to_owned);
                Ok(Self { credentials, kind: TokenRequestKind::RefreshToken { token, scope } })
            }
            GrantType::ClientCredentials => {
                let credentials = Credentials::parse(policy, authorization, parameters)?;
                let scope = parameters.optional(Scope)?.map(str::to_owned);
                Ok(Self { credentials, kind: TokenRequestKind::ClientCredentials { scope } })
            }
        }
    }
}

/// A request for the introspection or revocation of a token.
#[derive(Debug, Clone)]
pub struct ClientTokenRequest {
    /// The client's credentials, not yet verified.
    pub credentials: Credentials,
    pub token: Secret,
}

impl ClientTokenRequest {
    /// Parses a request from its `Authorization` header and its body. Client authentication errors
    /// take precedence over a missing token.
    pub fn parse(
        policy: &IssuerPolicy,
        authorization: Option<&[u8]>,
        parameters: Parameters<'_>,
    ) -> Result<Self, OAuthError> {
        let credentials = Credentials::parse(policy, authorization, parameters)?;
        let token = parameters.required(Parameter::Token)?;
        Ok(Self { credentials, token: Secret::new(token) })
    }
}

/// Returns whether an app may introspect a token: a token that was issued to it, or any token if
/// the app is configured as a resource server.
pub fn can_introspect(app: &App, token_app_id: i64, resource_servers: &[String]) -> bool {
    app.id == token_app_id || resource_servers.contains(&app.client_id)
}

#[cfg(test)]
mod tests;
