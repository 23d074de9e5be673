//! Tests of the step that follows an authorization request: sign-in, consent, approval or an error.

use super::*;

#[test]
fn consent_is_implied_only_by_exactly_these_scopes_without_force_login() {
    for (force_login, granted_scopes, step) in [
        ("0", &[][..], NextStep::RequestConsent),
        ("0", &["read"], NextStep::RequestConsent),
        ("0", &["read", "read write push"], NextStep::RequestConsent),
        ("0", &["push", "write read"], NextStep::Approve),
        ("1", &["read write"], NextStep::RequestConsent),
    ] {
        let request = parse_request(&[("scope", "read write"), ("force_login", force_login)]);
        let grants: Vec<_> = granted_scopes.iter().map(|scopes| grant(scopes, None)).collect();
        assert_eq!(
            request.next_step(&MASTODON, USER, &grants),
            step,
            "{force_login} {granted_scopes:?}"
        );
    }
}

fn grant(scopes: &str, redirect_uri: Option<&str>) -> Grant {
    let redirect_uri = redirect_uri.map(str::to_owned);
    Grant { scopes: scopes.parse().unwrap(), redirect_uri }
}

// RFC 8252, section 8.6.
#[test]
fn without_https_consent_is_implied_only_with_pkce_and_the_same_redirect_uri() {
    let uris = ["https://a.example/cb", "http://127.0.0.1:5000/cb", "app://cb", OOB];
    let app = app_with(&uris, "read");
    let pkce_pairs = [("code_challenge_method", "S256"), ("code_challenge", CHALLENGE)];
    for (uri, granted_uri, has_pkce, step) in [
        ("https://a.example/cb", None, false, NextStep::Approve),
        ("https://a.example/cb", Some("app://cb"), false, NextStep::Approve),
        ("http://127.0.0.1:5000/cb", Some("http://127.0.0.1:5000/cb"), true, NextStep::Approve),
        (
            "http://127.0.0.1:5000/cb",
            Some("http://127.0.0.1:5000/cb"),
            false,
            NextStep::RequestConsent,
        ),
        (
            "http://127.0.0.1:6666/cb",
            Some("http://127.0.0.1:5000/cb"),
            true,
            NextStep::RequestConsent,
        ),
        ("app://cb", Some("app://cb"), true, NextStep::Approve),
        ("app://cb", Some("app://cb"), false, NextStep::RequestConsent),
        ("app://cb", None, true, NextStep::RequestConsent),
        (OOB, Some(OOB), true, NextStep::Approve),
        (OOB, Some(OOB), false, NextStep::RequestConsent),
    ] {
        let mut pairs = vec![("response_type", "code"), ("redirect_uri", uri)];
        pairs.extend(pkce_pairs.iter().filter(|_| has_pkce));
        let request =
            AuthorizationRequest::parse(&MASTODON, Parameters::new(&to_pairs(&pairs)), Some(&app))
                .unwrap();
        let actual = request.next_step(&MASTODON, USER, &[grant("read", granted_uri)]);
        assert_eq!(actual, step, "{uri} {granted_uri:?} {has_pkce}");
        let policy = IssuerPolicy { implies_consent_with_pkce: false, ..MASTODON };
        let is_https = uri.starts_with("https:");
        let step = if is_https { NextStep::Approve } else { NextStep::RequestConsent };
        assert_eq!(request.next_step(&policy, USER, &[grant("read", granted_uri)]), step, "{uri}");
    }
}

#[test]
fn an_error_is_sent_only_to_an_app_that_the_user_has_approved() {
    let request = parse_request(&[("scope", "nope")]);
    let error = OAuthError::UnknownScope("nope".into());
    assert_eq!(request.next_step(&MASTODON, USER, &[]), NextStep::ShowError(error.clone()));
    assert_eq!(request.next_step(&MASTODON, USER, &[grant("push", None)]), NextStep::Reject(error));
    assert_eq!(request.next_step(&MASTODON, None, &[]), NextStep::SignIn);
}

#[test]
fn admin_scopes_are_granted_by_admins_only() {
    let app = app_with(&[CALLBACK], "read admin:read");
    for (scopes, rejected_scope) in [
        ("admin:read", "admin:read"),
        ("read admin:read", "admin:read"),
        ("admin:read:accounts read", "admin:read:accounts"),
    ] {
        let pairs = [("response_type", "code"), ("redirect_uri", CALLBACK), ("scope", scopes)];
        let request =
            AuthorizationRequest::parse(&MASTODON, Parameters::new(&to_pairs(&pairs)), Some(&app))
                .unwrap();
        let grants = [grant(scopes, None)];
        let error = OAuthError::AdminScopeDenied(rejected_scope.into());
        assert_eq!(request.requested_grant(Role::User), Err(error.clone()), "{scopes}");
        let show_error = NextStep::ShowError(error.clone());
        assert_eq!(request.next_step(&MASTODON, USER, &[]), show_error, "{scopes}");
        assert_eq!(
            request.next_step(&MASTODON, USER, &grants),
            NextStep::Reject(error),
            "{scopes}"
        );
        let requested_grant = request.requested_grant(Role::Admin).unwrap();
        assert_eq!(requested_grant.scopes.to_string(), scopes);
        let admin = Some(Role::Admin);
        assert_eq!(request.next_step(&MASTODON, admin, &[]), NextStep::RequestConsent, "{scopes}");
        // An earlier consent does not imply consent to admin scopes.
        assert_eq!(
            request.next_step(&MASTODON, admin, &grants),
            NextStep::RequestConsent,
            "{scopes}"
        );
    }
}

#[test]
fn consent_is_implied_only_in_the_response_mode_query() {
    let grants = [grant("read", None)];
    for (mode, step) in [
        (None, NextStep::Approve),
        (Some("query"), NextStep::Approve),
        (Some("fragment"), NextStep::RequestConsent),
        (Some("form_post"), NextStep::RequestConsent),
    ] {
        let pairs: Vec<_> = mode.map(|mode| ("response_mode", mode)).into_iter().collect();
        assert_eq!(parse_request(&pairs).next_step(&MASTODON, USER, &grants), step, "{mode:?}");
    }
}

#[test]
fn the_first_step_is_to_sign_in() {
    let grants = [grant("read", None)];
    for (extra_pairs, step_after_sign_in) in [
        (&[][..], NextStep::Approve),
        (&[("scope", "read write")], NextStep::RequestConsent),
        (&[("force_login", "true")], NextStep::RequestConsent),
        (&[("scope", "nope")], NextStep::Reject(OAuthError::UnknownScope("nope".into()))),
    ] {
        let request = parse_request(extra_pairs);
        assert_eq!(
            request.next_step(&MASTODON, None, &grants),
            NextStep::SignIn,
            "{extra_pairs:?}"
        );
        assert_eq!(
            request.next_step(&MASTODON, USER, &grants),
            step_after_sign_in,
            "{extra_pairs:?}"
        );
    }
}
