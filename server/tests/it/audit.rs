//! The audit trail: the events that requests cause, with their request ids, addresses and origins.
//! Also the log of events, the bounds on rows, and that no event contains a secret.

use std::net::Ipv4Addr;

use axum::http::StatusCode;
use belfry::config::{Config, RateLimitMode};
use belfry_store::AuditEvent;
use serde_json::{Value, json};

use crate::support::browser::encode_form;
use crate::support::oauth_client::expect_token;
use crate::support::process::{add_account, run_successfully};
use crate::support::service::{config_with, unlimited_config};
use crate::support::{Browser, OAuthClient, ServerProcess, Service, TestDatabase, recorded_events};

/// Stores the counted events, and returns all events.
async fn read_events(service: &Service) -> Vec<AuditEvent> {
    service.state.audit.flush(service.store()).await.unwrap();
    service.store().audit_events(recorded_events(), 10_000).await.unwrap()
}

/// Returns the events as sorted lines: kind, outcome, account, app, address, detail and count.
async fn event_lines(service: &Service) -> Vec<String> {
    let mut lines: Vec<String> =
        read_events(service).await.into_iter().map(|event| format_event(&event)).collect();
    lines.sort();
    lines
}

fn format_event(event: &AuditEvent) -> String {
    let or_dash = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
    let account = or_dash(&event.account);
    let app = or_dash(&event.app);
    let address = or_dash(&event.address);
    let detail = or_dash(&event.detail);
    let AuditEvent { kind, outcome, count, .. } = event;
    format!("{kind} {outcome} {account} {app} {address} {detail} {count}")
}

fn config_with_bridge() -> Config {
    let settings = "[[application_services]]\nid = 'irc'\nas_token = 'as_token_of_irc'\n\
         hs_token = 'x'\nsender_localpart = 'irc_bot'\n\
         [application_services.namespaces]\nusers = [{ exclusive = false, regex = '@.*' }]";
    toml::from_str(settings).unwrap()
}

/// Returns a token request with a wrong client secret.
fn wrong_secret_form(client_id: &str) -> String {
    encode_form(&[
        ("client_id", client_id),
        ("client_secret", "wrong"),
        ("grant_type", "client_credentials"),
    ])
}

/// Signs in and out on the pages, and grants, redeems, revokes and removes access of an app.
async fn cause_page_events(service: &Service, client: &OAuthClient) {
    let mut browser = service.browser();
    let page = browser.get(&client.authorize_path(&[])).await;
    for (name, password) in [("alice", "wrong horse alice"), ("hunter2 hunter2", "wrong")] {
        let fields = [("username", name), ("password", password)];
        assert_eq!(browser.submit(&page, "/oauth/sign_in", &fields).await.status, 401);
    }
    let page = browser.sign_in(&page, "alice").await;
    browser.decide(&page, "deny").await.redirect_parameters(&client.redirect_uri);

    let first_code = client.obtain_code(&mut browser, "alice", &[("scope", "read")]).await;
    let first_token = expect_token(&client.redeem(&first_code, &[]).await);
    let second_code = client.obtain_code(&mut browser, "alice", &[("scope", "read")]).await;
    let second_token = expect_token(&client.redeem(&second_code, &[]).await);
    assert_eq!(client.post("/oauth/revoke", &[("token", &first_token)]).await.status, 200);
    // Redeeming a code twice revokes its token.
    assert_eq!(client.redeem(&second_code, &[]).await.status, 400);
    let response =
        service.anonymous_client().with_token(&second_token).get("/oauth/userinfo").await;
    assert_eq!(response.status, 401);

    let code = client.obtain_code(&mut browser, "alice", &[("scope", "read")]).await;
    expect_token(&client.redeem(&code, &[]).await);
    let page = browser.get("/oauth/account").await;
    let app_id =
        page.text.split("name=\"app\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    browser.submit(&page, "/oauth/account/remove_app", &[("app", app_id)]).await;
    browser.submit(&page, "/oauth/sign_out", &[]).await;
}

/// Issues app tokens, signs up with one of them, and sends a wrong client secret.
async fn cause_app_events(client: &OAuthClient) {
    let [app_token, _] =
        [client.obtain_app_token("read write").await, client.obtain_app_token("read").await];
    let sign_up_form = encode_form(&[
        ("username", "bob"),
        ("email", "bob@example.org"),
        ("password", "correct horse bob"),
        ("agreement", "true"),
        ("locale", "en"),
    ]);
    let app_client = client.http.with_token(&app_token);
    app_client.send("POST /api/v1/accounts", sign_up_form).await.expect_json(StatusCode::OK);

    let wrong_credentials = wrong_secret_form(&client.id);
    assert_eq!(client.http.send("POST /oauth/token", wrong_credentials).await.status, 401);
}

/// Signs in, out and up like a Matrix client.
async fn cause_matrix_events(service: &Service) {
    let post_to_matrix = async |path: &str, body: Value| {
        let target = format!("POST /_matrix/client/v3/{path}");
        service.anonymous_client().send(&target, body.to_string()).await
    };
    let login_body = |password: &str| {
        let identifier = json!({ "type": "m.id.user", "user": "alice" });
        json!({ "type": "m.login.password", "identifier": identifier, "password": password })
    };
    assert_eq!(post_to_matrix("login", login_body("wrong horse")).await.status, 403);
    let login = post_to_matrix("login", login_body("correct horse alice"))
        .await
        .expect_json(StatusCode::OK);
    let alice = service.anonymous_client().with_token(login["access_token"].as_str().unwrap());
    assert_eq!(alice.send("POST /_matrix/client/v3/logout", "").await.status, 200);
    let registration = json!({
        "username": "carol",
        "password": "correct horse",
        "auth": { "type": "m.login.dummy" },
    });
    assert_eq!(post_to_matrix("register", registration).await.status, 200);
}

/// Acts for a user as an application service, and exceeds an abuse limit.
async fn cause_counted_events(service: &Service) {
    let bridge = service.anonymous_client().with_token("as_token_of_irc");
    for _ in 0..3 {
        let whoami_path = "/_matrix/client/v3/account/whoami?user_id=@alice:ring.example";
        assert_eq!(bridge.get(whoami_path).await.status, 200);
    }

    let abusive_client = service.anonymous_client().with_address([192, 0, 2, 9]);
    for _ in 0..31 {
        abusive_client.send("POST /api/v1/apps", "").await;
    }
}

async fn assert_every_event_that_requests_cause_is_recorded(database: TestDatabase) {
    let service = Service::start_on(database, config_with_bridge()).await;
    service.add_account("alice").await;
    let sender_line = "account_add success irc_bot - - irc 1";
    assert_eq!(
        event_lines(&service).await,
        [sender_line],
        "only the application service's account was added"
    );
    let client = service.register_client().await;
    cause_page_events(&service, &client).await;
    cause_app_events(&client).await;
    cause_matrix_events(&service).await;
    cause_counted_events(&service).await;

    let address = "192.0.2.1";
    let mut expected = vec![
        sender_line.to_owned(),
        format!("app_register success - Tusky {address} - 1"),
        // One failure is on the page, the other by the Matrix client.
        format!("sign_in failure alice - {address} - 1"),
        format!("sign_in failure alice - {address} - 1"),
        format!("sign_in failure - - {address} - 1"),
        format!("sign_in success alice - {address} - 1"),
        format!("consent denied alice Tusky {address} - 1"),
        format!("consent success alice Tusky {address} - 1"),
        format!("consent success alice Tusky {address} - 1"),
        format!("consent success alice Tusky {address} granted before 1"),
        format!("token_issue success alice Tusky {address} - 1"),
        format!("token_issue success alice Tusky {address} - 1"),
        format!("token_issue success alice Tusky {address} - 1"),
        format!("token_revoke success alice Tusky {address} - 1"),
        format!("token_revoke success alice Tusky {address} - 1"),
        format!("token_revoke success alice Tusky {address} authorization code replayed 1"),
        format!("token_issue failure alice Tusky {address} the code has been redeemed before 1"),
        format!("sign_out success alice - {address} - 1"),
        "app_token_issue success - Tusky - - 2".to_owned(),
        format!("sign_up success bob - {address} - 1"),
        format!("token_issue success bob Tusky {address} - 1"),
        format!("client_authentication failure - Tusky {address} wrong secret 1"),
        format!("sign_in success alice Matrix clients {address} - 1"),
        format!("token_issue success alice Matrix clients {address} - 1"),
        format!("sign_out success alice Matrix clients {address} - 1"),
        format!("token_revoke success alice Matrix clients {address} - 1"),
        format!("sign_up success carol - {address} - 1"),
        format!("token_issue success carol Matrix clients {address} - 1"),
        "service_use success alice - - irc 3".to_owned(),
        "abuse_limit failure - - 192.0.2.9 app_registration 1".to_owned(),
    ];
    expected.sort();
    assert_eq!(event_lines(&service).await, expected);
}

#[tokio::test]
async fn too_many_wrong_client_secrets_are_recorded_with_the_app() {
    let service = Service::start_with(config_with_bridge()).await;
    let client = service.register_client().await;
    let guesser = client.http.with_address([192, 0, 2, 8]);
    for _ in 0..27 {
        guesser.send("POST /oauth/token", wrong_secret_form(&client.id)).await;
    }
    let lines = event_lines(&service).await;
    for expected in [
        "client_authentication failure - Tusky 192.0.2.8 wrong secret 25",
        "abuse_limit failure - Tusky 192.0.2.8 client_secret 2",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{lines:?}");
    }
}

#[tokio::test]
async fn every_event_that_requests_cause_is_recorded_on_sqlite() {
    Box::pin(assert_every_event_that_requests_cause_is_recorded(TestDatabase::sqlite())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_event_that_requests_cause_is_recorded_on_postgres() {
    if let Some(database) = TestDatabase::postgres().await {
        Box::pin(assert_every_event_that_requests_cause_is_recorded(database)).await;
    }
}

/// Users sometimes enter their password in the field for the name.
#[tokio::test]
async fn no_event_contains_a_secret_or_an_entered_name() {
    let service = Service::start_with(unlimited_config()).await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    let mut browser = service.browser();
    let page = browser.get(&client.authorize_path(&[("state", "a secret state")])).await;
    let swapped_fields = [("username", "correct horse alice"), ("password", "alice")];
    assert_eq!(browser.submit(&page, "/oauth/sign_in", &swapped_fields).await.status, 401);
    let page = browser.sign_in(&page, "alice").await;
    let code =
        browser.decide(&page, "allow").await.redirect_parameters(&client.redirect_uri)["code"]
            .clone();
    let token = expect_token(&client.redeem(&code, &[]).await);
    let guessed_credentials =
        [("client_id", "a guessed id"), ("client_secret", "a guessed secret")];
    client.http.send("POST /oauth/token", encode_form(&guessed_credentials)).await;
    client.post("/oauth/revoke", &[("token", &token)]).await;
    let events_text = format!("{:?}", read_events(&service).await);
    assert!(events_text.contains("token_revoke"), "{events_text}");
    let secrets = [
        "correct horse",
        "secret",
        "guessed",
        &client.secret,
        &client.id,
        &code,
        &token,
        browser.session_cookie(),
    ];
    for secret in secrets {
        assert!(!events_text.contains(secret), "{secret}: {events_text}");
    }
}

/// An attacker with many addresses must not be able to fill the table.
#[tokio::test]
async fn failures_from_a_thousand_addresses_use_a_bounded_number_of_rows() {
    let service =
        Service::start_with(config_with(|config| config.limits.mode = RateLimitMode::Off)).await;
    let form_client =
        service.anonymous_client().with_header("content-type", "application/x-www-form-urlencoded");
    let form = wrong_secret_form("nobody");
    for round in 0..3 {
        for address in 0..1000 {
            let client = form_client.with_address(Ipv4Addr::from_bits(0x0a00_0000 + address));
            assert_eq!(client.send("POST /oauth/token", form.clone()).await.status, 401);
        }
        let rows = read_events(&service).await;
        assert_eq!(rows.len(), 101, "round {round}");
        assert_eq!(rows.iter().map(|row| row.count).sum::<i64>(), 1000 * (round + 1));
    }
    service.clock.advance(3600);
    form_client.send("POST /oauth/token", form).await;
    assert_eq!(read_events(&service).await.len(), 102, "the next hour has its own rows");
}

#[tokio::test]
async fn counts_that_cannot_be_stored_are_stored_later() {
    let service = Service::start().await;
    let client = service.register_client().await;
    client.obtain_app_token("read").await;
    service.execute_sql("alter table audit_events rename to hidden");
    assert!(service.state.audit.flush(service.store()).await.is_err());
    client.obtain_app_token("read").await;
    service.execute_sql("alter table hidden rename to audit_events");
    let counts: Vec<i64> = read_events(&service)
        .await
        .into_iter()
        .filter(|event| event.kind == "app_token_issue")
        .map(|event| event.count)
        .collect();
    assert_eq!(counts, [2]);
}

/// A user removes the app on a page, and the app revokes its token: both record `token_revoke`.
#[tokio::test]
async fn an_event_records_whether_a_page_or_a_client_caused_it() {
    let service = Service::start_with(unlimited_config()).await;
    service.add_account("alice").await;
    let client = service.register_client().await;
    let mut browser = service.browser();
    let issue_token = async |browser: &mut Browser| {
        let code = client.obtain_code(browser, "alice", &[("scope", "read")]).await;
        expect_token(&client.redeem(&code, &[]).await)
    };
    let token = issue_token(&mut browser).await;
    assert_eq!(client.post("/oauth/revoke", &[("token", &token)]).await.status, 200);
    issue_token(&mut browser).await;
    let page = browser.get("/oauth/account").await;
    let app_id =
        page.text.split("name=\"app\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    browser.submit(&page, "/oauth/account/remove_app", &[("app", app_id)]).await;

    let events = read_events(&service).await;
    let origins = |kind: &str| -> Vec<&str> {
        let mut matching_events: Vec<_> =
            events.iter().filter(|event| event.kind == kind).collect();
        // Events within one second have no order.
        matching_events.sort_by_key(|event| event.origin.clone());
        matching_events.into_iter().map(|event| &*event.origin).collect()
    };
    assert_eq!(origins("token_revoke"), ["client", "page"]);
    assert_eq!(origins("sign_in"), ["page"]);
    assert_eq!(origins("consent"), ["page"; 2]);
    assert_eq!(origins("token_issue"), ["client"; 2]);
    assert_eq!(origins("app_register"), ["client"]);
}

/// Events are logged as JSON under their own target. Counted events are logged at the latest
/// when the server stops.
#[tokio::test(flavor = "multi_thread")]
async fn events_are_logged_even_if_the_log_level_is_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    let password = add_account(path, "alice");
    std::fs::write(path.join("belfry.toml"), "[log]\nlevel = 'error'\n").unwrap();
    let mut server = ServerProcess::start(path, &[]);
    let mut browser = Browser::over_http(&server.url);
    let page = browser.get("/oauth/sign_in").await;
    let wrong_fields = [("username", "alice"), ("password", "wrong horse")];
    assert_eq!(browser.submit(&page, "/oauth/sign_in", &wrong_fields).await.status, 401);
    let correct_fields = [("username", "alice"), ("password", &*password)];
    assert_eq!(browser.submit(&page, "/oauth/sign_in", &correct_fields).await.status, 303);
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));

    let log = server.log();
    let log_lines: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let fields = ["target", "kind", "outcome", "origin", "address", "count"];
    let summaries: Vec<Value> =
        log_lines.iter().map(|event| fields.map(|field| event[field].clone()).into()).collect();
    let expected_event =
        |outcome, origin| json!(["belfry::audit", "sign_in", outcome, origin, "127.0.0.1", 1]);
    assert_eq!(summaries.len(), 2, "{log}");
    assert!(
        summaries.contains(&expected_event("success", "page"))
            && summaries.contains(&expected_event("failure", "page")),
        "{log}"
    );
    assert!(log_lines.iter().all(|event| event["account"].is_string()), "{log}");
    for secret in [&*password, "wrong horse", browser.session_cookie()] {
        assert!(!log.contains(secret), "{log}");
    }
    let output = run_successfully(path, &["audit", "--json"]);
    let events: Vec<Value> =
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<Value> = events
        .iter()
        .map(|event| json!([event["kind"], event["outcome"], event["account"]]))
        .collect();
    for expected in [
        json!(["account_add", "success", "alice"]),
        json!(["sign_in", "failure", "alice"]),
        json!(["sign_in", "success", "alice"]),
    ] {
        assert!(kinds.contains(&expected), "{kinds:?}");
    }
}
