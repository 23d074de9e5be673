//! Secrets are neither stored nor logged in plain text.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::browser::with_query;
use crate::support::oauth_client::CALLBACK;
use crate::support::process::run_successfully;
use crate::support::{Browser, Process};

/// Returns the bytes of all files in a directory.
fn contents(dir: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        all.extend(if path.is_dir() { contents(&path) } else { fs::read(&path).unwrap() });
    }
    all
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_of_a_complete_flow_is_in_the_data_or_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = Process::start(dir.path(), &["--log-level", "trace", "--limits", "off"]);
    let output = run_successfully(dir.path(), &["account", "add", "alice"]);
    let password = output.lines().find_map(|line| line.strip_prefix("password: ")).unwrap();
    let mut secrets = vec![("password", password.to_owned())];

    let http = reqwest::Client::new();
    let base = process.url.clone();
    let url = |path: &str| format!("{base}{path}");
    let post = async |path: &str, fields: &[(&str, &str)]| -> Value {
        http.post(url(path)).form(fields).send().await.unwrap().json().await.unwrap()
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let redirect_uris = format!("{CALLBACK}\nurn:ietf:wg:oauth:2.0:oob");
    let app = post(
        "/api/v1/apps",
        &[("client_name", "A"), ("redirect_uris", &redirect_uris), ("scopes", "read write")],
    )
    .await;
    let (id, secret) = (text(&app["client_id"]), text(&app["client_secret"]));
    secrets.push(("client secret", secret.clone()));
    let client = [("client_id", &*id), ("client_secret", &*secret)];

    // A wrong password, then one code by redirect and one out of band.
    let mut browser = Browser::over_http(&base);
    let authorize = |uri: &str| {
        with_query(
            "/oauth/authorize",
            &[("response_type", "code"), ("client_id", &id), ("redirect_uri", uri)],
        )
    };
    let page = browser.get(&authorize(CALLBACK)).await;
    secrets.push(("cookie before sign-in", browser.cookie().to_owned()));
    let wrong = [("username", "alice"), ("password", "a wrong password")];
    secrets.push(("wrong password", "a wrong password".to_owned()));
    assert_eq!(browser.submit(&page, "/oauth/sign_in", &wrong).await.status, 401);
    let right = [("username", "alice"), ("password", password)];
    let signed_in = browser.submit(&page, "/oauth/sign_in", &right).await;
    let page = browser.follow(&signed_in).await;
    secrets.push(("cookie", browser.cookie().to_owned()));
    secrets.push(("form token", page.form("/oauth/authorize")[0].1.clone()));
    let code = browser.decide(&page, "allow").await.redirect_parameters(CALLBACK)["code"].clone();
    secrets.push(("code", code.clone()));
    let page = browser.get(&authorize("urn:ietf:wg:oauth:2.0:oob")).await;
    let response = browser.decide(&page, "allow").await;
    browser.follow(&response).await.assert_page(200, "id=\"code\"");
    secrets.push(("shown code", browser.cookies["belfry-code"].clone()));

    let mut fields =
        vec![("grant_type", "authorization_code"), ("code", &*code), ("redirect_uri", CALLBACK)];
    fields.extend(client);
    let token = text(&post("/oauth/token", &fields).await["access_token"]);
    secrets.push(("token", token.clone()));
    let mut fields = vec![("grant_type", "client_credentials"), ("scope", "write:accounts")];
    fields.extend(client);
    let app_token = text(&post("/oauth/token", &fields).await["access_token"]);
    secrets.push(("app token", app_token.clone()));
    let chosen = "a chosen password";
    let signed_up: Value = http
        .post(url("/api/v1/accounts"))
        .bearer_auth(&app_token)
        .form(&[
            ("username", "bob"),
            ("email", "b@example.org"),
            ("password", chosen),
            ("agreement", "true"),
        ])
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    secrets.push(("chosen password", chosen.to_owned()));
    secrets.push(("sign-up token", text(&signed_up["access_token"])));
    for path in ["/oauth/introspect", "/oauth/revoke"] {
        let mut fields = vec![("token", &*token)];
        fields.extend(client);
        post(path, &fields).await;
    }
    // Secrets in a query, and in a header of another scheme.
    for path in [
        format!("/oauth/token?code={code}&client_secret={secret}"),
        format!("/oauth/userinfo?access_token={app_token}"),
    ] {
        http.get(url(&path))
            .header("authorization", format!("Basic {token}"))
            .send()
            .await
            .unwrap();
    }

    process.signal("TERM");
    assert_eq!(process.wait(), Some(0));
    let (data, log) = (contents(&dir.path().join("data")), process.log());
    assert!(
        contains(&data, "alice") && contains(&data, &id),
        "the search must find values that are not secret"
    );
    assert!(log.contains("/oauth/token"), "the log must contain the requests: {log}");
    for (name, secret) in secrets {
        assert!(secret.len() >= 16, "{name}");
        assert!(!contains(&data, &secret), "the {name} is in the data");
        assert!(!log.contains(&secret), "the {name} is in the log");
    }
}
