//! Introspection (RFC 7662) and revocation (RFC 7009) requests: a client and a token.

use super::app::App;
use super::client_auth::Credentials;
use super::error::OAuthError;
use super::parameter::Parameter;
use super::parameters::Parameters;
use crate::secret::Secret;

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
        authorization: Option<&[u8]>,
        parameters: Parameters<'_>,
    ) -> Result<Self, OAuthError> {
        let credentials = Credentials::parse(authorization, parameters)?;
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
mod tests {
    use super::*;
    use crate::form::tests::to_pairs;
    use crate::oauth::app::AppRegistration;
    use crate::oauth::client::{ClientProperties, Registrar};
    use crate::oauth::issuer_policy::MASTODON;

    const CLIENT_CREDENTIALS: [(&str, &str); 2] = [("client_id", "a"), ("client_secret", "s")];

    fn parse_revocation(
        header: Option<&str>,
        pairs: &[(&str, &str)],
    ) -> Result<ClientTokenRequest, OAuthError> {
        let header = header.map(str::as_bytes);
        ClientTokenRequest::parse(header, Parameters::new(&to_pairs(pairs)))
    }

    // Required by RFC 7662, section 2.1, to prevent token scanning.
    #[test]
    fn missing_credentials_are_reported_before_a_missing_token() {
        let parse = |pairs: &[(&str, &str)]| {
            let pairs = to_pairs(pairs);
            let request = ClientTokenRequest::parse(None, Parameters::new(&pairs));
            request.map(|request| request.token.reveal().to_owned())
        };
        assert_eq!(parse(&[]), Err(OAuthError::MissingOrMalformedCredentials));
        assert_eq!(parse(&[("token", "t")]), Err(OAuthError::MissingOrMalformedCredentials));
        assert_eq!(parse(&CLIENT_CREDENTIALS), Err(OAuthError::Missing(Parameter::Token)));
        assert_eq!(
            parse(&[CLIENT_CREDENTIALS[0], CLIENT_CREDENTIALS[1], ("token", "t")]),
            Ok("t".to_owned())
        );
    }

    #[test]
    fn a_client_may_introspect_its_own_tokens_and_a_resource_server_all_tokens() {
        let registration = AppRegistration {
            client_name: "Api".into(),
            redirect_uris: vec!["https://a.example/".into()],
            ..AppRegistration::default()
        };
        let properties = ClientProperties::new(&MASTODON, Registrar::Api);
        let details = registration.validate(&MASTODON).unwrap();
        let app = App { id: 1, client_id: "api".into(), details, properties };
        assert!(can_introspect(&app, 1, &[]));
        assert!(!can_introspect(&app, 2, &[]));
        assert!(!can_introspect(&app, 2, &["other".to_owned()]));
        assert!(can_introspect(&app, 2, &["other".to_owned(), "api".to_owned()]));
    }

    // The hint is ignored, as RFC 7009, section 2.1, allows.
    #[test]
    fn a_revocation_is_parsed() {
        let pairs = [
            CLIENT_CREDENTIALS[0],
            CLIENT_CREDENTIALS[1],
            ("token", "t"),
            ("token_type_hint", "refresh_token"),
        ];
        let request = parse_revocation(None, &pairs).unwrap();
        assert_eq!((request.credentials.client_id.as_str(), request.token.reveal()), ("a", "t"));
        assert_eq!(
            parse_revocation(Some("Basic YTpz"), &[("token", "t")]).unwrap().token.reveal(),
            "t"
        );
    }

    #[test]
    fn a_revocation_with_two_auth_methods_or_two_tokens_is_rejected() {
        let pairs = [CLIENT_CREDENTIALS[0], CLIENT_CREDENTIALS[1], ("token", "t")];
        let two_auth_methods = parse_revocation(Some("Basic YTpz"), &pairs).map(|_| ());
        assert_eq!(two_auth_methods, Err(OAuthError::MultipleAuthMethods));
        let two_tokens =
            parse_revocation(None, &[&pairs[..], &[("token", "t")]].concat()).map(|_| ());
        assert_eq!(two_tokens, Err(OAuthError::Repeated(Parameter::Token)));
    }
}
