//! Rejected OAuth requests: the response, and the reason in the log and the audit trail.

use serde_json::{Value, json};

use crate::requests::parse_json_lines;
use crate::support::oauth_client::{oauth_error, status_and_error};
use crate::support::{ServerProcess, Service, recorded_events};

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const PKCE: [(&str, &str); 2] = [
    ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"),
    ("code_challenge_method", "S256"),
];

/// The response does not disclose whether a code is unknown, expired, used or issued to another
/// client. It describes only mistakes in the request of the code's own client.
#[tokio::test]
async fn a_failed_redemption_is_described_and_counted_with_its_reason() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    let other_client = service.register_client().await;
    let mut browser = service.browser();
    let code = client.obtain_code(&mut browser, "alice", &PKCE).await;
    let code_without_challenge =
        client.obtain_code(&mut browser, "alice", &[("force_login", "1")]).await;
    let verifier = [("code_verifier", VERIFIER)];
    let wrong_verifier = [("code_verifier", &*"x".repeat(43))];
    let generic_description =
        "The code is unknown, expired, revoked or used, or was issued to another client.";
    let client_with_other_uri = client.with_redirect_uri("https://app.example/cb/");
    let mut rejections = vec![
        (client.redeem(&code, &[]).await, "The code_verifier is missing."),
        (
            client.redeem(&code, &[("code_verifier", "short")]).await,
            "The code_verifier must be 43 to 128 letters, digits or characters of -._~",
        ),
        (
            client.redeem(&code, &wrong_verifier).await,
            "The code_verifier does not match the code_challenge.",
        ),
        (
            client.redeem(&code_without_challenge, &verifier).await,
            "A code_verifier was sent, but the authorization request had no code_challenge.",
        ),
        (
            client_with_other_uri.redeem(&code, &verifier).await,
            "The redirect_uri is not the one of the authorization request.",
        ),
        (other_client.redeem(&code, &verifier).await, generic_description),
        (other_client.redeem(&code, &verifier).await, generic_description),
        (client.redeem("unknown", &verifier).await, generic_description),
    ];
    assert_eq!(client.redeem(&code, &verifier).await.status, 200);
    rejections.push((client.redeem(&code, &verifier).await, generic_description));
    service.clock.advance(600);
    rejections.push((client.redeem(&code_without_challenge, &[]).await, generic_description));
    for (response, description) in rejections {
        let body = json!({ "error": "invalid_grant", "error_description": description });
        assert_eq!((response.status, response.json()), (400, body));
    }

    service.state.audit.flush(service.store()).await.unwrap();
    let events = service.store().audit_events(recorded_events(), 100).await.unwrap();
    let failures = events.into_iter().filter(|event| event.outcome.as_str() == "failure");
    let mut failures: Vec<_> = failures
        .map(|event| {
            let account = event.account.unwrap_or_default();
            assert_eq!(event.address.as_deref(), Some("192.0.2.1"));
            assert!(event.app.is_some());
            format!("{} {account} {} {}", event.kind, event.detail.unwrap(), event.count)
        })
        .collect();
    failures.sort();
    let expected = [
        "token_issue  the code is unknown or has been deleted 1",
        "token_issue alice the code has been redeemed before 1",
        "token_issue alice the code has expired 1",
        "token_issue alice the code was issued to another app 2",
        "token_issue alice the code was requested with a challenge and redeemed without a verifier 1",
        "token_issue alice the code was requested without a challenge and redeemed with a verifier 1",
        "token_issue alice the redirect URI is not the one of the authorization request 1",
        "token_issue alice the verifier does not match the challenge 1",
        "token_issue alice the verifier is not 43 to 128 unreserved characters 1",
    ];
    assert_eq!(failures, expected);
}

#[tokio::test]
async fn an_invalid_scope_is_named_in_the_error_description() {
    let service = Service::start().await;
    let client = service.register_client().await;
    let narrow_client = crate::support::OAuthClient::register_with(
        service.anonymous_client(),
        "https://a.example/",
        "push admin:read",
    )
    .await;
    for (client, scope, description) in [
        (&client, "read reed", "The scope reed does not exist."),
        (&narrow_client, "push write", "The client did not register the scope write."),
        (&narrow_client, "read", "The client did not register the scope read."),
        (
            &narrow_client,
            "",
            "No scope was sent, so read was assumed, which the client did not register.",
        ),
        (&narrow_client, "push admin:read", "Only an admin can grant the scope admin:read."),
        (
            &client,
            "read  write",
            "Separate scopes by single spaces, without quotes or control characters.",
        ),
    ] {
        let fields = [("grant_type", "client_credentials"), ("scope", scope)];
        let response = client.post("/oauth/token", &fields).await;
        assert_eq!(status_and_error(&response), oauth_error(400, "invalid_scope"), "{scope}");
        assert_eq!(response.json()["error_description"], description, "{scope}");
    }
    // The error page for an app that the user has never approved has the same description.
    service.add_account("alice").await;
    let mut browser = service.browser();
    let page = browser.get(&client.authorize_path(&[("scope", "reed")])).await;
    browser.sign_in(&page, "alice").await.assert_page(400, "The scope reed does not exist.");
}

/// This is the most common mistake in a new client. The log shows the URI to compare with the
/// registration.
#[tokio::test(flavor = "multi_thread")]
async fn an_unregistered_redirect_uri_is_logged_with_its_app() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = ServerProcess::start(dir.path(), &[]);
    let http_client = reqwest::Client::new();
    let registration = [("client_name", "a"), ("redirect_uris", "https://app.example/")];
    let app =
        http_client.post(format!("{}/api/v1/apps", server.url)).form(&registration).send().await;
    let app: Value = app.unwrap().json().await.unwrap();
    let oversized_uri = format!("https://app.example/{}", "a".repeat(1000));
    for uri in ["https://app.example/\u{1b}cb?code=secret#secret", &oversized_uri] {
        let query = [
            ("client_id", app["client_id"].as_str().unwrap()),
            ("response_type", "code"),
            ("redirect_uri", uri),
        ];
        let request = http_client.get(format!("{}/oauth/authorize", server.url)).query(&query);
        let response = request.header("accept", "application/json").send().await.unwrap();
        assert_eq!(response.status(), 400);
        let body: Value = response.json().await.unwrap();
        let description = "This redirect_uri is not registered for the app. Only with 127.0.0.1 or \
                           [::1] as the host may its port differ.";
        assert_eq!(body, json!({ "error": "invalid_request", "error_description": description }));
    }
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    let log = server.log();
    assert!(!log.contains("secret"), "{log}");
    let lines = parse_json_lines(&log);
    let rejections = lines.iter().filter(|line| line["message"] == "OAuth request rejected");
    let entries: Vec<_> = rejections.map(|line| [&line["app"], &line["redirect_uri"]]).collect();
    let expected = [json!("https://app.example/\u{1b}cb"), json!(oversized_uri[..500])];
    assert_eq!(entries, expected.each_ref().map(|uri| [&app["id"], uri]), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reason_for_a_rejection_is_logged() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = ServerProcess::start(dir.path(), &[]);
    let url = server.url.clone();
    let post = async |path: &str, fields: &[(&str, &str)]| {
        let request = reqwest::Client::new().post(format!("{url}{path}")).form(fields);
        request.send().await.unwrap().json::<Value>().await.unwrap()
    };
    let registration = [("client_name", "a"), ("redirect_uris", "https://app.example/")];
    let [app, other_app] =
        [post("/api/v1/apps", &registration).await, post("/api/v1/apps", &registration).await];
    let credentials = |app: &Value| {
        ["client_id", "client_secret"].map(|name| app[name].as_str().unwrap().to_owned())
    };
    let ([id, secret], [other_id, other_secret]) = (credentials(&app), credentials(&other_app));
    let client = [("client_id", &*id), ("client_secret", &*secret)];
    let other_client = [("client_id", &*other_id), ("client_secret", &*other_secret)];
    let app_grant = ("grant_type", "client_credentials");
    let code_grant = ("grant_type", "authorization_code");
    let redirect_uri = ("redirect_uri", "https://app.example/");
    let token = post("/oauth/token", &[&client[..], &[app_grant]].concat()).await;
    let token = token["access_token"].as_str().unwrap();
    let authorize = format!("{url}/oauth/authorize?client_id=unknown");
    assert_eq!(reqwest::get(authorize).await.unwrap().status(), 401);
    // At most ten lines with one reason are written per minute; other reasons are still logged.
    for _ in 0..12 {
        post("/oauth/revoke", &[("token", token)]).await;
    }
    for (path, fields) in [
        ("/oauth/token", vec![app_grant]),
        ("/oauth/token", vec![app_grant, ("client_id", "unknown"), ("client_secret", "x")]),
        ("/oauth/token", vec![app_grant, client[0], ("client_secret", "x")]),
        ("/oauth/token", [&client[..], &[app_grant, ("scope", "reed")]].concat()),
        ("/oauth/token", [&client[..], &[code_grant, ("code", "x"), redirect_uri]].concat()),
        ("/oauth/revoke", [&client[..], &[("token", "x")]].concat()),
        ("/oauth/revoke", [&other_client[..], &[("token", token)]].concat()),
        ("/oauth/revoke", client.to_vec()),
        ("/oauth/introspect", [&other_client[..], &[("token", token)]].concat()),
    ] {
        post(path, &fields).await;
    }
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    let log = server.log();
    for secret in [&*secret, &*other_secret, token] {
        assert!(!log.contains(secret), "{log}");
    }
    let lines = parse_json_lines(&log);
    let string_value = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let entries: Vec<_> = lines
        .iter()
        .filter(|line| {
            let message = string_value(&line["message"]);
            message == "OAuth request rejected" || message.starts_with("introspection by")
        })
        .map(|line| {
            (
                string_value(&line["request"]["route"]),
                string_value(&line["error"]),
                string_value(&line["reason"]),
            )
        })
        .collect();
    let entry_without_credentials =
        ("/oauth/revoke", "unauthorized_client", "no client credentials");
    let first_entry =
        ("/oauth/authorize", "invalid_client", "There is no app with this client_id.");
    let last_entries = [
        (
            "/oauth/token",
            "invalid_client",
            "Send client_id and client_secret in the body, or as HTTP Basic authentication.",
        ),
        ("/oauth/token", "invalid_client", "unknown client"),
        ("/oauth/token", "invalid_client", "wrong secret"),
        ("/oauth/token", "invalid_scope", "The scope reed does not exist."),
        ("/oauth/token", "invalid_grant", "the code is unknown or has been deleted"),
        ("/oauth/revoke", "unauthorized_client", "the token is malformed"),
        ("/oauth/revoke", "unauthorized_client", "the token belongs to another app"),
        ("/oauth/revoke", "unauthorized_client", "no token"),
        ("/oauth/introspect", "", ""),
    ];
    let expected_entries =
        [&[first_entry][..], &[entry_without_credentials; 10], &last_entries].concat();
    let expected = expected_entries.iter().map(|(route, error, reason)| {
        ((*route).to_owned(), (*error).to_owned(), (*reason).to_owned())
    });
    assert_eq!(entries, expected.collect::<Vec<_>>(), "{log}");
    let wrong_secret = lines.iter().find(|line| line["reason"] == "wrong secret").unwrap();
    assert_eq!(wrong_secret["app"], app["id"], "{log}");
}
