//! The limit table over HTTP: which requests are counted, under which key, and how many are
//! admitted.

use belfry::config::{Config, RateLimitMode};
use belfry_runtime::clock::Clock;

use super::{count_admitted, is_admitted};
use crate::support::client::documentation_address;
use crate::support::service::config_with;
use crate::support::{Service, TestDatabase, any_events};

#[tokio::test]
async fn an_account_has_300_requests_in_5_minutes_over_all_tokens_and_addresses() {
    let service = Service::start().await;
    let mut alice_clients = Vec::new();
    for _ in 0..4 {
        alice_clients.push(service.user_client("alice").await);
    }
    for number in 0..300_u16 {
        let client = alice_clients[usize::from(number % 4)]
            .with_address(documentation_address((number % 200).try_into().unwrap()));
        assert!(is_admitted(&client, "GET /api/v1/timelines/home").await, "request {number}");
    }
    for client in &alice_clients {
        assert!(
            !is_admitted(
                &client.with_address(documentation_address(210)),
                "GET /api/v1/timelines/home"
            )
            .await
        );
    }
    let bob = service.user_client("bob").await.with_address(documentation_address(1));
    assert!(is_admitted(&bob, "GET /api/v1/timelines/home").await, "other accounts are admitted");
    service.clock.advance(300);
    assert!(
        is_admitted(&alice_clients[0], "GET /api/v1/timelines/home").await,
        "the limit resets in the next window"
    );
}

#[tokio::test]
async fn an_address_has_300_requests_in_5_minutes_over_all_accounts() {
    let service = Service::start().await;
    let mut clients = vec![service.anonymous_client()];
    for name in ["alice", "bob", "carol", "dave"] {
        clients.push(service.user_client(name).await);
    }
    for number in 0..300 {
        assert!(is_admitted(&clients[number % 5], "GET /api/v1/x").await, "request {number}");
    }
    for client in &clients {
        assert!(!is_admitted(client, "GET /api/v1/x").await);
        assert!(
            is_admitted(&client.with_address(documentation_address(2)), "GET /api/v1/x").await,
            "other addresses are admitted"
        );
    }
}

#[tokio::test]
async fn an_account_can_upload_30_media_files_in_30_minutes() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    assert_eq!(count_admitted(&alice, "POST /api/v1/media", 40).await, 30);
    assert!(is_admitted(&alice, "GET /api/v1/media").await, "other requests are admitted");
    assert!(
        !is_admitted(
            &service.user_client("alice").await.with_address(documentation_address(2)),
            "POST /api/v1/media"
        )
        .await
    );
    service.clock.advance(1799);
    assert!(!is_admitted(&alice, "POST /api/v1/media").await);
    service.clock.advance(1);
    assert!(is_admitted(&alice, "POST /api/v1/media").await);
}

#[tokio::test]
async fn deletes_and_unreblogs_share_a_limit_of_30() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    for id in 0..15 {
        assert!(is_admitted(&alice, &format!("DELETE /api/v1/statuses/{id}")).await);
        assert!(is_admitted(&alice, &format!("POST /api/v1/statuses/{id}/unreblog")).await);
    }
    for _ in 0..20 {
        assert!(!is_admitted(&alice, "DELETE /api/v1/statuses/99").await);
        assert!(!is_admitted(&alice, "POST /api/v1/statuses/99/unreblog").await);
    }
    let response = alice.get("/api/v1/statuses/1").await;
    assert_eq!(
        response.header("x-ratelimit-remaining"),
        "269",
        "rejected requests consume nothing"
    );
}

#[tokio::test]
async fn an_address_can_sign_up_5_accounts_in_30_minutes() {
    let service = Service::start().await;
    let anonymous = service.anonymous_client();
    assert_eq!(count_admitted(&anonymous, "POST /api/v1/accounts", 8).await, 5);
    let alice = service.user_client("alice").await;
    assert!(
        !is_admitted(&alice, "POST /api/v1/accounts").await,
        "a token does not raise the limit"
    );
    assert!(
        is_admitted(&anonymous.with_address(documentation_address(2)), "POST /api/v1/accounts")
            .await
    );
    assert!(is_admitted(&anonymous, "GET /api/v1/accounts").await);
}

#[tokio::test]
async fn no_spelling_of_a_path_evades_its_limit() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    assert_eq!(count_admitted(&alice, "POST /api/v1/media", 30).await, 30);
    for path in [
        "/api/v1/media/",
        "//api/v1/media",
        "/API/v1/Media",
        "/api/v1/%6dedia",
        "/api/v1/media;x",
        "/api/v1/media.json",
        "/api/v1/media?x=y",
        "/api/./v1/x/../media",
        "/api%2Fv1%2Fmedia",
        "http://elsewhere.example/api/v1/media",
    ] {
        assert!(!is_admitted(&alice, &format!("POST {path}")).await, "{path}");
    }
}

#[tokio::test]
async fn every_method_is_counted_once_and_overrides_are_ignored() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    for (number, method) in ["GET", "HEAD", "OPTIONS", "PATCH", "BREW"].iter().enumerate() {
        let response = alice.send(&format!("{method} /x"), "").await;
        let remaining = (299 - number).to_string();
        assert_eq!(response.header("x-ratelimit-remaining"), remaining, "{method}");
    }
    let overriding_client = alice.with_header("x-http-method-override", "GET");
    assert_eq!(count_admitted(&overriding_client, "POST /api/v1/media?_method=get", 31).await, 30);
}

/// CORS preflight requests are not counted, because a page could not read the rejection.
#[tokio::test]
async fn options_requests_are_counted_except_for_preflights() {
    let service = Service::start().await;
    let anonymous = service.anonymous_client();
    for path in ["/api/v1/x", "/oauth/token", "/_matrix/client/v3/pushrules/"] {
        let request = format!("OPTIONS {path}");
        assert_eq!(count_admitted(&anonymous, &request, 310).await, 310, "{path}");
        assert_eq!(anonymous.send(&request, "").await.header("x-ratelimit-limit"), "", "{path}");
    }
    assert_eq!(count_admitted(&anonymous, "OPTIONS /oauth/authorize", 310).await, 300);
    let rejection = anonymous.get("/api/v1/x").await;
    assert_eq!((rejection.status, rejection.header("access-control-allow-origin")), (429, "*"));
    assert!(rejection.header("access-control-expose-headers").contains("Retry-After"));
}

#[tokio::test]
async fn invalid_tokens_count_for_their_address_and_never_for_an_account() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    let revoked_token_client =
        service.user_client("alice").await.with_address(documentation_address(2));
    let revoked_token = belfry_core::secret::SplitToken::parse(revoked_token_client.token())
        .unwrap()
        .hashed_secret()
        .lookup_key;
    service.store().revoke_token(&any_events(), revoked_token, service.now()).await.unwrap();
    let unknown_token_client =
        service.anonymous_client().with_address(documentation_address(3)).with_token("made-up");
    for client in [revoked_token_client, unknown_token_client] {
        assert_eq!(count_admitted(&client, "GET /api/v1/x", 310).await, 300);
    }
    let response = alice.get("/api/v1/x").await;
    assert_eq!(response.header("ratelimit"), r#""account";r=299;t=300, "ip";r=299;t=300"#);
}

#[tokio::test]
async fn a_token_in_header_or_query_counts_for_its_account_but_two_tokens_do_not() {
    let service = Service::start().await;
    let alice = service.user_client("alice").await;
    let counts_for_account = async |client: &crate::support::TestClient, path: &str| {
        let response = client.get(path).await;
        response.header("ratelimit-policy").contains("account")
    };
    let path_with_token = format!("/api/v1/x?a=b&access_token={}", alice.token());
    let escaped_path = path_with_token.replace("access_token", "%61ccess_token");
    assert!(counts_for_account(&alice, "/api/v1/x").await);
    assert!(counts_for_account(&service.anonymous_client(), &path_with_token).await);
    assert!(counts_for_account(&service.anonymous_client(), &escaped_path).await);
    assert!(
        !counts_for_account(&alice, &path_with_token).await,
        "a token in two places is not used"
    );
    assert!(!counts_for_account(&service.anonymous_client(), "/api/v1/x?access_token=").await);
    // Two tokens grant no access either.
    for query in ["access_token=", "access_token=x", &format!("access_token={}", alice.token())] {
        let response = alice.get(&format!("/api/v1/accounts/verify_credentials?{query}")).await;
        assert_eq!(response.status, 401, "{query}");
    }
}

#[tokio::test]
async fn a_limit_per_app_counts_all_its_users() {
    let settings = "[limits.rows]\n\
        app = { per = 'app', match = ['*'], requests = 5, window = '1m' }";
    let service = Service::start_with(toml::from_str(settings).unwrap()).await;
    // All tokens of the fixture belong to one app.
    let [alice, bob] = [service.user_client("alice").await, service.user_client("bob").await];
    assert_eq!(count_admitted(&alice, "GET /api/v1/x", 3).await, 3);
    assert_eq!(count_admitted(&bob, "GET /api/v1/x", 3).await, 2);
    let app_client =
        service.anonymous_client().with_token(service.issue_token(None, "read").await.reveal());
    assert_eq!(count_admitted(&app_client, "GET /api/v1/x", 3).await, 0);
    assert_eq!(
        count_admitted(&service.anonymous_client(), "GET /api/v1/x", 3).await,
        3,
        "requests without a token are admitted"
    );
}

/// The application service sends every event from one address.
#[tokio::test]
async fn the_documented_application_service_is_not_limited() {
    let guide = include_str!("../../../../docs/evaluation.md");
    let settings = guide.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let service = Service::start_with(toml::from_str(settings).unwrap()).await;
    let application_service = service.anonymous_client().with_token("a long secret");
    assert_eq!(
        count_admitted(&application_service, "POST /_matrix/app/v1/evaluate", 310).await,
        310
    );
}

#[tokio::test]
async fn an_application_service_counts_for_its_address_only_if_its_registration_requires_it() {
    for (rate_limited, admitted) in
        [("", 310), ("rate_limited = true", 300), ("rate_limited = false", 310)]
    {
        let settings = format!(
            "[[application_services]]\nid = 'bot'\nas_token = 'token of bot'\n\
             sender_localpart = 'bot'\nnamespaces.users = []\n{rate_limited}\n"
        );
        let service = Service::start_with(toml::from_str(&settings).unwrap()).await;
        let bot = service.anonymous_client().with_token("token of bot");
        assert_eq!(count_admitted(&bot, "GET /_matrix/x", 310).await, admitted, "{rate_limited}");
        let remaining_for_address = if admitted == 300 { 0 } else { 300 };
        assert_eq!(
            count_admitted(&service.anonymous_client(), "GET /_matrix/x", 310).await,
            remaining_for_address,
            "the address is limited like the application service"
        );
    }
}

#[tokio::test]
async fn everything_but_health_metrics_and_static_files_is_counted() {
    let service = Service::start().await;
    let anonymous = service.anonymous_client();
    let operator = service.operator_client();
    for path in ["/healthz", "/readyz", "/metrics", "/oauth/static/belfry.css"] {
        assert_eq!(count_admitted(&operator, &format!("GET {path}"), 310).await, 310, "{path}");
        assert_eq!(operator.get(path).await.header("x-ratelimit-limit"), "", "{path}");
    }
    for (number, path) in
        ["/", "/nowhere", "/healthz/", "/oauth/token", "/_matrix/x"].iter().enumerate()
    {
        let remaining = (299 - number).to_string();
        assert_eq!(anonymous.get(path).await.header("x-ratelimit-remaining"), remaining, "{path}");
    }
}

/// Rejections must be cheap. While the tables are locked, a query would fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejected_request_does_not_use_the_database() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let url = database.url().unwrap().to_owned();
    let service = Service::start_on(database, Config::default()).await;
    let anonymous = service.anonymous_client();
    assert_eq!(count_admitted(&anonymous, "GET /x", 310).await, 300);

    let (mut client, connection) =
        tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let lock = client.transaction().await.unwrap();
    let lock_tables =
        "lock table tokens, accounts, apps, sessions, rulesets in access exclusive mode";
    lock.batch_execute(lock_tables).await.unwrap();
    let unknown_token = belfry_runtime::random::split_token(service.clock.now());
    let unknown_token_client = anonymous.with_token(unknown_token.reveal());
    for request in [
        "GET /_matrix/client/v3/pushrules/",
        "PUT /_matrix/client/v3/pushrules/global/room/a",
        "POST /oauth/token",
        "POST /oauth/sign_in",
        "GET /api/v1/accounts/verify_credentials",
    ] {
        assert_eq!(unknown_token_client.send(request, "").await.status, 429, "{request}");
    }
    // A request within its limits needs the database.
    let client_elsewhere = unknown_token_client.with_address(documentation_address(9));
    assert_eq!(client_elsewhere.get("/_matrix/client/v3/pushrules/").await.status, 503);
    lock.rollback().await.unwrap();
}

#[tokio::test]
async fn shadow_mode_counts_and_reports_and_never_rejects() {
    let service =
        Service::start_with(config_with(|config| config.limits.mode = RateLimitMode::Shadow)).await;
    let anonymous = service.anonymous_client();
    assert_eq!(count_admitted(&anonymous, "GET /x", 310).await, 310);
    let response = anonymous.get("/x").await;
    assert_eq!(response.header("x-ratelimit-remaining"), "0");
    assert_eq!(response.header("retry-after"), "");
    let metrics = service.metrics().await;
    assert!(
        metrics
            .contains("belfry_rate_limit_decisions_total{limit=\"ip\",outcome=\"rejected\"} 11\n"),
        "{metrics}"
    );
}

#[tokio::test]
async fn off_mode_counts_and_reports_nothing() {
    let service =
        Service::start_with(config_with(|config| config.limits.mode = RateLimitMode::Off)).await;
    let alice = service.user_client("alice").await;
    assert_eq!(count_admitted(&alice, "POST /api/v1/media", 310).await, 310);
    assert_eq!(alice.get("/x").await.header("x-ratelimit-limit"), "");
    assert_eq!(service.state.limits.engine.state().keys, 0);
}
