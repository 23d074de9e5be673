use proptest::prelude::*;

use super::*;
use crate::form::tests::to_pairs;
use crate::oauth::app::AppRegistration;
use crate::oauth::client::{ClientProperties, Registrar};
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
    let request = parse(&[&CODE_GRANT[..], &CLIENT_CREDENTIALS, &extra_pairs].concat()).unwrap();
    assert_eq!(request.credentials.client_id, "a");
    // The scope parameter has no effect here.
    let TokenRequestKind::AuthorizationCode { code, redirect_uri, verifier } = request.kind else {
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
        let result =
            parse(&[&CODE_GRANT[..], &CLIENT_CREDENTIALS, &[(name, "x"), (name, "x")]].concat());
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

fn parse_revocation(
    header: Option<&str>,
    pairs: &[(&str, &str)],
) -> Result<ClientTokenRequest, OAuthError> {
    let header = header.map(str::as_bytes);
    ClientTokenRequest::parse(&MASTODON, header, Parameters::new(&to_pairs(pairs)))
}

// Required by RFC 7662, section 2.1, to prevent token scanning.
#[test]
fn missing_credentials_are_reported_before_a_missing_token() {
    let parse = |pairs: &[(&str, &str)]| {
        let pairs = to_pairs(pairs);
        let request = ClientTokenRequest::parse(&MASTODON, None, Parameters::new(&pairs));
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
    let two_tokens = parse_revocation(None, &[&pairs[..], &[("token", "t")]].concat()).map(|_| ());
    assert_eq!(two_tokens, Err(OAuthError::Repeated(Parameter::Token)));
}
