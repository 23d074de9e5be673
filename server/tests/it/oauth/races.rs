//! What happens when many come at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::support::browser::form;
use crate::support::client::{CALLBACK, error_of, refused, token_of};
use crate::support::process::run_successfully;
use crate::support::service::unlimited;
use crate::support::{Browser, Process, Service, TestDatabase};

/// Attack 46: 200 parallel exchanges of one code.
async fn of_200_exchanges_one_succeeds(database: TestDatabase) {
    let service = Service::on(database, unlimited()).await;
    service.add_account("alice").await;
    let client = service.client().await;
    let code: Arc<str> = client.code(&mut service.browser(), "alice", &[]).await.into();
    let exchanges: JoinSet<_> = (0..200)
        .map(|_| {
            let (client, code) = (client.clone(), Arc::clone(&code));
            async move { client.spend(&code, &[]).await }
        })
        .collect();
    let mut good = Vec::new();
    for answer in exchanges.join_all().await {
        if answer.status == 200 {
            good.push(token_of(&answer));
        } else {
            assert_eq!(error_of(&answer), refused(400, "invalid_grant"));
        }
    }
    assert_eq!(good.len(), 1);
    // Attack 44: the others were replays, and whoever was first may be the thief.
    let first = service.anyone().bearing(&good[0]);
    assert_eq!(first.get("/api/v1/apps/verify_credentials").await.status, 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_200_exchanges_of_one_code_one_succeeds_on_sqlite() {
    of_200_exchanges_one_succeeds(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_200_exchanges_of_one_code_one_succeeds_on_postgres() {
    if let Some(database) = TestDatabase::postgres().await {
        of_200_exchanges_one_succeeds(database).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_200_exchanges_of_one_code_over_two_nodes_one_succeeds() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--database", database.url().unwrap(), "--limits", "off"];
    let nodes =
        [Process::start(folder.path(), &arguments), Process::start(folder.path(), &arguments)];
    let password =
        run_successfully(folder.path(), &["account", "add", "alice", arguments[0], arguments[1]]);
    let password = password.lines().find_map(|line| line.strip_prefix("password: ")).unwrap();

    let http = reqwest::Client::new();
    let app: serde_json::Value = http
        .post(format!("{}/api/v1/apps", nodes[0].url))
        .form(&[("client_name", "A"), ("redirect_uris", CALLBACK)])
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    let (id, secret) = (app["client_id"].as_str().unwrap(), app["client_secret"].as_str().unwrap());
    // The page of one node is answered by the other.
    let path = crate::support::browser::with_query(
        "/oauth/authorize",
        &[("response_type", "code"), ("client_id", id), ("redirect_uri", CALLBACK)],
    );
    let mut browser = Browser::over_http(&nodes[0].url);
    let page = browser.get(&path).await;
    let fields = [("username", "alice"), ("password", password)];
    browser.move_to(&nodes[1].url);
    let welcome = browser.submit(&page, "/oauth/sign_in", &fields).await;
    browser.move_to(&nodes[0].url);
    let page = browser.follow(&welcome).await;
    let code = browser.decide(&page, "allow").await.redirected(CALLBACK)["code"].clone();

    let body = form(&[
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("redirect_uri", CALLBACK),
        ("client_id", id),
        ("client_secret", secret),
    ]);
    let exchanges: JoinSet<_> = (0..200)
        .map(|number| {
            let call = http
                .post(format!("{}/oauth/token", nodes[number % 2].url))
                .header("content-type", "application/x-www-form-urlencoded")
                .body(body.clone());
            async move { call.send().await.unwrap().status().as_u16() }
        })
        .collect();
    let statuses = exchanges.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 400).count(), 199, "{statuses:?}");
}

// Attack 41.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_who_press_the_button_at_once_one_gets_a_code() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let client = service.client().await;
    let mut browser = service.browser();
    let page = browser.get(&client.authorize(&[])).await;
    let page = browser.sign_in(&page, "alice").await;
    let hidden = page.form("/oauth/authorize");
    let mut fields: Vec<(&str, &str)> =
        hidden.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    fields.push(("decision", "allow"));
    let (body, cookie) = (form(&fields), format!("__Host-belfry={}", browser.cookie()));
    let presses: JoinSet<_> = (0..32)
        .map(|_| {
            let caller = client.caller.with("cookie", &cookie);
            let body = body.clone();
            async move { caller.call("POST /oauth/authorize", body).await.status }
        })
        .collect();
    let statuses = presses.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 303).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 400).count(), 31, "{statuses:?}");
}

// Attack 115.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_wrong_passwords_at_once_leave_the_rest_answering() {
    let service = Service::with(unlimited()).await;
    let alice = service.person("alice").await;
    let mut browser = service.browser();
    let page = browser.get("/oauth/sign_in").await;
    let csrf = page.form("/oauth/sign_in")[0].1.clone();
    let body = form(&[("csrf", &csrf), ("username", "alice"), ("password", "wrong")]);
    let caller = service
        .anyone()
        .with("cookie", &format!("__Host-belfry={}", browser.cookie()))
        .with("content-type", "application/x-www-form-urlencoded");
    let mut attempts: JoinSet<_> = (0..100)
        .map(|_| {
            let (caller, body) = (caller.clone(), body.clone());
            async move { caller.call("POST /oauth/sign_in", body).await.status }
        })
        .collect();
    // While they are hashed, everything else is answered.
    let mut answered = 0;
    let mut statuses = Vec::new();
    let began = Instant::now();
    while statuses.len() < 100 {
        let answer = alice.get("/_matrix/client/v3/pushrules/").await;
        assert_eq!(answer.status, 200);
        answered += 1;
        while let Some(status) = attempts.try_join_next() {
            statuses.push(status.unwrap());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(began.elapsed() < Duration::from_mins(2), "{statuses:?}");
    }
    assert!(answered > 10, "{answered}");
    assert!(statuses.iter().all(|status| matches!(status, 401 | 503)), "{statuses:?}");
    assert!(statuses.contains(&401), "{statuses:?}");
}
