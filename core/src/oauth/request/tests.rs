use proptest::prelude::*;

use super::*;
use crate::oauth::app::Registration;

const CALLBACK: &str = "https://a.example/cb";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

fn app() -> App {
    let registration = Registration {
        client_name: "A".into(),
        redirect_uris: vec![CALLBACK.into()],
        scopes: vec!["read write".into()],
        website: String::new(),
    };
    App { id: 7, client_id: "a".into(), details: registration.validate().unwrap() }
}

/// The pairs of a good request, and then these.
fn with(more: &[(&str, &str)]) -> Vec<(String, String)> {
    let good = [("response_type", "code"), ("client_id", "a"), ("redirect_uri", CALLBACK)];
    owned(&[&good, more].concat())
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn check(pairs: &[(String, String)]) -> Result<AuthorizationRequest, OAuthError> {
    AuthorizationRequest::parse(Parameters::new(pairs), Some(&app()))
}

fn request(more: &[(&str, &str)]) -> AuthorizationRequest {
    check(&with(more)).unwrap()
}

/// Why what is asked is refused, at the app's own URI.
fn refusal(more: &[(&str, &str)]) -> OAuthError {
    request(more).requested.unwrap_err()
}

#[test]
fn the_least_that_can_be_asked_is_read() {
    let request = request(&[]);
    assert_eq!(request.app_id, 7);
    assert_eq!(request.target.redirect_uri.as_str(), CALLBACK);
    assert_eq!(request.target.mode, ResponseMode::Query);
    assert_eq!(request.target.state, None);
    let asked = request.requested.unwrap();
    assert_eq!((asked.scopes.to_string().as_str(), asked.challenge), ("read", None));
    assert!(!request.force_login);
    assert_eq!(request.lang, None);
}

#[test]
fn every_parameter_of_the_contract_is_read() {
    let request = request(&[
        ("scope", "write:statuses read"),
        ("state", "s"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("force_login", "true"),
        ("lang", "de"),
        ("response_mode", "form_post"),
    ]);
    let asked = request.requested.unwrap();
    assert_eq!(asked.scopes.to_string(), "write:statuses read");
    assert_eq!(asked.challenge, Challenge::parse(CHALLENGE));
    assert_eq!(request.target.state.as_deref(), Some("s"));
    assert_eq!(request.target.mode, ResponseMode::FormPost);
    assert!(request.force_login);
    assert_eq!(request.lang.as_deref(), Some("de"));
}

// Attack 23.
#[test]
fn a_request_names_one_client() {
    for (pairs, named) in [
        (vec![("client_id", "a")], Ok("a")),
        (vec![], Err(OAuthError::Missing(Parameter::ClientId))),
        (vec![("client_id", "")], Err(OAuthError::Missing(Parameter::ClientId))),
        (
            vec![("client_id", "a"), ("client_id", "a")],
            Err(OAuthError::Repeated(Parameter::ClientId)),
        ),
        (vec![("client_id[]", "a")], Err(OAuthError::NotOneValue(Parameter::ClientId))),
    ] {
        let pairs = owned(&pairs);
        assert_eq!(client_id(Parameters::new(&pairs)), named, "{pairs:?}");
    }
}

#[test]
fn an_unknown_client_gets_a_page() {
    let pairs = with(&[]);
    let refused = AuthorizationRequest::parse(Parameters::new(&pairs), None);
    assert_eq!(refused, Err(OAuthError::InvalidClient));
}

// Attacks 1, 12, 13, 15 and 22.
#[test]
fn a_bad_redirect_uri_gets_a_page_whatever_else_is_wrong() {
    for (uris, refused) in [
        (vec![], OAuthError::Missing(Parameter::RedirectUri)),
        (vec![("redirect_uri", "")], OAuthError::Missing(Parameter::RedirectUri)),
        (vec![("redirect_uri", CALLBACK); 2], OAuthError::Repeated(Parameter::RedirectUri)),
        (vec![("redirect_uri[]", CALLBACK)], OAuthError::NotOneValue(Parameter::RedirectUri)),
        (vec![("redirect_uri", "https://evil.example/cb")], OAuthError::InvalidRedirectUri),
        (vec![("redirect_uri", "https://a.example/cb/")], OAuthError::InvalidRedirectUri),
        (vec![("redirect_uri", "urn:ietf:wg:oauth:2.0:oob")], OAuthError::InvalidRedirectUri),
        // Attack 16.
        (vec![("redirect_uri", "https://a.example/cb\r\nX: y")], OAuthError::InvalidRedirectUri),
    ] {
        let pairs = owned(&[&[("client_id", "a"), ("response_type", "token")], &*uris].concat());
        assert_eq!(check(&pairs), Err(refused), "{pairs:?}");
    }
}

// Attack 25.
#[test]
fn the_only_response_type_is_code() {
    let good = [("client_id", "a"), ("redirect_uri", CALLBACK)];
    let missing = check(&owned(&good)).unwrap().requested;
    assert_eq!(missing, Err(OAuthError::Missing(Parameter::ResponseType)));
    for wrong in ["token", "id_token", "code token", "Code", "code ", " code", "none"] {
        let pairs = owned(&[&good[..], &[("response_type", wrong)]].concat());
        let refused = check(&pairs).unwrap().requested;
        assert_eq!(refused, Err(OAuthError::UnsupportedResponseType), "{wrong}");
    }
}

// Attack 36.
#[test]
fn an_unknown_response_mode_is_refused_in_the_query() {
    for wrong in ["query.jwt", "web_message", "Query"] {
        let request = request(&[("response_mode", wrong)]);
        assert_eq!(request.requested, Err(OAuthError::UnsupportedResponseMode), "{wrong}");
        assert_eq!(request.target.mode, ResponseMode::Query);
    }
    let in_fragment = request(&[("response_mode", "fragment"), ("scope", "nope")]);
    assert_eq!(in_fragment.target.mode, ResponseMode::Fragment);
    assert_eq!(in_fragment.requested, Err(OAuthError::InvalidScope));
}

// Attacks 27, 28 and 30.
#[test]
fn a_scope_beyond_the_apps_own_is_refused() {
    for wrong in
        ["push", "read push", "admin:read", "nope", "read  write", "read\twrite", "\0", "\"read\""]
    {
        assert_eq!(refusal(&[("scope", wrong)]), OAuthError::InvalidScope, "{wrong:?}");
    }
    for name in ["scope[]", "scope[a]"] {
        assert_eq!(refusal(&[(name, "read")]), OAuthError::NotOneValue(Parameter::Scope));
    }
}

// Attacks 52 and 53.
#[test]
fn a_challenge_needs_its_method_and_its_form() {
    let challenge = ("code_challenge", CHALLENGE);
    assert_eq!(refusal(&[challenge]), OAuthError::InvalidChallengeMethod);
    for method in ["", "plain", "s256", "S512", "S256 "] {
        let refused = refusal(&[challenge, ("code_challenge_method", method)]);
        assert_eq!(refused, OAuthError::InvalidChallengeMethod, "{method}");
    }
    for malformed in ["short", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM"] {
        let pairs = [("code_challenge", malformed), ("code_challenge_method", "S256")];
        assert_eq!(refusal(&pairs), OAuthError::InvalidChallenge, "{malformed}");
    }
    // A method without a challenge asks for nothing.
    assert_eq!(request(&[("code_challenge_method", "S256")]).requested.unwrap().challenge, None);
}

// Attack 31.
#[test]
fn a_state_is_carried_through_up_to_its_limit() {
    for state in ["a&b#c\"d'é🔔\r\n\0", "None", &"s".repeat(MAX_STATE_LENGTH)] {
        let request = request(&[("state", state)]);
        assert_eq!(request.target.state.as_deref(), Some(state));
        assert!(request.requested.is_ok());
    }
    let too_long = request(&[("state", &"s".repeat(MAX_STATE_LENGTH + 1))]);
    assert_eq!(too_long.requested, Err(OAuthError::StateTooLong));
    assert_eq!(too_long.target.state, None);
    assert_eq!(request(&[("state", "")]).target.state, None);
}

// Attacks 18 and 23.
#[test]
fn a_repeated_parameter_is_refused_at_the_apps_own_uri() {
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
        let refused = refusal(&[(name, value), (name, value)]);
        assert_eq!(refused, OAuthError::Repeated(parameter), "{name}");
    }
    let answered = request(&[("scope", "read"), ("scope", "write"), ("state", "s")]);
    assert_eq!(answered.target.state.as_deref(), Some("s"));
}

// Attack 26.
#[test]
fn unknown_parameters_are_ignored_however_often_they_come() {
    let pairs = vec![("nonce", "n"); 1000];
    assert!(request(&pairs).requested.is_ok());
}

#[test]
fn what_is_wrong_first_is_told() {
    let all_wrong = [
        ("response_mode", "nope"),
        ("scope", "nope"),
        ("code_challenge", "nope"),
        ("state", &"s".repeat(MAX_STATE_LENGTH + 1)),
    ];
    let order = [
        OAuthError::UnsupportedResponseMode,
        OAuthError::InvalidScope,
        OAuthError::InvalidChallengeMethod,
        OAuthError::StateTooLong,
    ];
    for (from, expected) in order.into_iter().enumerate() {
        assert_eq!(refusal(&all_wrong[from..]), expected);
    }
}

#[test]
fn force_login_is_false_in_every_language() {
    for no in ["", " ", "0", "false", "False", "FALSE", "f", "F", "off", "OFF", "no", "None"] {
        assert!(!request(&[("force_login", no)]).force_login, "{no:?}");
    }
    for yes in ["true", "True", "1", "t", "on", "yes", "force_login"] {
        assert!(request(&[("force_login", yes)]).force_login, "{yes}");
    }
}

// Attack 32.
#[test]
fn a_language_is_a_tag_or_nothing() {
    for (sent, lang) in [
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
        assert_eq!(request(&[("lang", sent)]).lang.as_deref(), lang, "{sent:?}");
    }
}

#[test]
fn consent_is_asked_for_unless_exactly_these_scopes_were_granted() {
    let scopes = |text: &str| text.parse::<Scopes>().unwrap();
    let asks = request(&[("scope", "read write")]);
    assert!(asks.needs_consent([]));
    assert!(asks.needs_consent(&[scopes("read")]));
    assert!(asks.needs_consent(&[scopes("read"), scopes("read write push")]));
    assert!(!asks.needs_consent(&[scopes("push"), scopes("write read")]));
    let forced = request(&[("scope", "read write"), ("force_login", "1")]);
    assert!(forced.needs_consent(&[scopes("read write")]));
    // There is nothing to agree to.
    assert!(!request(&[("scope", "nope")]).needs_consent([]));
}

// Attacks 19 and 33.
#[test]
fn nothing_is_refused_asked_or_approved_before_the_user_has_signed_in() {
    let granted = ["read".parse::<Scopes>().unwrap()];
    for (more, then) in [
        (&[][..], NextStep::Approve),
        (&[("scope", "read write")], NextStep::AskConsent),
        (&[("force_login", "true")], NextStep::AskConsent),
        (&[("scope", "nope")], NextStep::Reject(OAuthError::InvalidScope)),
    ] {
        let request = request(more);
        assert_eq!(request.next_step(false, &granted), NextStep::SignIn, "{more:?}");
        assert_eq!(request.next_step(true, &granted), then, "{more:?}");
    }
}

#[test]
fn a_request_that_is_kept_is_read_back() {
    for more in [
        &[][..],
        &[("state", "\0"), ("code_challenge", CHALLENGE), ("code_challenge_method", "S256")],
        &[("scope", "nope")],
        &[("lang", "de"), ("lang", "de")],
    ] {
        let request = request(more);
        let json = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<AuthorizationRequest>(&json).unwrap(), request, "{json}");
    }
}

proptest! {
    #[test]
    fn any_pairs_are_answered(
        pairs in prop::collection::vec((
            prop::sample::select(vec![
                "response_type", "client_id", "redirect_uri", "scope", "scope[]", "state", "lang",
                "code_challenge", "code_challenge_method", "force_login", "response_mode", "x",
            ]),
            prop_oneof![any::<String>(), Just("code".into()), Just(CALLBACK.into())],
        ), 0..20),
    ) {
        let pairs: Vec<_> = pairs.into_iter().map(|(n, v): (&str, String)| (n.to_owned(), v)).collect();
        let _ = client_id(Parameters::new(&pairs));
        if let Ok(request) = check(&pairs) {
            prop_assert_eq!(request.target.redirect_uri.as_str(), CALLBACK);
        }
    }
}
