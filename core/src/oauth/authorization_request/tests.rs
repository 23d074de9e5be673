//! Tests of parsing authorization requests.

mod next_step;

use proptest::prelude::*;

use super::*;
use crate::form::tests::to_pairs;
use crate::oauth::app::AppDetails;
use crate::oauth::client::{ClientProperties, Issuer, Registrar};
use crate::oauth::issuer_policy::MASTODON;
use crate::oauth::redirect::{OOB, RedirectUri};

const CALLBACK: &str = "https://a.example/cb";
const USER: Option<Role> = Some(Role::User);
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

fn app() -> App {
    app_with(&[CALLBACK], "read write")
}

fn app_with(redirect_uris: &[&str], scopes: &str) -> App {
    let details = AppDetails {
        name: "A".to_owned(),
        website: None,
        redirect_uris: redirect_uris.iter().map(|uri| RedirectUri::new(*uri).unwrap()).collect(),
        scopes: scopes.parse().unwrap(),
    };
    App {
        id: 7,
        client_id: "a".into(),
        details,
        properties: ClientProperties::new(&MASTODON, Registrar::Api),
    }
}

/// Returns the pairs of a valid request, followed by `extra_pairs`.
fn valid_request_pairs(extra_pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let required = [("response_type", "code"), ("client_id", "a"), ("redirect_uri", CALLBACK)];
    to_pairs(&[&required, extra_pairs].concat())
}

fn parse(pairs: &[(String, String)]) -> Result<AuthorizationRequest, OAuthError> {
    AuthorizationRequest::parse(&MASTODON, Parameters::new(pairs), Some(&app()))
}

fn parse_request(extra_pairs: &[(&str, &str)]) -> AuthorizationRequest {
    parse(&valid_request_pairs(extra_pairs)).unwrap()
}

/// Returns the error of the requested grant, which is sent to the app.
fn grant_error(extra_pairs: &[(&str, &str)]) -> OAuthError {
    parse_request(extra_pairs).grant.unwrap_err()
}

#[test]
fn an_issuer_may_require_pkce() {
    let policy = IssuerPolicy { requires_pkce: true, ..MASTODON };
    let pkce_pairs = [("code_challenge", CHALLENGE), ("code_challenge_method", "S256")];
    for (extra_pairs, error) in [
        (&pkce_pairs[..], None),
        (&[], Some(OAuthError::Missing(Parameter::CodeChallenge))),
        (&[("scope", "nope")], Some(OAuthError::UnknownScope("nope".into()))),
    ] {
        let pairs = valid_request_pairs(extra_pairs);
        let request = AuthorizationRequest::parse(&policy, Parameters::new(&pairs), Some(&app()));
        assert_eq!(request.unwrap().grant.err(), error, "{extra_pairs:?}");
    }
}

#[test]
fn a_minimal_request_is_parsed() {
    let request = parse_request(&[]);
    assert_eq!(request.app_id, 7);
    assert_eq!(request.target.redirect_uri.as_str(), CALLBACK);
    assert_eq!(request.target.mode, ResponseMode::Query);
    assert_eq!(request.target.state, None);
    let grant = request.grant.unwrap();
    assert_eq!((grant.scopes.to_string().as_str(), grant.challenge), ("read", None));
    assert!(!request.force_login);
    assert_eq!(request.lang, None);
}

#[test]
fn every_parameter_is_parsed() {
    let request = parse_request(&[
        ("scope", "write:statuses read"),
        ("state", "s"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("force_login", "true"),
        ("lang", "de"),
        ("response_mode", "form_post"),
    ]);
    let grant = request.grant.unwrap();
    assert_eq!(grant.scopes.to_string(), "write:statuses read");
    assert_eq!(grant.challenge, Sha256Digest::from_text(CHALLENGE));
    assert_eq!(request.target.state.as_deref(), Some("s"));
    assert_eq!(request.target.mode, ResponseMode::FormPost);
    assert!(request.force_login);
    assert_eq!(request.lang.as_deref(), Some("de"));
}

#[test]
fn a_request_has_one_client_id() {
    for (pairs, expected) in [
        (vec![("client_id", "a")], Ok("a")),
        (vec![], Err(OAuthError::Missing(Parameter::ClientId))),
        (vec![("client_id", "")], Err(OAuthError::Missing(Parameter::ClientId))),
        (
            vec![("client_id", "a"), ("client_id", "a")],
            Err(OAuthError::Repeated(Parameter::ClientId)),
        ),
        (vec![("client_id[]", "a")], Err(OAuthError::NotScalar(Parameter::ClientId))),
    ] {
        let pairs = to_pairs(&pairs);
        let client_id = Parameters::new(&pairs).required(Parameter::ClientId);
        assert_eq!(client_id, expected, "{pairs:?}");
    }
}

#[test]
fn an_unknown_client_is_rejected() {
    let pairs = valid_request_pairs(&[]);
    let result = AuthorizationRequest::parse(&MASTODON, Parameters::new(&pairs), None);
    assert_eq!(result, Err(OAuthError::UnknownClient));
}

// RFC 6749, section 4.1.2.1: such an error must not be redirected.
#[test]
fn an_invalid_redirect_uri_is_rejected_before_everything_else() {
    for (uris, error) in [
        (vec![], OAuthError::Missing(Parameter::RedirectUri)),
        (vec![("redirect_uri", "")], OAuthError::Missing(Parameter::RedirectUri)),
        (vec![("redirect_uri", CALLBACK); 2], OAuthError::Repeated(Parameter::RedirectUri)),
        (vec![("redirect_uri[]", CALLBACK)], OAuthError::NotScalar(Parameter::RedirectUri)),
        (vec![("redirect_uri", "https://evil.example/cb")], OAuthError::InvalidRedirectUri),
        (vec![("redirect_uri", "https://a.example/cb/")], OAuthError::InvalidRedirectUri),
        (vec![("redirect_uri", "urn:ietf:wg:oauth:2.0:oob")], OAuthError::InvalidRedirectUri),
        (vec![("redirect_uri", "https://a.example/cb\r\nX: y")], OAuthError::InvalidRedirectUri),
    ] {
        let pairs = to_pairs(&[&[("client_id", "a"), ("response_type", "token")], &*uris].concat());
        assert_eq!(parse(&pairs), Err(error), "{pairs:?}");
    }
}

#[test]
fn the_only_response_type_is_code() {
    let required = [("client_id", "a"), ("redirect_uri", CALLBACK)];
    let grant = parse(&to_pairs(&required)).unwrap().grant;
    assert_eq!(grant, Err(OAuthError::Missing(Parameter::ResponseType)));
    for response_type in ["token", "id_token", "code token", "Code", "code ", " code", "none"] {
        let pairs = to_pairs(&[&required[..], &[("response_type", response_type)]].concat());
        let grant = parse(&pairs).unwrap().grant;
        assert_eq!(grant, Err(OAuthError::UnsupportedResponseType), "{response_type}");
    }
}

#[test]
fn an_unknown_response_mode_is_reported_in_the_query() {
    for mode in ["query.jwt", "web_message", "Query"] {
        let request = parse_request(&[("response_mode", mode)]);
        assert_eq!(request.grant, Err(OAuthError::UnsupportedResponseMode), "{mode}");
        assert_eq!(request.target.mode, ResponseMode::Query);
    }
    let fragment_request = parse_request(&[("response_mode", "fragment"), ("scope", "nope")]);
    assert_eq!(fragment_request.target.mode, ResponseMode::Fragment);
    assert_eq!(fragment_request.grant, Err(OAuthError::UnknownScope("nope".into())));
}

#[test]
fn unregistered_unknown_and_malformed_scopes_are_rejected() {
    for scope in
        ["push", "read push", "admin:read", "nope", "read  write", "read\twrite", "\0", "\"read\""]
    {
        assert_eq!(grant_error(&[("scope", scope)]).code(), "invalid_scope", "{scope:?}");
    }
    for name in ["scope[]", "scope[a]"] {
        assert_eq!(grant_error(&[(name, "read")]), OAuthError::NotScalar(Parameter::Scope));
    }
}

// RFC 7636, section 4.4.1.
#[test]
fn a_challenge_must_be_well_formed_and_use_the_method_s256() {
    let challenge = ("code_challenge", CHALLENGE);
    assert_eq!(grant_error(&[challenge]), OAuthError::InvalidChallengeMethod);
    for method in ["", "plain", "s256", "S512", "S256 "] {
        let error = grant_error(&[challenge, ("code_challenge_method", method)]);
        assert_eq!(error, OAuthError::InvalidChallengeMethod, "{method}");
    }
    for challenge in ["short", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM"] {
        let pairs = [("code_challenge", challenge), ("code_challenge_method", "S256")];
        assert_eq!(grant_error(&pairs), OAuthError::InvalidChallenge, "{challenge}");
    }
    // A method without a challenge has no effect.
    assert_eq!(parse_request(&[("code_challenge_method", "S256")]).grant.unwrap().challenge, None);
}

#[test]
fn a_state_is_accepted_up_to_its_maximum_length() {
    for state in ["a&b#c\"d'é🔔\r\n\0", "None", &"s".repeat(MAX_STATE_LENGTH)] {
        let request = parse_request(&[("state", state)]);
        assert_eq!(request.target.state.as_deref(), Some(state));
        assert!(request.grant.is_ok());
    }
    let long_state_request = parse_request(&[("state", &"s".repeat(MAX_STATE_LENGTH + 1))]);
    assert_eq!(long_state_request.grant, Err(OAuthError::StateTooLong));
    assert_eq!(long_state_request.target.state, None);
    assert_eq!(parse_request(&[("state", "")]).target.state, None);
}

#[test]
fn a_repeated_parameter_is_reported_to_the_app() {
    for (name, value, parameter) in [
        ("response_type", "code", Parameter::ResponseType),
        ("response_mode", "query", Parameter::ResponseMode),
        ("scope", "read", Parameter::Scope),
        ("state", "s", Parameter::State),
        ("code_challenge", CHALLENGE, Parameter::CodeChallenge),
        ("code_challenge_method", "S256", Parameter::CodeChallengeMethod),
        ("force_login", "true", Parameter::ForceLogin),
        ("lang", "de", Parameter::Lang),
    ] {
        let error = grant_error(&[(name, value), (name, value)]);
        assert_eq!(error, OAuthError::Repeated(parameter), "{name}");
    }
    let request = parse_request(&[("scope", "read"), ("scope", "write"), ("state", "s")]);
    assert_eq!(request.target.state.as_deref(), Some("s"));
}

#[test]
fn unknown_parameters_are_ignored_even_when_repeated() {
    let pairs = vec![("nonce", "n"); 1000];
    assert!(parse_request(&pairs).grant.is_ok());
}

#[test]
fn the_first_error_is_reported() {
    let invalid_pairs = [
        ("response_mode", "nope"),
        ("scope", "nope"),
        ("code_challenge", "nope"),
        ("state", &"s".repeat(MAX_STATE_LENGTH + 1)),
    ];
    let expected_errors = [
        OAuthError::UnsupportedResponseMode,
        OAuthError::UnknownScope("nope".into()),
        OAuthError::InvalidChallengeMethod,
        OAuthError::StateTooLong,
    ];
    for (index, expected) in expected_errors.into_iter().enumerate() {
        assert_eq!(grant_error(&invalid_pairs[index..]), expected);
    }
}

#[test]
fn force_login_is_parsed_leniently() {
    for value in ["", " ", "0", "false", "False", "FALSE", "f", "F", "off", "OFF", "no", "None"] {
        assert!(!parse_request(&[("force_login", value)]).force_login, "{value:?}");
    }
    for value in ["true", "True", "1", "t", "on", "yes", "force_login"] {
        assert!(parse_request(&[("force_login", value)]).force_login, "{value}");
    }
}

#[test]
fn a_malformed_language_tag_is_ignored() {
    for (text, lang) in [
        ("de", Some("de")),
        ("pt-BR", Some("pt-BR")),
        ("pt_BR", Some("pt-BR")),
        ("zh-Hant-TW", Some("zh-Hant-TW")),
        ("zz", Some("zz")),
        ("", None),
        ("None", None),
        ("d", None),
        ("../../etc", None),
        ("<script>", None),
        ("de-", None),
        ("de\0", None),
        ("дe", None),
        ("de-aaaaaaaa-aaaaaaaa-aaaaaaaa-aaaaaaaa", None),
    ] {
        assert_eq!(parse_request(&[("lang", text)]).lang.as_deref(), lang, "{text:?}");
    }
}

#[test]
fn relevant_pairs_omits_other_parameters_and_bounds_the_length() {
    let pairs = to_pairs(&[
        ("client_id", "a"),
        ("scope", "read"),
        ("scope[]", "x"),
        ("scopes", "x"),
        ("state", ""),
        ("x", "y"),
        ("lang", "de"),
    ]);
    let relevant_pairs = AuthorizationRequest::relevant_pairs(&pairs).unwrap();
    let names: Vec<&str> = relevant_pairs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["scope", "scope[]", "state", "lang"]);
    // The name `state` has 5 bytes.
    for (length, is_accepted) in [(MAX_REQUEST_LENGTH - 5, true), (MAX_REQUEST_LENGTH - 4, false)] {
        let value = "s".repeat(length);
        let pairs = to_pairs(&[("state", &value), ("unknown", &value)]);
        let result = AuthorizationRequest::relevant_pairs(&pairs);
        assert_eq!(result.is_ok(), is_accepted, "{length}");
    }
}

#[test]
fn a_client_must_have_the_code_grant_type_and_this_issuer() {
    let parse_for = |properties| {
        let app = App { properties, ..app() };
        let pairs = [("response_type", "code"), ("redirect_uri", CALLBACK)];
        AuthorizationRequest::parse(&MASTODON, Parameters::new(&to_pairs(&pairs)), Some(&app))
    };
    let default_properties = || ClientProperties::new(&MASTODON, Registrar::Api);
    assert!(parse_for(default_properties()).unwrap().grant.is_ok());
    let grant_types = vec![GrantType::ClientCredentials];
    let without_codes =
        parse_for(ClientProperties { grant_types, ..default_properties() }).unwrap();
    assert_eq!(without_codes.grant, Err(OAuthError::UnauthorizedClient));
    let with_unknown_issuer =
        parse_for(ClientProperties { issuer: Issuer::Unknown, ..default_properties() });
    assert_eq!(with_unknown_issuer, Err(OAuthError::UnknownClient));
}

proptest! {
    #[test]
    fn parsing_never_accepts_an_unregistered_redirect_uri(
        pairs in prop::collection::vec((
            prop::sample::select(vec![
                "response_type", "client_id", "redirect_uri", "scope", "scope[]", "state", "lang",
                "code_challenge", "code_challenge_method", "force_login", "response_mode", "x",
            ]),
            prop_oneof![any::<String>(), Just("code".into()), Just(CALLBACK.into())],
        ), 0..20),
    ) {
        let to_owned = |(name, value): (&str, String)| (name.to_owned(), value);
        let pairs: Vec<_> = pairs.into_iter().map(to_owned).collect();
        let _ = Parameters::new(&pairs).required(Parameter::ClientId);
        if let Ok(request) = parse(&pairs) {
            prop_assert_eq!(request.target.redirect_uri.as_str(), CALLBACK);
        }
    }
}
