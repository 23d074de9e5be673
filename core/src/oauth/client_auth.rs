//! Client authentication: HTTP Basic, or client id and secret in the body, but not both (RFC
//! 6749, section 2.3.1).

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
use jiff::Timestamp;
use strum::{Display, IntoStaticStr};

use super::client::{AuthMethod, ClientProperties, ClientSecrets};
use super::error::OAuthError;
use super::issuer_policy::IssuerPolicy;
use super::parameter::Parameter;
use super::parameters::Parameters;
use crate::percent::decode_lenient;
use crate::secret::{Secret, SplitToken};

/// The credentials that a client sent, not yet verified.
#[derive(Debug, Clone)]
pub struct Credentials {
    pub client_id: String,
    /// `None` if the client is public.
    pub client_secret: Option<Secret>,
}

/// The reason credentials are rejected, for the log and the audit trail. The response is the same
/// for all reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, IntoStaticStr)]
pub enum ClientAuthError {
    #[strum(serialize = "unknown client")]
    UnknownClient,
    #[strum(serialize = "wrong secret")]
    WrongSecret,
    #[strum(serialize = "the app may not use a secret")]
    SecretNotAllowed,
    #[strum(serialize = "the app has a secret and did not send it")]
    MissingSecret,
    #[strum(serialize = "the app is disabled")]
    AppDisabled,
}

impl Credentials {
    /// Parses the credentials of a request from its `Authorization` header and its body. A header
    /// with a scheme other than Basic is ignored.
    ///
    /// # Errors
    /// If credentials are missing or malformed ([`OAuthError::MissingOrMalformedCredentials`]), are
    /// in both places or contain two different client ids ([`OAuthError::MultipleAuthMethods`]), or
    /// if a parameter is repeated or is a list, such as a JSON array.
    pub fn parse(
        policy: &IssuerPolicy,
        authorization: Option<&[u8]>,
        parameters: Parameters<'_>,
    ) -> Result<Self, OAuthError> {
        let client_id = parameters.optional(Parameter::ClientId)?;
        let client_secret = parameters.optional(Parameter::ClientSecret)?;
        let Some(encoded_credentials) = authorization.and_then(parse_basic) else {
            let client_id = client_id.ok_or(OAuthError::MissingOrMalformedCredentials)?;
            if client_secret.is_none() && !policy.auth_methods.contains(&AuthMethod::None) {
                return Err(OAuthError::MissingOrMalformedCredentials);
            }
            let client_id = client_id.to_owned();
            return Ok(Self { client_id, client_secret: client_secret.map(Secret::new) });
        };
        if client_secret.is_some() {
            return Err(OAuthError::MultipleAuthMethods);
        }
        let credentials = decode_credentials(encoded_credentials)
            .ok_or(OAuthError::MissingOrMalformedCredentials)?;
        if client_id.is_some_and(|client_id| client_id != credentials.client_id) {
            return Err(OAuthError::MultipleAuthMethods);
        }
        Ok(credentials)
    }

    /// Verifies the secret, or that none is needed, of the app with this client id at the endpoints of an issuer.
    pub fn verify(
        &self,
        policy: &IssuerPolicy,
        secrets: &ClientSecrets,
        properties: &ClientProperties,
        disabled_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), ClientAuthError> {
        let is_correct = |secret: &Secret| {
            let secret = SplitToken::parse(secret.reveal());
            secret.is_some_and(|secret| secrets.accepts(secret.hashed_secret(), now))
        };
        let may_use = |method| properties.may_authenticate(policy, method);
        match &self.client_secret {
            Some(secret) if !is_correct(secret) => Err(ClientAuthError::WrongSecret),
            Some(_) if !may_use(AuthMethod::ClientSecret) => Err(ClientAuthError::SecretNotAllowed),
            None if !may_use(AuthMethod::None) => Err(ClientAuthError::MissingSecret),
            _ if disabled_at.is_some() => Err(ClientAuthError::AppDisabled),
            _ => Ok(()),
        }
    }
}

/// Returns the `Authorization` header of a request, if it has one. More than one is an error.
pub fn single_authorization_header<'a>(
    headers: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Option<&'a [u8]>, OAuthError> {
    let mut headers = headers.into_iter();
    let header = headers.next();
    if headers.next().is_some() { Err(OAuthError::MultipleAuthMethods) } else { Ok(header) }
}

/// Returns the text after the scheme, if that is Basic.
fn parse_basic(header: &[u8]) -> Option<&[u8]> {
    let header = header.trim_ascii();
    let end = header.iter().position(u8::is_ascii_whitespace).unwrap_or(header.len());
    let (scheme, credentials) = header.split_at(end);
    scheme.eq_ignore_ascii_case(b"basic").then(|| credentials.trim_ascii_start())
}

/// Decodes Basic credentials. Clients form-encode the client id and secret before they join them
/// with a colon, so the first colon separates them. Encoding does not change the secrets that this
/// server generates, so clients that forget to encode them work as well.
fn decode_credentials(encoded: &[u8]) -> Option<Credentials> {
    let encoded = std::str::from_utf8(encoded).ok()?;
    let bytes =
        BASE64_STANDARD.decode(encoded).or_else(|_| BASE64_STANDARD_NO_PAD.decode(encoded)).ok()?;
    let (client_id, client_secret) = std::str::from_utf8(&bytes).ok()?.split_once(':')?;
    // PostgreSQL cannot look up a string with a NUL.
    let is_usable = |text: &String| !text.is_empty() && !text.contains('\0');
    let client_id = decode_lenient(client_id).filter(is_usable)?;
    let client_secret = decode_lenient(client_secret).filter(is_usable)?;
    Some(Credentials { client_id, client_secret: Some(Secret::new(client_secret)) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::form::tests::to_pairs;
    use crate::oauth::client::{Issuer, Registrar};
    use crate::oauth::issuer_policy::{ID, MASTODON};
    use crate::percent::encode;

    fn parse(header: Option<&str>, body: &[(&str, &str)]) -> Result<(String, String), OAuthError> {
        let body = to_pairs(body);
        let credentials =
            Credentials::parse(&MASTODON, header.map(str::as_bytes), Parameters::new(&body))?;
        let secret = credentials.client_secret.expect("this issuer requires a secret");
        Ok((credentials.client_id, secret.reveal().to_owned()))
    }

    fn basic_header(credentials: &str) -> String {
        format!("Basic {}", BASE64_STANDARD.encode(credentials))
    }

    fn id_and_secret(id: &str, secret: &str) -> (String, String) {
        (id.to_owned(), secret.to_owned())
    }

    #[test]
    fn only_a_correct_secret_of_an_enabled_app_that_may_use_it_is_accepted() {
        let secret =
            |byte| SplitToken::new(Timestamp::UNIX_EPOCH, [byte; SplitToken::RANDOM_BYTES]);
        let secrets = ClientSecrets::from(secret(1).hashed_secret());
        let with_secret = ClientProperties::new(&MASTODON, Registrar::Api);
        let mut without_secret = with_secret.clone();
        without_secret.auth_method = AuthMethod::None;
        let now = Timestamp::UNIX_EPOCH;
        let verify_with = |policy, client_secret, properties: &ClientProperties, disabled_at| {
            let credentials = Credentials { client_id: "a".to_owned(), client_secret };
            credentials.verify(policy, &secrets, properties, disabled_at, now)
        };
        let verify = |presented: &str, properties: &ClientProperties, disabled_at| {
            verify_with(&MASTODON, Some(Secret::new(presented)), properties, disabled_at)
        };
        let correct = secret(1);
        let wrong = secret(2);
        assert_eq!(verify(correct.reveal(), &with_secret, None), Ok(()));
        for wrong in [wrong.reveal(), "malformed"] {
            let result = verify(wrong, &without_secret, Some(now));
            assert_eq!(result, Err(ClientAuthError::WrongSecret), "reported first");
        }
        let result = verify(correct.reveal(), &without_secret, Some(now));
        assert_eq!(result, Err(ClientAuthError::SecretNotAllowed));
        let result = verify(correct.reveal(), &with_secret, Some(now));
        assert_eq!(result, Err(ClientAuthError::AppDisabled));

        // A public client needs none, a confidential one does, each only with its own issuer.
        let public = ClientProperties { issuer: Issuer::Id, ..without_secret };
        let confidential = ClientProperties { issuer: Issuer::Id, ..with_secret };
        for (policy, properties, disabled_at, expected) in [
            (&ID, &public, None, Ok(())),
            (&ID, &public, Some(now), Err(ClientAuthError::AppDisabled)),
            (&ID, &confidential, None, Err(ClientAuthError::MissingSecret)),
            (&MASTODON, &public, None, Err(ClientAuthError::MissingSecret)),
        ] {
            assert_eq!(verify_with(policy, None, properties, disabled_at), expected);
        }
    }

    #[test]
    fn a_second_authorization_header_is_rejected() {
        let find_header = |headers: &[&'static str]| {
            single_authorization_header(headers.iter().map(|header| header.as_bytes()))
        };
        assert_eq!(find_header(&[]), Ok(None));
        assert_eq!(find_header(&["Basic YTpz"]), Ok(Some(&b"Basic YTpz"[..])));
        for second in ["Basic YTpz", "Basic Yjpz", "Bearer x", ""] {
            let result = find_header(&["Basic YTpz", second]);
            assert_eq!(result, Err(OAuthError::MultipleAuthMethods), "{second}");
        }
    }

    #[test]
    fn basic_credentials_are_parsed_in_every_spelling() {
        for (header, id, secret) in [
            (basic_header("a:s"), "a", "s"),
            (basic_header("a:s").replace("Basic", "basic"), "a", "s"),
            (basic_header("a:s").replace("Basic ", "BASIC   "), "a", "s"),
            (basic_header("a:st").replace('=', ""), "a", "st"),
            (basic_header("a:b:c"), "a", "b:c"),
            (basic_header("x%2Dy%5fz:%3A+%C3%A9"), "x-y_z", ": é"),
            (basic_header("a:100%"), "a", "100%"),
            // The example of RFC 6749, section 2.3.1.
            ("Basic czZCaGRSa3F0MzpnWDFmQmF0M2JW".to_owned(), "s6BhdRkqt3", "gX1fBat3bV"),
        ] {
            assert_eq!(parse(Some(&header), &[]), Ok(id_and_secret(id, secret)), "{header}");
        }
    }

    // RFC 6749, section 2.3.
    #[test]
    fn credentials_are_in_the_header_or_the_body() {
        const BODY: [(&str, &str); 2] = [("client_id", "a"), ("client_secret", "s:+%20")];
        let accepted = |id: &str, secret: &str| Ok(id_and_secret(id, secret));
        let malformed = || Err(OAuthError::MissingOrMalformedCredentials);
        let multiple = || Err(OAuthError::MultipleAuthMethods);
        let basic = basic_header("a%2Db:s");
        let basic = Some(&*basic);
        let equal = basic_header("a:s:+%20");
        for (header, body, expected) in [
            (None, &BODY[..], accepted("a", "s:+%20")),
            (None, &[], malformed()),
            (None, &BODY[..1], malformed()),
            (None, &BODY[1..], malformed()),
            (None, &[BODY[0], ("client_secret", "")], malformed()),
            (None, &[BODY[0], BODY[0], BODY[1]], Err(OAuthError::Repeated(Parameter::ClientId))),
            (Some(&*equal), &BODY, multiple()),
            (Some("Basic ?"), &BODY, multiple()),
            (basic, &BODY[1..], multiple()),
            (basic, &[("client_id", "a-b")], accepted("a-b", "s")),
            (basic, &[("client_id", "")], accepted("a-b", "s")),
            (basic, &[("client_id", "b")], multiple()),
            (basic, &[("client_id", "a%2Db")], multiple()),
            (basic, &[("client_id", "A-B")], multiple()),
            // Other schemes are ignored.
            (Some("Bearer abc"), &BODY, accepted("a", "s:+%20")),
            (Some("Basicabc"), &BODY, accepted("a", "s:+%20")),
            (Some("Digest x"), &[], malformed()),
            (Some(""), &[], malformed()),
        ] {
            assert_eq!(parse(header, body), expected, "{header:?} {body:?}");
        }
        for header in [
            "Basic",
            "Basic ",
            "Basic ?",
            "Basic YQ==",      // no colon
            "Basic YTpz YTpz", // two values
            "Basic /zp6",      // not UTF-8
        ] {
            assert_eq!(parse(Some(header), &[]), malformed(), "{header}");
        }
        for credentials in ["a:%ff", ":s", "a:", ":", "a\0:s", "a:%00"] {
            assert_eq!(parse(Some(&basic_header(credentials)), &[]), malformed(), "{credentials}");
        }
    }

    proptest! {
        #[test]
        fn parsing_a_header_never_panics(
            header in prop::collection::vec(any::<u8>(), 0..60),
            is_basic in any::<bool>(),
        ) {
            let header = if is_basic { [b"Basic ", &*header].concat() } else { header };
            let _ = Credentials::parse(&MASTODON, Some(&header), Parameters::new(&[]));
        }

        #[test]
        fn encoded_credentials_are_decoded_unchanged(id in "[^\0]+", secret in "[^\0]+") {
            let header = basic_header(&format!("{}:{}", encode(&id), encode(&secret)));
            prop_assert_eq!(parse(Some(&header), &[]), Ok((id, secret)));
        }
    }
}
