//! The revocation request, checked as a whole.

use super::client_auth::Credentials;
use super::error::OAuthError;
use super::parameter::Parameter;
use super::parameters::Parameters;
use crate::secret::Secret;

/// A request to revoke a token, by a client that says whose it is.
#[derive(Debug, Clone)]
pub struct RevokeRequest {
    /// The client that says it asks.
    pub credentials: Credentials,
    /// The token to revoke.
    pub token: Secret,
}

impl RevokeRequest {
    /// Checks a request by its `Authorization` header and its body.
    ///
    /// # Errors
    /// [`OAuthError::UnauthorizedRevocation`] for a missing token and for a client that presents nothing of
    /// use, as for a token that turns out to be another's: who guesses learns nothing.
    pub fn parse(
        authorization: Option<&[u8]>,
        parameters: Parameters<'_>,
    ) -> Result<Self, OAuthError> {
        let credentials = Credentials::parse(authorization, parameters).map_err(hidden)?;
        let token = parameters.required(Parameter::Token).map_err(hidden)?;
        Ok(Self { credentials, token: Secret::new(token) })
    }
}

fn hidden(refusal: OAuthError) -> OAuthError {
    match refusal {
        OAuthError::InvalidClient | OAuthError::Missing(_) => OAuthError::UnauthorizedRevocation,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: [(&str, &str); 2] = [("client_id", "a"), ("client_secret", "s")];

    fn check(header: Option<&str>, pairs: &[(&str, &str)]) -> Result<RevokeRequest, OAuthError> {
        let pairs: Vec<_> = pairs.iter().map(|&(n, v)| (n.to_owned(), v.to_owned())).collect();
        RevokeRequest::parse(header.map(str::as_bytes), Parameters::new(&pairs))
    }

    // Attack 68: a hint is an unknown parameter, right or wrong.
    #[test]
    fn a_client_names_a_token() {
        let pairs = [CLIENT[0], CLIENT[1], ("token", "t"), ("token_type_hint", "refresh_token")];
        let request = check(None, &pairs).unwrap();
        assert_eq!((request.credentials.client_id.as_str(), request.token.reveal()), ("a", "t"));
        assert_eq!(check(Some("Basic YTpz"), &[("token", "t")]).unwrap().token.reveal(), "t");
    }

    // Attack 67.
    #[test]
    fn without_a_token_or_a_client_the_answer_is_one_and_the_same() {
        for pairs in [
            &[][..],
            &CLIENT,
            &[CLIENT[0], CLIENT[1], ("token", "")],
            &[("token", "t")],
            &[("token", "t"), CLIENT[0]],
        ] {
            let found = check(None, pairs).map(|_| ());
            assert_eq!(found, Err(OAuthError::UnauthorizedRevocation), "{pairs:?}");
        }
    }

    // Attack 76.
    #[test]
    fn a_request_that_is_wrong_in_itself_is_told_so() {
        let pairs = [CLIENT[0], CLIENT[1], ("token", "t")];
        let both = check(Some("Basic YTpz"), &pairs).map(|_| ());
        assert_eq!(both, Err(OAuthError::TwoAuthentications));
        let twice = check(None, &[&pairs[..], &[("token", "t")]].concat()).map(|_| ());
        assert_eq!(twice, Err(OAuthError::Repeated(Parameter::Token)));
    }
}
