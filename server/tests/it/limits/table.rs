//! Which calls count, for whom, and how many there may be.

use belfry::config::{Config, LimitMode};

use super::{admitted, is_admitted};
use crate::support::caller::address;
use crate::support::service::config;
use crate::support::{Service, TestDatabase};

/// [126, 132]
#[tokio::test]
async fn an_account_has_300_calls_in_5_minutes_over_all_its_tokens_and_addresses() {
    let service = Service::start().await;
    let mut tokens = Vec::new();
    for _ in 0..4 {
        tokens.push(service.person("alice").await);
    }
    for call in 0..300_u16 {
        let caller = tokens[usize::from(call % 4)].at(address((call % 200).try_into().unwrap()));
        assert!(is_admitted(&caller, "GET /api/v1/timelines/home").await, "call {call}");
    }
    for token in &tokens {
        assert!(!is_admitted(&token.at(address(210)), "GET /api/v1/timelines/home").await);
    }
    let bob = service.person("bob").await.at(address(1));
    assert!(is_admitted(&bob, "GET /api/v1/timelines/home").await, "another account");
    service.clock.advance(300);
    assert!(is_admitted(&tokens[0], "GET /api/v1/timelines/home").await, "the next window");
}

/// [132]
#[tokio::test]
async fn an_address_has_300_calls_in_5_minutes_over_all_accounts() {
    let service = Service::start().await;
    let mut callers = vec![service.anyone()];
    for name in ["alice", "bob", "carol", "dave"] {
        callers.push(service.person(name).await);
    }
    for call in 0..300 {
        assert!(is_admitted(&callers[call % 5], "GET /api/v1/x").await, "call {call}");
    }
    for caller in &callers {
        assert!(!is_admitted(caller, "GET /api/v1/x").await);
        assert!(is_admitted(&caller.at(address(2)), "GET /api/v1/x").await, "another address");
    }
}

#[tokio::test]
async fn an_account_uploads_30_media_in_30_minutes() {
    let service = Service::start().await;
    let alice = service.person("alice").await;
    assert_eq!(admitted(&alice, "POST /api/v1/media", 40).await, 30);
    assert!(is_admitted(&alice, "GET /api/v1/media").await, "other calls go on");
    assert!(
        !is_admitted(&service.person("alice").await.at(address(2)), "POST /api/v1/media").await
    );
    service.clock.advance(1799);
    assert!(!is_admitted(&alice, "POST /api/v1/media").await);
    service.clock.advance(1);
    assert!(is_admitted(&alice, "POST /api/v1/media").await);
}

/// [129, 130]
#[tokio::test]
async fn deletes_and_unreblogs_share_30() {
    let service = Service::start().await;
    let alice = service.person("alice").await;
    for id in 0..15 {
        assert!(is_admitted(&alice, &format!("DELETE /api/v1/statuses/{id}")).await);
        assert!(is_admitted(&alice, &format!("POST /api/v1/statuses/{id}/unreblog")).await);
    }
    for _ in 0..20 {
        assert!(!is_admitted(&alice, "DELETE /api/v1/statuses/99").await);
        assert!(!is_admitted(&alice, "POST /api/v1/statuses/99/unreblog").await);
    }
    let answer = alice.get("/api/v1/statuses/1").await;
    assert_eq!(answer.header("x-ratelimit-remaining"), "269", "refused calls cost nothing");
}

#[tokio::test]
async fn an_address_signs_up_5_in_30_minutes() {
    let service = Service::start().await;
    let anyone = service.anyone();
    assert_eq!(admitted(&anyone, "POST /api/v1/accounts", 8).await, 5);
    let alice = service.person("alice").await;
    assert!(!is_admitted(&alice, "POST /api/v1/accounts").await, "also with a token");
    assert!(is_admitted(&anyone.at(address(2)), "POST /api/v1/accounts").await);
    assert!(is_admitted(&anyone, "GET /api/v1/accounts").await);
}

/// [124]
#[tokio::test]
async fn no_spelling_of_a_path_dodges_its_limit() {
    let service = Service::start().await;
    let alice = service.person("alice").await;
    assert_eq!(admitted(&alice, "POST /api/v1/media", 30).await, 30);
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

/// [92, 125]
#[tokio::test]
async fn every_method_is_counted_once_and_none_is_overridden() {
    let service = Service::start().await;
    let alice = service.person("alice").await;
    for (call, method) in ["GET", "HEAD", "OPTIONS", "PATCH", "BREW"].iter().enumerate() {
        let answer = alice.call(&format!("{method} /x"), "").await;
        let left = (299 - call).to_string();
        assert_eq!(answer.header("x-ratelimit-remaining"), left, "{method}");
    }
    let disguised = alice.with("x-http-method-override", "GET");
    assert_eq!(admitted(&disguised, "POST /api/v1/media?_method=get", 31).await, 30);
}

/// What a browser asks before a page may call: the page could not read a refusal.
#[tokio::test]
async fn options_are_counted_but_where_any_page_may_call() {
    let service = Service::start().await;
    let anyone = service.anyone();
    for path in ["/api/v1/x", "/oauth/token", "/_matrix/client/v3/pushrules/"] {
        let what = format!("OPTIONS {path}");
        assert_eq!(admitted(&anyone, &what, 310).await, 310, "{path}");
        assert_eq!(anyone.call(&what, "").await.header("x-ratelimit-limit"), "", "{path}");
    }
    assert_eq!(admitted(&anyone, "OPTIONS /oauth/authorize", 310).await, 300);
    let refused = anyone.get("/api/v1/x").await;
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (429, "*"));
    assert!(refused.header("access-control-expose-headers").contains("Retry-After"));
}

/// [131]
#[tokio::test]
async fn bad_tokens_count_for_their_address_and_never_for_an_account() {
    let service = Service::start().await;
    let alice = service.person("alice").await;
    let revoked = service.person("alice").await.at(address(2));
    let digest = belfry_core::secret::Secret::new(revoked.token()).digest();
    service.store().revoke_token(digest, service.now()).await.unwrap();
    let made_up = service.anyone().at(address(3)).bearing("made-up");
    for bad in [revoked, made_up] {
        assert_eq!(admitted(&bad, "GET /api/v1/x", 310).await, 300);
    }
    let answer = alice.get("/api/v1/x").await;
    assert_eq!(answer.header("ratelimit"), r#""account";r=299;t=300, "ip";r=299;t=300"#);
}

#[tokio::test]
async fn a_token_counts_wherever_it_is_presented_and_two_count_for_nobody() {
    let service = Service::start().await;
    let alice = service.person("alice").await;
    let policy = async |caller: &crate::support::Caller, path: &str| {
        let answer = caller.get(path).await;
        answer.header("ratelimit-policy").contains("account")
    };
    let in_query = format!("/api/v1/x?a=b&access_token={}", alice.token());
    let escaped = in_query.replace("access_token", "%61ccess_token");
    assert!(policy(&alice, "/api/v1/x").await);
    assert!(policy(&service.anyone(), &in_query).await);
    assert!(policy(&service.anyone(), &escaped).await);
    assert!(!policy(&alice, &in_query).await, "in two places");
    assert!(!policy(&service.anyone(), "/api/v1/x?access_token=").await);
    // What counts for nobody opens nothing.
    for query in ["access_token=", "access_token=x", &format!("access_token={}", alice.token())] {
        let answer = alice.get(&format!("/api/v1/accounts/verify_credentials?{query}")).await;
        assert_eq!(answer.status, 401, "{query}");
    }
}

#[tokio::test]
async fn a_token_of_an_app_counts_for_its_address_alone() {
    let service = Service::start().await;
    let token = service.issue(None, "read").await;
    let answer = service.anyone().bearing(token.reveal()).get("/api/v1/x").await;
    assert_eq!(answer.header("ratelimit"), r#""ip";r=299;t=300"#);
}

#[tokio::test]
async fn an_application_service_is_counted_by_its_address_unless_it_is_registered_as_free() {
    for (rate_limited, passed) in
        [("", 300), ("rate_limited = true", 300), ("rate_limited = false", 310)]
    {
        let settings = format!(
            "[[application_services]]\nid = 'bot'\nas_token = 'token of bot'\n\
             sender_localpart = 'bot'\nnamespaces.users = []\n{rate_limited}\n"
        );
        let service = Service::with(toml::from_str(&settings).unwrap()).await;
        let bot = service.anyone().bearing("token of bot");
        assert_eq!(admitted(&bot, "GET /_matrix/x", 310).await, passed, "{rate_limited}");
        let left = if passed == 300 { 0 } else { 300 };
        assert_eq!(admitted(&service.anyone(), "GET /_matrix/x", 310).await, left, "its address");
    }
}

#[tokio::test]
async fn health_metrics_and_static_files_are_not_counted_and_all_else_is() {
    let service = Service::start().await;
    let anyone = service.anyone();
    for path in ["/healthz", "/readyz", "/metrics", "/static/belfry.css"] {
        assert_eq!(admitted(&anyone, &format!("GET {path}"), 310).await, 310, "{path}");
        assert_eq!(anyone.get(path).await.header("x-ratelimit-limit"), "", "{path}");
    }
    for (call, path) in
        ["/", "/nowhere", "/healthz/", "/oauth/token", "/_matrix/x"].iter().enumerate()
    {
        let left = (299 - call).to_string();
        assert_eq!(anyone.get(path).await.header("x-ratelimit-remaining"), left, "{path}");
    }
}

/// [127] A window begins with the first call, so a burst at its edge is in one window.
#[tokio::test]
async fn a_burst_does_not_pass_twice_over_a_round_edge_of_time() {
    let service = Service::start().await;
    service.clock.advance(299);
    assert_eq!(admitted(&service.anyone(), "GET /x", 300).await, 300);
    service.clock.advance(2);
    assert_eq!(admitted(&service.anyone(), "GET /x", 300).await, 0);
}

/// [135]
#[tokio::test]
async fn a_clock_that_is_set_back_or_far_forward_locks_nobody_out_and_gives_no_second_reset() {
    let service = Service::start().await;
    let anyone = service.anyone();
    assert_eq!(admitted(&anyone, "GET /x", 310).await, 300);
    service.clock.advance(-3600);
    assert!(!is_admitted(&anyone, "GET /x").await, "no free reset");
    service.clock.advance(300);
    assert_eq!(admitted(&anyone, "GET /x", 310).await, 300, "no longer than one window");
    service.clock.advance(86_400);
    assert_eq!(admitted(&anyone, "GET /x", 310).await, 300);
    service.clock.advance(-86_400);
    assert!(!is_admitted(&anyone, "GET /x").await);
}

/// [137] A refusal is cheap because it asks nobody: here nobody could be asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_call_does_not_touch_the_database() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let url = database.url().unwrap().to_owned();
    let service = Service::on(database, Config::default()).await;
    let anyone = service.anyone();
    assert_eq!(admitted(&anyone, "GET /x", 310).await, 300);

    let (mut client, connection) =
        tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let lock = client.transaction().await.unwrap();
    let tables = "lock table tokens, accounts, apps, sessions, rulesets in access exclusive mode";
    lock.batch_execute(tables).await.unwrap();
    let made_up = anyone.bearing("a token that nobody has");
    for call in [
        "GET /_matrix/client/v3/pushrules/",
        "PUT /_matrix/client/v3/pushrules/global/room/a",
        "POST /oauth/token",
        "POST /oauth/sign_in",
        "GET /api/v1/accounts/verify_credentials",
    ] {
        assert_eq!(made_up.call(call, "").await.status, 429, "{call}");
    }
    // Whoever is not over the limits would have had to ask.
    let elsewhere = made_up.at(address(9));
    assert_eq!(elsewhere.get("/_matrix/client/v3/pushrules/").await.status, 503);
    lock.rollback().await.unwrap();
}

#[tokio::test]
async fn shadow_counts_and_tells_and_never_refuses() {
    let service = Service::with(config(|config| config.limits.mode = LimitMode::Shadow)).await;
    let anyone = service.anyone();
    assert_eq!(admitted(&anyone, "GET /x", 310).await, 310);
    let answer = anyone.get("/x").await;
    assert_eq!(answer.header("x-ratelimit-remaining"), "0");
    assert_eq!(answer.header("retry-after"), "", "nobody has to wait");
    let metrics = anyone.get("/metrics").await.text;
    assert!(metrics.contains("belfry_limit_refused_total{limit=\"ip\"} 11\n"), "{metrics}");
}

#[tokio::test]
async fn off_counts_nothing_and_tells_nothing() {
    let service = Service::with(config(|config| config.limits.mode = LimitMode::Off)).await;
    let alice = service.person("alice").await;
    assert_eq!(admitted(&alice, "POST /api/v1/media", 310).await, 310);
    assert_eq!(alice.get("/x").await.header("x-ratelimit-limit"), "");
    assert_eq!(service.state.limits.state().keys, 0);
}
