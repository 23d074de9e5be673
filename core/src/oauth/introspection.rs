//! What a token is, told to who may know (RFC 7662).

use super::app::App;
use super::client_auth::Credentials;
use super::error::OAuthError;
use super::parameter::Parameter;
use super::parameters::Parameters;
use crate::secret::Secret;

/// A question about a token, by a client that says who it is.
#[derive(Debug, Clone)]
pub struct IntrospectRequest {
    /// The client that says it asks.
    pub credentials: Credentials,
    /// The token that it was shown.
    pub token: Secret,
}

impl IntrospectRequest {
    /// Checks a request by its `Authorization` header and its body.
    ///
    /// # Errors
    /// What is wrong with the client, then whether the token is missing: who is nobody learns
    /// nothing.
    pub fn parse(
        authorization: Option<&[u8]>,
        parameters: Parameters<'_>,
    ) -> Result<Self, OAuthError> {
        let credentials = Credentials::parse(authorization, parameters)?;
        let token = parameters.required(Parameter::Token)?;
        Ok(Self { credentials, token: Secret::new(token) })
    }
}

/// Whether an app may know about a token: its own, or any if the server's settings name it among
/// the resource servers.
#[must_use]
pub fn may_introspect(app: &App, token_of: i64, resource_servers: &[String]) -> bool {
    app.id == token_of || resource_servers.contains(&app.client_id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::app::Registration;

    // Attack 74.
    #[test]
    fn a_client_is_asked_for_before_a_token_is() {
        let check = |pairs: &[(&str, &str)]| {
            let pairs: Vec<_> = pairs.iter().map(|&(n, v)| (n.to_owned(), v.to_owned())).collect();
            let request = IntrospectRequest::parse(None, Parameters::new(&pairs));
            request.map(|request| request.token.reveal().to_owned())
        };
        let client = [("client_id", "a"), ("client_secret", "s")];
        assert_eq!(check(&[]), Err(OAuthError::InvalidClient));
        assert_eq!(check(&[("token", "t")]), Err(OAuthError::InvalidClient));
        assert_eq!(check(&client), Err(OAuthError::Missing(Parameter::Token)));
        assert_eq!(check(&[client[0], client[1], ("token", "t")]), Ok("t".to_owned()));
    }

    #[test]
    fn a_client_may_know_of_its_own_tokens_and_a_resource_server_of_all() {
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
