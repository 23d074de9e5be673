//! The token request, checked as a whole.

use super::client_auth::Credentials;
use super::error::OAuthError;
use super::parameter::Parameter;
use super::parameters::Parameters;
use crate::secret::Secret;

/// A token request of which every part is there.
#[derive(Debug, Clone)]
pub struct TokenRequest {
    /// The client that says it asks.
    pub credentials: Credentials,
    /// What it asks for.
    pub grant: GrantRequest,
}

/// What a client asks for, by its grant type.
#[derive(Debug, Clone)]
pub enum GrantRequest {
    /// `authorization_code`: a token of the user who agreed.
    AuthorizationCode {
        /// The code that the client was sent.
        code: Secret,
        /// The redirect URI that it was sent to.
        redirect_uri: String,
        /// The proof that this client asked for it.
        verifier: Option<Secret>,
    },
    /// `client_credentials`: a token of the app itself.
    ClientCredentials {
        /// The scopes as they were sent; they are judged by the app that turns out to ask.
        scope: Option<String>,
    },
}

impl TokenRequest {
    /// Checks a request by its `Authorization` header and its body.
    ///
    /// # Errors
    /// The first thing that is wrong: the request itself before the client that sends it.
    pub fn parse(
        authorization: Option<&[u8]>,
        parameters: Parameters<'_>,
    ) -> Result<Self, OAuthError> {
        const KNOWN: [Parameter; 7] = [
            Parameter::GrantType,
            Parameter::Code,
            Parameter::ClientId,
            Parameter::ClientSecret,
            Parameter::RedirectUri,
            Parameter::CodeVerifier,
            Parameter::Scope,
        ];
        for parameter in KNOWN {
            parameters.optional(parameter)?;
        }
        match parameters.required(Parameter::GrantType)? {
            "authorization_code" => {
                let code = parameters.required(Parameter::Code)?;
                let credentials = Credentials::parse(authorization, parameters);
                // What the request contradicts in itself is told before its client is judged.
                if let Err(OAuthError::TwoAuthentications) = credentials {
                    return Err(OAuthError::TwoAuthentications);
                }
                let redirect_uri = parameters.required(Parameter::RedirectUri)?.to_owned();
                let verifier = parameters.optional(Parameter::CodeVerifier)?.map(Secret::new);
                let grant = GrantRequest::AuthorizationCode {
                    code: Secret::new(code),
                    redirect_uri,
                    verifier,
                };
                Ok(Self { credentials: credentials?, grant })
            }
            "client_credentials" => {
                let credentials = Credentials::parse(authorization, parameters)?;
                let scope = parameters.optional(Parameter::Scope)?.map(str::to_owned);
                Ok(Self { credentials, grant: GrantRequest::ClientCredentials { scope } })
            }
            _ => Err(OAuthError::UnsupportedGrantType),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CLIENT: [(&str, &str); 2] = [("client_id", "a"), ("client_secret", "s")];
    const CODE: [(&str, &str); 3] =
        [("grant_type", "authorization_code"), ("code", "c"), ("redirect_uri", "https://a/cb")];
    const APP: (&str, &str) = ("grant_type", "client_credentials");

    fn check(pairs: &[(&str, &str)]) -> Result<TokenRequest, OAuthError> {
        check_with(None, pairs)
    }

    fn check_with(
        header: Option<&str>,
        pairs: &[(&str, &str)],
    ) -> Result<TokenRequest, OAuthError> {
        let pairs: Vec<_> = pairs.iter().map(|&(n, v)| (n.to_owned(), v.to_owned())).collect();
        TokenRequest::parse(header.map(str::as_bytes), Parameters::new(&pairs))
    }

    #[test]
    fn a_code_is_brought_with_its_redirect_uri_and_verifier() {
        let request =
            check(&[&CODE[..], &CLIENT, &[("code_verifier", "v"), ("scope", "read")]].concat());
        let request = request.unwrap();
        assert_eq!(request.credentials.client_id, "a");
        // Attack 59: a scope is of no effect here.
        let GrantRequest::AuthorizationCode { code, redirect_uri, verifier } = request.grant else {
            panic!("a code was brought");
        };
        assert_eq!((code.reveal(), redirect_uri.as_str()), ("c", "https://a/cb"));
        assert_eq!(verifier.unwrap().reveal(), "v");
    }

    #[test]
    fn an_app_asks_for_itself_with_or_without_scopes() {
        for (more, asked) in [
            (&[][..], None),
            (&[("scope", "read write")], Some("read write")),
            (&[("scope", "")], None),
            // Not needed for this grant, and not looked at.
            (&[("redirect_uri", "nonsense"), ("code", "c")], None),
        ] {
            let request = check(&[&[APP][..], &CLIENT, more].concat()).unwrap();
            let GrantRequest::ClientCredentials { scope } = request.grant else {
                panic!("no code was brought")
            };
            assert_eq!(scope.as_deref(), asked);
        }
    }

    // Attack 56.
    #[test]
    fn any_other_grant_type_is_refused() {
        for wrong in [
            "password",
            "refresh_token",
            "implicit",
            "Authorization_Code",
            "authorization_code ",
            "urn:ietf:params:oauth:grant-type:jwt-bearer",
        ] {
            let found = check(&[&[("grant_type", wrong)][..], &CLIENT].concat());
            assert_eq!(found.map(|_| ()), Err(OAuthError::UnsupportedGrantType), "{wrong}");
        }
        for missing in [&[][..], &[("grant_type", "")]] {
            let found = check(&[missing, &CLIENT].concat()).map(|_| ());
            assert_eq!(found, Err(OAuthError::Missing(Parameter::GrantType)));
        }
    }

    #[test]
    fn what_is_wrong_first_is_told() {
        let grant_type = CODE[0];
        for (header, pairs, refusal) in [
            (None, vec![], OAuthError::Missing(Parameter::GrantType)),
            (None, vec![grant_type], OAuthError::Missing(Parameter::Code)),
            (None, vec![grant_type, ("code", "")], OAuthError::Missing(Parameter::Code)),
            (
                Some("Basic YTpz"),
                vec![grant_type, CODE[1], CLIENT[1]],
                OAuthError::TwoAuthentications,
            ),
            (None, vec![grant_type, CODE[1]], OAuthError::Missing(Parameter::RedirectUri)),
            (None, CODE.to_vec(), OAuthError::InvalidClient),
            (Some("Basic ?"), CODE.to_vec(), OAuthError::InvalidClient),
            (None, vec![APP], OAuthError::InvalidClient),
            (None, vec![APP, ("scope", "nope")], OAuthError::InvalidClient),
            (Some("Basic YTpz"), vec![APP, CLIENT[1]], OAuthError::TwoAuthentications),
        ] {
            let found = check_with(header, &pairs).map(|_| ());
            assert_eq!(found, Err(refusal), "{pairs:?}");
        }
    }

    #[test]
    fn basic_serves_as_well_as_the_body() {
        assert_eq!(check_with(Some("Basic YTpz"), &CODE).unwrap().credentials.client_id, "a");
        assert_eq!(check_with(Some("Basic YTpz"), &[APP]).unwrap().credentials.client_id, "a");
    }

    #[test]
    fn a_known_parameter_twice_is_refused() {
        for (name, parameter) in [
            ("grant_type", Parameter::GrantType), // attack 56
            ("code", Parameter::Code),
            ("client_id", Parameter::ClientId),
            ("client_secret", Parameter::ClientSecret),
            ("redirect_uri", Parameter::RedirectUri),
            ("code_verifier", Parameter::CodeVerifier),
            ("scope", Parameter::Scope),
        ] {
            let found = check(&[&CODE[..], &CLIENT, &[(name, "x"), (name, "x")]].concat());
            assert_eq!(found.map(|_| ()), Err(OAuthError::Repeated(parameter)), "{name}");
        }
        // Attack 27.
        let found = check(&[&[APP][..], &CLIENT, &[("scope[a]", "b")]].concat());
        assert_eq!(found.map(|_| ()), Err(OAuthError::NotOneValue(Parameter::Scope)));
    }

    #[test]
    fn unknown_parameters_are_ignored_however_often_they_come() {
        let unknown = vec![("resource", "x"); 1000];
        assert!(check(&[&CODE[..], &CLIENT, &unknown].concat()).is_ok());
    }

    #[test]
    fn a_request_is_printed_without_its_secrets() {
        let pairs = [CODE[0], ("code", "hidden"), CODE[2], ("code_verifier", "hidden")];
        let client = [("client_id", "a"), ("client_secret", "hidden")];
        let request = check(&[&pairs[..], &client].concat()).unwrap();
        assert!(!format!("{request:?}").contains("hidden"));
    }

    proptest! {
        #[test]
        fn any_pairs_are_answered(
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
            let pairs: Vec<(&str, &str)> = pairs.iter().map(|(n, v)| (*n, v.as_str())).collect();
            let _ = check_with(header.as_deref(), &pairs);
        }
    }
}
