//! Token introspection (RFC 7662).

use super::app::App;
use super::client_auth::Credentials;
use super::error::OAuthError;
use super::parameter::Parameter;
use super::parameters::Parameters;
use crate::secret::Secret;

/// An introspection request.
#[derive(Debug, Clone)]
pub struct IntrospectRequest {
    /// The credentials of the client, not yet verified.
    pub credentials: Credentials,
    /// The token to introspect.
    pub token: Secret,
}

impl IntrospectRequest {
    /// Parses a request from its `Authorization` header and its body.
    ///
    /// # Errors
    /// Errors of client authentication precede a missing token.
    pub fn parse(
        authorization: Option<&[u8]>,
        parameters: Parameters<'_>,
    ) -> Result<Self, OAuthError> {
        let credentials = Credentials::parse(authorization, parameters)?;
        let token = parameters.required(Parameter::Token)?;
        Ok(Self { credentials, token: Secret::new(token) })
    }
}

/// Whether an app may introspect a token: one of its own, or any if it is configured as a resource
/// server.
#[must_use]
pub fn may_introspect(app: &App, token_app_id: i64, resource_servers: &[String]) -> bool {
    app.id == token_app_id || resource_servers.contains(&app.client_id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::app::Registration;

    // RFC 7662, section 2.1: against token scanning.
    #[test]
    fn missing_credentials_are_reported_before_a_missing_token() {
        let parse = |pairs: &[(&str, &str)]| {
            let pairs: Vec<_> = pairs.iter().map(|&(n, v)| (n.to_owned(), v.to_owned())).collect();
            let request = IntrospectRequest::parse(None, Parameters::new(&pairs));
            request.map(|request| request.token.reveal().to_owned())
        };
        let client = [("client_id", "a"), ("client_secret", "s")];
        assert_eq!(parse(&[]), Err(OAuthError::InvalidClient));
        assert_eq!(parse(&[("token", "t")]), Err(OAuthError::InvalidClient));
        assert_eq!(parse(&client), Err(OAuthError::Missing(Parameter::Token)));
        assert_eq!(parse(&[client[0], client[1], ("token", "t")]), Ok("t".to_owned()));
    }

    #[test]
    fn a_client_may_introspect_its_own_tokens_and_a_resource_server_all() {
        let registration = Registration {
            client_name: "Api".into(),
            redirect_uris: vec!["https://a.example/".into()],
            ..Registration::default()
        };
        let app = App { id: 1, client_id: "api".into(), details: registration.validate().unwrap() };
        assert!(may_introspect(&app, 1, &[]));
        assert!(!may_introspect(&app, 2, &[]));
        assert!(!may_introspect(&app, 2, &["other".to_owned()]));
        assert!(may_introspect(&app, 2, &["other".to_owned(), "api".to_owned()]));
    }
}
