//! Tests of authorization responses.

use proptest::prelude::*;

use super::*;
use crate::oauth::redirect::OOB;

const ISSUER: &str = "https://belfry.example/";

fn response_target(redirect_uri: &str, mode: ResponseMode, state: Option<&str>) -> ResponseTarget {
    let redirect_uri = RedirectUri::new(redirect_uri).unwrap();
    ResponseTarget { redirect_uri, mode, state: state.map(str::to_owned) }
}

fn redirect_location(redirect_uri: &str, mode: ResponseMode, state: Option<&str>) -> String {
    let code = Secret::new("c-_1");
    match response_target(redirect_uri, mode, state).build_delivery(ISSUER, Ok(&code)) {
        Delivery::Redirect(location) => location,
        _ => panic!("expected a redirect to {redirect_uri}"),
    }
}

#[test]
fn every_mode_is_parsed_from_its_name() {
    for mode in ResponseMode::ALL {
        assert_eq!(ResponseMode::from_name(mode.as_str()), Some(*mode));
    }
    for name in ["query.jwt", "web_message", "Query", "", "query ", "form-post"] {
        assert_eq!(ResponseMode::from_name(name), None, "{name}");
    }
}

#[test]
fn a_code_is_sent_in_the_query_with_state_and_issuer() {
    assert_eq!(
        redirect_location("https://a.example/cb", ResponseMode::Query, Some("s t")),
        "https://a.example/cb?code=c-_1&state=s%20t&iss=https%3A%2F%2Fbelfry.example%2F"
    );
}

#[test]
fn a_request_without_state_gets_no_state_back() {
    assert_eq!(
        redirect_location("com.example.app:/cb", ResponseMode::Query, None),
        "com.example.app:/cb?code=c-_1&iss=https%3A%2F%2Fbelfry.example%2F"
    );
}

#[test]
fn in_fragment_mode_the_parameters_are_in_the_fragment() {
    assert_eq!(
        redirect_location("https://a.example/cb?x=1", ResponseMode::Fragment, Some("s")),
        "https://a.example/cb?x=1#code=c-_1&state=s&iss=https%3A%2F%2Fbelfry.example%2F"
    );
}

// The page with the form escapes the fields.
#[test]
fn in_form_post_mode_the_fields_are_not_encoded() {
    let state = "\"><script>";
    let delivery =
        response_target("https://a.example/cb?x=1&state=y", ResponseMode::FormPost, Some(state))
            .build_delivery(ISSUER, Ok(&Secret::new("c")));
    let fields = vec![("code", "c".into()), ("state", state.into()), ("iss", ISSUER.into())];
    assert!(delivery == Delivery::Post { action: "https://a.example/cb?x=1".into(), fields });
}

#[test]
fn an_out_of_band_response_is_shown() {
    let code = Secret::new("c");
    for mode in ResponseMode::ALL {
        let target = response_target(OOB, *mode, Some("s"));
        assert!(target.build_delivery(ISSUER, Ok(&code)) == Delivery::Show);
        assert!(target.build_delivery(ISSUER, Err(&OAuthError::AccessDenied)) == Delivery::Show);
    }
}

// RFC 6749, section 4.1.2.1, and RFC 9207.
#[test]
fn an_error_is_sent_with_state_and_issuer() {
    let target = response_target("https://a.example/cb", ResponseMode::Query, Some("s"));
    let delivery = target.build_delivery(ISSUER, Err(&OAuthError::AccessDenied));
    let expected = "https://a.example/cb?error=access_denied&error_description=The%20resource\
        %20owner%20or%20authorization%20server%20denied%20the%20request.\
        &state=s&iss=https%3A%2F%2Fbelfry.example%2F";
    assert!(delivery == Delivery::Redirect(expected.into()));
}

#[test]
fn each_response_parameter_occurs_once() {
    let parameters = "code=c-_1&state=s&iss=https%3A%2F%2Fbelfry.example%2F";
    for (registered_uri, expected) in [
        ("https://a.example/cb?state=x&code=y", "https://a.example/cb?"),
        ("https://a.example/cb?a=1&state=x&b=%2f+2", "https://a.example/cb?a=1&b=%2f+2&"),
        ("https://a.example/cb?%63ode=y&c%6Fde", "https://a.example/cb?"),
        ("https://a.example/cb?iss=evil&error=x", "https://a.example/cb?"),
        ("https://a.example/cb?", "https://a.example/cb?"),
        ("https://a.example/cb?codes=1&State=2", "https://a.example/cb?codes=1&State=2&"),
        ("https://a.example/cb?x=?code=1", "https://a.example/cb?x=?code=1&"),
    ] {
        let location = redirect_location(registered_uri, ResponseMode::Query, Some("s"));
        assert_eq!(location, format!("{expected}{parameters}"), "{registered_uri}");
    }
}

#[test]
fn an_arbitrary_state_is_returned_unchanged() {
    let state = "a&b=c#d\"<>' +%0d%0a\r\nSet-Cookie: x\0🔔";
    let location = redirect_location("https://a.example/cb", ResponseMode::Query, Some(state));
    assert!(!location.contains(['\r', '\n', '\0', ' ', '"', '#']), "{location}");
    let (_, after_state) = location.split_once("&state=").unwrap();
    let (encoded_state, _) = after_state.split_once('&').unwrap();
    assert_eq!(decode_lenient(encoded_state).as_deref(), Some(state));
}

proptest! {
    #[test]
    fn a_location_is_one_line_of_printable_ascii(
        state in any::<String>(),
        code in any::<String>(),
        query in "[a-z0-9=&%+/?]{0,20}",
        is_fragment in any::<bool>(),
    ) {
        let mode = if is_fragment { ResponseMode::Fragment } else { ResponseMode::Query };
        if let Ok(redirect_uri) = RedirectUri::new(format!("https://a.example/cb?{query}")) {
            let target = ResponseTarget { redirect_uri, mode, state: Some(state) };
            let code = Secret::new(code);
            for response in [Ok(&code), Err(&OAuthError::MalformedScope)] {
                let Delivery::Redirect(location) = target.build_delivery(ISSUER, response) else {
                    panic!("expected a redirect");
                };
                prop_assert!(location.bytes().all(|b| b.is_ascii_graphic()));
                prop_assert_eq!(location.matches("&state=").count(), 1);
            }
        }
    }
}
