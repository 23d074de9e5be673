//! Tests of app registrations, and of apps' scopes and redirect URIs.

use proptest::prelude::*;

use super::*;
use crate::oauth::client::Registrar;
use crate::oauth::issuer_policy::MASTODON;
use crate::oauth::redirect::OOB;

fn valid() -> AppRegistration {
    AppRegistration {
        client_name: "Tusky".into(),
        redirect_uris: vec!["https://app.example/cb".into()],
        scopes: vec!["read write".into()],
        website: "https://app.example".into(),
        token_endpoint_auth_method: String::new(),
    }
}

fn validation_error(registration: AppRegistration) -> String {
    registration.validate(&MASTODON).unwrap_err().to_string()
}

fn app(redirect_uris: &str, scopes: &str) -> App {
    let registration = AppRegistration {
        redirect_uris: vec![redirect_uris.into()],
        scopes: vec![scopes.into()],
        ..valid()
    };
    let details = registration.validate(&MASTODON).unwrap();
    App {
        id: 1,
        client_id: "a".into(),
        details,
        properties: ClientProperties::new(&MASTODON, Registrar::Api),
    }
}

#[test]
fn a_valid_registration_is_unchanged() {
    let details = valid().validate(&MASTODON).unwrap();
    assert_eq!(details.name, "Tusky");
    assert_eq!(details.website.as_deref(), Some("https://app.example"));
    assert_eq!(details.redirect_uris[0].as_str(), "https://app.example/cb");
    assert_eq!(details.scopes.to_string(), "read write");
}

#[test]
fn redirect_uris_are_separated_by_whitespace_or_listed() {
    let expected_uris = vec!["https://a.example/", OOB];
    for redirect_uris in [
        vec!["https://a.example/\nurn:ietf:wg:oauth:2.0:oob"],
        vec!["  https://a.example/ \r\n\turn:ietf:wg:oauth:2.0:oob\n"],
        expected_uris.clone(),
    ] {
        let redirect_uris = redirect_uris.into_iter().map(str::to_owned).collect();
        let details = AppRegistration { redirect_uris, ..valid() }.validate(&MASTODON).unwrap();
        let actual: Vec<&str> = details.redirect_uris.iter().map(RedirectUri::as_str).collect();
        assert_eq!(actual, expected_uris);
    }
}

#[test]
fn scopes_are_a_string_or_a_list_and_default_to_read() {
    for (scopes, expected) in [
        (vec![], "read"),
        (vec![""], "read"),
        (vec!["read write push"], "read write push"),
        (vec!["write", "read:accounts", "write"], "write read:accounts"),
    ] {
        let scopes = scopes.into_iter().map(str::to_owned).collect();
        let details = AppRegistration { scopes, ..valid() }.validate(&MASTODON).unwrap();
        assert_eq!(details.scopes.to_string(), expected);
    }
}

#[test]
fn a_blank_website_counts_as_absent() {
    for website in ["", " "] {
        let details =
            AppRegistration { website: website.into(), ..valid() }.validate(&MASTODON).unwrap();
        assert_eq!(details.website, None);
    }
}

#[test]
fn a_registration_is_collected_from_pairs() {
    let pairs = [
        ("client_name", "Tusky"),
        ("redirect_uris[]", "https://app.example/cb"),
        ("redirect_uris[]", OOB),
        ("scopes", "read write"),
        ("scope", "push"), // a common mistake, ignored like any unknown name
        ("website", "https://app.example"),
        ("token_endpoint_auth_method", "client_secret_post"),
        ("colour", "red"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut expected = valid();
    expected.redirect_uris.push(OOB.into());
    expected.token_endpoint_auth_method = "client_secret_post".into();
    assert_eq!(AppRegistration::from_pairs(pairs), expected);
}

#[test]
fn each_error_has_its_message() {
    let long_uri = format!("https://app.example/{}", "a".repeat(1981));
    for (registration, message) in [
        (
            AppRegistration { client_name: String::new(), ..valid() },
            "Application name can't be blank",
        ),
        (
            AppRegistration { client_name: " \u{a0}".into(), ..valid() },
            "Application name can't be blank",
        ),
        // An invisible name would hide the app from the user.
        (
            AppRegistration { client_name: "\u{200b}\u{feff}\u{2060}".into(), ..valid() },
            "Application name can't be blank",
        ),
        (
            AppRegistration {
                client_name: " \u{ad}\u{202e}\u{7}\u{3164}\u{e0041}".into(),
                ..valid()
            },
            "Application name can't be blank",
        ),
        (
            AppRegistration { client_name: "é".repeat(61), ..valid() },
            "Application name is too long (maximum is 60 characters)",
        ),
        (AppRegistration { client_name: "a\0b".into(), ..valid() }, "Application name is invalid"),
        (
            AppRegistration { client_name: "a\u{202e}b".into(), ..valid() },
            "Application name is invalid",
        ),
        (AppRegistration { redirect_uris: vec![], ..valid() }, "Redirect URI can't be blank"),
        (
            AppRegistration { redirect_uris: vec![" \n".into()], ..valid() },
            "Redirect URI can't be blank",
        ),
        (
            AppRegistration { redirect_uris: vec!["/cb".into()], ..valid() },
            "Redirect URI must be an absolute URI.",
        ),
        (
            AppRegistration { redirect_uris: vec!["tel://a vnc://b".into()], ..valid() },
            "Redirect URI is forbidden by the server.",
        ),
        (
            AppRegistration { redirect_uris: vec!["https://".into()], ..valid() },
            "Redirect URI must be a valid URI.",
        ),
        (
            AppRegistration { redirect_uris: vec!["https://a.example/#".into()], ..valid() },
            "Redirect URI cannot contain a fragment.",
        ),
        (
            AppRegistration { redirect_uris: vec!["myapp:cb".into()], ..valid() },
            "Redirect URI must specify a scheme.",
        ),
        (
            AppRegistration { redirect_uris: vec![" \tJavascript:x".into()], ..valid() },
            "Redirect URI is forbidden by the server.",
        ),
        (
            AppRegistration { redirect_uris: vec![long_uri], ..valid() },
            "Redirect URI is too long (maximum is 2000 characters)",
        ),
        (
            AppRegistration { scopes: vec!["read nope".into()], ..valid() },
            "Scopes doesn't match those configured on the server: nope is unknown \
             (scopes_supported in /.well-known/oauth-authorization-server).",
        ),
        (
            AppRegistration { scopes: vec!["read\twrite".into()], ..valid() },
            "Scopes doesn't match those configured on the server.",
        ),
        (
            AppRegistration { website: "javascript:alert(1)".into(), ..valid() },
            "Application website is not a valid URL",
        ),
        (
            AppRegistration { website: "app.example".into(), ..valid() },
            "Application website is not a valid URL",
        ),
        (
            AppRegistration { website: format!("https://a/{}", "a".repeat(1991)), ..valid() },
            "Application website is too long (maximum is 2000 characters)",
        ),
    ] {
        assert_eq!(validation_error(registration), format!("Validation failed: {message}"));
    }
}

#[test]
fn only_clients_with_a_secret_can_be_registered() {
    for (method, is_valid) in [
        ("", true),
        ("client_secret_basic", true),
        ("client_secret_post", true),
        ("none", false),
        ("client_secret", false),
        ("private_key_jwt", false),
        ("CLIENT_SECRET_BASIC", false),
        (" ", false),
    ] {
        let registration = AppRegistration { token_endpoint_auth_method: method.into(), ..valid() };
        let expected = if is_valid {
            Ok(())
        } else {
            Err(ValidationErrors(vec![AppRegistrationError::AuthMethod]))
        };
        assert_eq!(registration.validate(&MASTODON).map(drop), expected, "{method}");
    }
}

#[test]
fn all_errors_are_reported_in_order() {
    let registration = AppRegistration {
        client_name: String::new(),
        redirect_uris: vec!["/a /b data:x".into()],
        scopes: vec!["nope".into()],
        website: "nope".into(),
        token_endpoint_auth_method: "none".into(),
    };
    assert_eq!(
        validation_error(registration),
        "Validation failed: Application name can't be blank, \
         Redirect URI must be an absolute URI., Redirect URI is forbidden by the server., \
         Scopes doesn't match those configured on the server: nope is unknown \
         (scopes_supported in /.well-known/oauth-authorization-server)., \
         Application website is not a valid URL, \
         Token endpoint auth method must be client_secret_basic or client_secret_post (public \
         clients are not supported: register each installation of the app to get its own secret)"
    );
}

#[test]
fn values_of_maximum_length_are_accepted() {
    let base_url = "https://app.example/";
    let registration = AppRegistration {
        client_name: "é".repeat(MAX_NAME_LENGTH),
        redirect_uris: vec![format!("{base_url}{}", "a".repeat(MAX_URIS_LENGTH - base_url.len()))],
        website: format!("{base_url}{}", "a".repeat(MAX_URIS_LENGTH - base_url.len())),
        ..valid()
    };
    assert!(registration.validate(&MASTODON).is_ok());
}

#[test]
fn too_many_or_too_long_redirect_uris_are_rejected() {
    let expected = "Validation failed: Redirect URI is too long (maximum is 2000 characters)";
    let many_uris = vec!["https://a.example/".to_owned(); 10_001];
    assert_eq!(validation_error(AppRegistration { redirect_uris: many_uris, ..valid() }), expected);
    let long_uri = vec![format!("https://a.example/{}", "a".repeat(100_000))];
    assert_eq!(validation_error(AppRegistration { redirect_uris: long_uri, ..valid() }), expected);
}

#[test]
fn only_a_registered_redirect_uri_is_found() {
    let app = app("https://a.example/cb http://127.0.0.1/cb", "read");
    for (requested, is_found) in [
        ("https://a.example/cb", true),
        ("http://127.0.0.1:5000/cb", true),
        ("https://b.example/cb", false),
        (OOB, false),
        ("", false),
    ] {
        assert_eq!(
            app.find_redirect_uri(requested).is_some_and(|uri| uri.as_str() == requested),
            is_found,
            "{requested}"
        );
    }
}

#[test]
fn only_registered_scopes_can_be_requested() {
    let unregistered_scope = |name: &str| Err(OAuthError::UnregisteredScope(name.into()));
    for (registered, requested, expected) in [
        ("read write", None, Ok("read")),
        ("read write", Some(""), Ok("read")),
        ("read write", Some("write read"), Ok("write read")),
        ("read write", Some("write:statuses"), Ok("write:statuses")),
        ("read", Some("read write"), unregistered_scope("write")),
        ("write:statuses", Some("write"), unregistered_scope("write")),
        ("write push", None, Err(OAuthError::UnregisteredDefaultScope("read"))),
        ("write push", Some(""), Err(OAuthError::UnregisteredDefaultScope("read"))),
        ("write push", Some("read"), unregistered_scope("read")),
        ("read", Some("read nope"), Err(OAuthError::UnknownScope("nope".into()))),
        ("read", Some("read  read"), Err(OAuthError::MalformedScope)),
        ("read", Some("\"read\""), Err(OAuthError::MalformedScope)),
        ("read", Some("\0"), Err(OAuthError::MalformedScope)),
    ] {
        let scopes = app("https://a.example/cb", registered).resolve_scopes(&MASTODON, requested);
        let actual = scopes.map(|scopes| scopes.to_string());
        assert_eq!(actual, expected.map(str::to_owned), "{registered} for {requested:?}");
    }
}

proptest! {
    #[test]
    fn validation_never_panics(
        client_name in any::<String>(),
        redirect_uris in prop::collection::vec(any::<String>(), 0..4),
        scopes in prop::collection::vec(any::<String>(), 0..4),
        website in any::<String>(),
    ) {
        let registration =
            AppRegistration { client_name, redirect_uris, scopes, website, ..valid() };
        let _ = registration.validate(&MASTODON);
    }
}

#[test]
fn admin_scopes_may_be_registered_but_an_app_token_cannot_have_them() {
    let app = app("https://a.example/", "read admin:read admin:write:accounts");
    assert_eq!(app.details.scopes.to_string(), "read admin:read admin:write:accounts");
    for (requested, rejected_scope) in [
        ("admin:read", "admin:read"),
        ("read admin:read", "admin:read"),
        ("admin:read:accounts", "admin:read:accounts"),
        ("admin:write:accounts", "admin:write:accounts"),
    ] {
        assert_eq!(app.resolve_scopes(&MASTODON, Some(requested)).unwrap().to_string(), requested);
        let result = app.resolve_app_token_scopes(&MASTODON, Some(requested));
        assert_eq!(result, Err(OAuthError::AdminScopeDenied(rejected_scope.into())), "{requested}");
    }
    assert_eq!(app.resolve_app_token_scopes(&MASTODON, Some("read")).unwrap().to_string(), "read");
    let expected = Err(OAuthError::UnregisteredScope("write".into()));
    assert_eq!(app.resolve_app_token_scopes(&MASTODON, Some("write")), expected);
    assert_eq!(app.sign_up_scopes().to_string(), "read");
}

#[test]
fn a_name_may_contain_invisible_joiners() {
    // Persian words, family emoji and flags need them.
    for name in ["می\u{200c}خواهم", "👨\u{200d}👩\u{200d}👧", "🏴\u{e0067}\u{e007f}", "❤\u{fe0f}"]
    {
        let registration = AppRegistration { client_name: name.into(), ..valid() };
        assert_eq!(registration.validate(&MASTODON).unwrap().name, name);
    }
}
