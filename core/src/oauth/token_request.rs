//! The token request (RFC 6749, sections 4.1.3 and 4.4.2).

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
    ClientCredentials {
        /// The requested scopes, resolved once the app is known.
        scope: Option<String>,
    },
}

impl TokenRequestKind {
    pub fn grant_type(&self) -> GrantType {
        match self {
            Self::AuthorizationCode { .. } => GrantType::AuthorizationCode,
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
                let credentials = Credentials::parse(authorization, parameters);
                // A contradictory request is reported before a missing redirect URI.
                if let Err(OAuthError::MultipleAuthMethods) = credentials {
                    return Err(OAuthError::MultipleAuthMethods);
                }
                let redirect_uri = parameters.required(RedirectUri)?.to_owned();
                let verifier = parameters.optional(CodeVerifier)?.map(Secret::new);
                let kind = TokenRequestKind::AuthorizationCode { code, redirect_uri, verifier };
                Ok(Self { credentials: credentials?, kind })
            }
            GrantType::ClientCredentials => {
                let credentials = Credentials::parse(authorization, parameters)?;
                let scope = parameters.optional(Scope)?.map(str::to_owned);
                Ok(Self { credentials, kind: TokenRequestKind::ClientCredentials { scope } })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::form::tests::to_pairs;
    use crate::oauth::issuer_policy::MASTODON;

    const CLIENT_CREDENTIALS: [(&str, &str); 2] = [("client_id", "a"), ("client_secret", "s")];
    const CODE_GRANT: [(&str, &str); 3] =
        [("grant_type", "authorization_code"), ("code", "c"), ("redirect_uri", "https://a/cb")];
    const APP_GRANT: (&str, &str) = ("grant_type", "client_credentials");

    fn parse(pairs: &[(&str, &str)]) -> Result<TokenRequest, OAuthError> {
        parse_with_header(None, pairs)
    }

    fn parse_with_header(
        header: Option<&str>,
        pairs: &[(&str, &str)],
    ) -> Result<TokenRequest, OAuthError> {
        TokenRequest::parse(&MASTODON, header.map(str::as_bytes), Parameters::new(&to_pairs(pairs)))
    }

    #[test]
    fn a_code_is_parsed_with_its_redirect_uri_and_verifier() {
        let extra_pairs = [("code_verifier", "v"), ("scope", "read")];
        let request =
            parse(&[&CODE_GRANT[..], &CLIENT_CREDENTIALS, &extra_pairs].concat()).unwrap();
        assert_eq!(request.credentials.client_id, "a");
        // The scope parameter has no effect here.
        let TokenRequestKind::AuthorizationCode { code, redirect_uri, verifier } = request.kind
        else {
            panic!("expected a code");
        };
        assert_eq!((code.reveal(), redirect_uri.as_str()), ("c", "https://a/cb"));
        assert_eq!(verifier.unwrap().reveal(), "v");
    }

    #[test]
    fn client_credentials_may_have_scopes() {
        for (extra_pairs, expected) in [
            (&[][..], None),
            (&[("scope", "read write")], Some("read write")),
            (&[("scope", "")], None),
            // Not used by this grant type.
            (&[("redirect_uri", "nonsense"), ("code", "c")], None),
        ] {
            let request =
                parse(&[&[APP_GRANT][..], &CLIENT_CREDENTIALS, extra_pairs].concat()).unwrap();
            let TokenRequestKind::ClientCredentials { scope } = request.kind else {
                panic!("expected client credentials")
            };
            assert_eq!(scope.as_deref(), expected);
        }
    }

    #[test]
    fn other_grant_types_are_rejected() {
        for grant_type in [
            "password",
            "refresh_token",
            "implicit",
            "Authorization_Code",
            "authorization_code ",
            "urn:ietf:params:oauth:grant-type:jwt-bearer",
        ] {
            let result = parse(&[&[("grant_type", grant_type)][..], &CLIENT_CREDENTIALS].concat());
            assert_eq!(result.map(|_| ()), Err(OAuthError::UnsupportedGrantType), "{grant_type}");
        }
        for pairs in [&[][..], &[("grant_type", "")]] {
            let result = parse(&[pairs, &CLIENT_CREDENTIALS].concat()).map(|_| ());
            assert_eq!(result, Err(OAuthError::Missing(Parameter::GrantType)));
        }
    }

    #[test]
    fn the_first_error_is_reported() {
        let grant_type = CODE_GRANT[0];
        for (header, pairs, error) in [
            (None, vec![], OAuthError::Missing(Parameter::GrantType)),
            (None, vec![grant_type], OAuthError::Missing(Parameter::Code)),
            (None, vec![grant_type, ("code", "")], OAuthError::Missing(Parameter::Code)),
            (
                Some("Basic YTpz"),
                vec![grant_type, CODE_GRANT[1], CLIENT_CREDENTIALS[1]],
                OAuthError::MultipleAuthMethods,
            ),
            (None, vec![grant_type, CODE_GRANT[1]], OAuthError::Missing(Parameter::RedirectUri)),
            (None, CODE_GRANT.to_vec(), OAuthError::MissingOrMalformedCredentials),
            (Some("Basic ?"), CODE_GRANT.to_vec(), OAuthError::MissingOrMalformedCredentials),
            (None, vec![APP_GRANT], OAuthError::MissingOrMalformedCredentials),
            (None, vec![APP_GRANT, ("scope", "nope")], OAuthError::MissingOrMalformedCredentials),
            (
                Some("Basic YTpz"),
                vec![APP_GRANT, CLIENT_CREDENTIALS[1]],
                OAuthError::MultipleAuthMethods,
            ),
        ] {
            let result = parse_with_header(header, &pairs).map(|_| ());
            assert_eq!(result, Err(error), "{pairs:?}");
        }
    }

    #[test]
    fn a_repeated_parameter_is_rejected() {
        for (name, parameter) in [
            ("grant_type", Parameter::GrantType),
            ("code", Parameter::Code),
            ("client_id", Parameter::ClientId),
            ("client_secret", Parameter::ClientSecret),
            ("redirect_uri", Parameter::RedirectUri),
            ("code_verifier", Parameter::CodeVerifier),
            ("scope", Parameter::Scope),
        ] {
            let result = parse(
                &[&CODE_GRANT[..], &CLIENT_CREDENTIALS, &[(name, "x"), (name, "x")]].concat(),
            );
            assert_eq!(result.map(|_| ()), Err(OAuthError::Repeated(parameter)), "{name}");
        }
        let result = parse(&[&[APP_GRANT][..], &CLIENT_CREDENTIALS, &[("scope[a]", "b")]].concat());
        assert_eq!(result.map(|_| ()), Err(OAuthError::NotScalar(Parameter::Scope)));
    }

    #[test]
    fn unknown_parameters_are_ignored_even_when_repeated() {
        let unknown_pairs = vec![("resource", "x"); 1000];
        assert!(parse(&[&CODE_GRANT[..], &CLIENT_CREDENTIALS, &unknown_pairs].concat()).is_ok());
    }

    #[test]
    fn the_debug_output_contains_no_secrets() {
        let pairs = [CODE_GRANT[0], ("code", "hidden"), CODE_GRANT[2], ("code_verifier", "hidden")];
        let client = [("client_id", "a"), ("client_secret", "hidden")];
        let request = parse(&[&pairs[..], &client].concat()).unwrap();
        assert!(!format!("{request:?}").contains("hidden"));
    }

    proptest! {
        #[test]
        fn parsing_never_panics(
            pairs in prop::collection::vec((
                prop::sample::select(vec![
                    "grant_type", "code", "client_id", "client_secret", "redirect_uri", "scope",
                    "code_verifier", "scope[]", "x",
                ]),
                prop_oneof![
                    any::<String>(),
                    Just("authorization_code".into()),
                    Just("client_credentials".into()),
                ],
            ), 0..12),
            header in prop::option::of(any::<String>()),
        ) {
            let pairs: Vec<(&str, &str)> =
                pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let _ = parse_with_header(header.as_deref(), &pairs);
        }
    }
}
