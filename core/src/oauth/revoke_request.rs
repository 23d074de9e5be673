//! The revocation request (RFC 7009).

use super::client_auth::Credentials;
use super::error::OAuthError;
use super::parameter::Parameter;
use super::parameters::Parameters;
use crate::secret::Secret;

/// A request to revoke a token.
#[derive(Debug, Clone)]
pub struct RevokeRequest {
    /// The credentials of the client, not yet verified.
    pub credentials: Credentials,
    /// The token to revoke.
    pub token: Secret,
}

impl RevokeRequest {
    /// Parses a request from its `Authorization` header and its body.
    ///
    /// # Errors
    /// [`OAuthError::UnauthorizedRevocation`] for a missing token and for missing credentials, as for
    /// the token of another app: the response must not help to guess tokens.
    pub fn parse(
        authorization: Option<&[u8]>,
        parameters: Parameters<'_>,
    ) -> Result<Self, OAuthError> {
        let credentials = Credentials::parse(authorization, parameters).map_err(hide_reason)?;
        let token = parameters.required(Parameter::Token).map_err(hide_reason)?;
        Ok(Self { credentials, token: Secret::new(token) })
    }
}

fn hide_reason(error: OAuthError) -> OAuthError {
    match error {
        OAuthError::InvalidClient | OAuthError::Missing(_) => OAuthError::UnauthorizedRevocation,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: [(&str, &str); 2] = [("client_id", "a"), ("client_secret", "s")];

    fn parse(header: Option<&str>, pairs: &[(&str, &str)]) -> Result<RevokeRequest, OAuthError> {
        let pairs: Vec<_> = pairs.iter().map(|&(n, v)| (n.to_owned(), v.to_owned())).collect();
        RevokeRequest::parse(header.map(str::as_bytes), Parameters::new(&pairs))
    }

    // The hint is ignored, as RFC 7009, section 2.1, allows.
    #[test]
    fn a_request_is_parsed() {
        let pairs = [CLIENT[0], CLIENT[1], ("token", "t"), ("token_type_hint", "refresh_token")];
        let request = parse(None, &pairs).unwrap();
        assert_eq!((request.credentials.client_id.as_str(), request.token.reveal()), ("a", "t"));
        assert_eq!(parse(Some("Basic YTpz"), &[("token", "t")]).unwrap().token.reveal(), "t");
    }

    #[test]
    fn a_missing_token_and_missing_credentials_are_the_same_error() {
        for pairs in [
            &[][..],
            &CLIENT,
            &[CLIENT[0], CLIENT[1], ("token", "")],
            &[("token", "t")],
            &[("token", "t"), CLIENT[0]],
        ] {
            let result = parse(None, pairs).map(|_| ());
            assert_eq!(result, Err(OAuthError::UnauthorizedRevocation), "{pairs:?}");
        }
    }

    #[test]
    fn a_malformed_request_is_reported_as_such() {
        let pairs = [CLIENT[0], CLIENT[1], ("token", "t")];
        let both = parse(Some("Basic YTpz"), &pairs).map(|_| ());
        assert_eq!(both, Err(OAuthError::TwoAuthentications));
        let twice = parse(None, &[&pairs[..], &[("token", "t")]].concat()).map(|_| ());
        assert_eq!(twice, Err(OAuthError::Repeated(Parameter::Token)));
    }
}
