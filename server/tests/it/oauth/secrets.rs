//! Secrets are neither stored nor logged in plain text.

use serde_json::Value;

use crate::support::browser::with_query;
use crate::support::files::{contains, read_all_files};
use crate::support::oauth_client::CALLBACK;
use crate::support::process::run_successfully;
use crate::support::{Browser, ServerProcess};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_is_in_the_data_or_the_log_after_a_complete_flow() {
    let dir = tempfile::tempdir().unwrap();
    let flags = ["--log-level", "trace", "--limits", "off"];
    let mut process = ServerProcess::start(dir.path(), &flags);
    let output = run_successfully(dir.path(), &["account", "add", "alice"]);
    let password = output.lines().find_map(|line| line.strip_prefix("password: ")).unwrap();
    let mut secrets = vec![("password", password.to_owned())];

    let http_client = reqwest::Client::new();
    let base_url = process.url.clone();
    let url = |path: &str| format!("{base_url}{path}");
    let post = async |path: &str, fields: &[(&str, &str)]| -> Value {
        http_client.post(url(path)).form(fields).send().await.unwrap().json().await.unwrap()
    };
    let string_value = |value: &Value| value.as_str().unwrap().to_owned();
    let redirect_uris = format!("{CALLBACK}\nurn:ietf:wg:oauth:2.0:oob");
    let registration =
        [("client_name", "A"), ("redirect_uris", &redirect_uris), ("scopes", "read write")];
    let app = post("/api/v1/apps", &registration).await;
    let (id, secret) = (string_value(&app["client_id"]), string_value(&app["client_secret"]));
    secrets.push(("client secret", secret.clone()));
    let client_credentials = [("client_id", &*id), ("client_secret", &*secret)];

    // A wrong password, then one code by redirect and one out of band.
    let mut browser = Browser::over_http(&base_url);
    let authorize_path = |uri: &str| {
        with_query(
            "/oauth/authorize",
            &[("response_type", "code"), ("client_id", &id), ("redirect_uri", uri)],
        )
    };
    let page = browser.get(&authorize_path(CALLBACK)).await;
    secrets.push(("cookie before sign-in", browser.session_cookie().to_owned()));
    let wrong_credentials = [("username", "alice"), ("password", "a wrong password")];
    secrets.push(("wrong password", "a wrong password".to_owned()));
    assert_eq!(browser.submit(&page, "/oauth/sign_in", &wrong_credentials).await.status, 401);
    let credentials = [("username", "alice"), ("password", password)];
    let response = browser.submit(&page, "/oauth/sign_in", &credentials).await;
    let page = browser.follow(&response).await;
    secrets.push(("cookie", browser.session_cookie().to_owned()));
    secrets.push(("form token", page.hidden_fields("/oauth/authorize")[0].1.clone()));
    let code = browser.decide(&page, "allow").await.redirect_parameters(CALLBACK)["code"].clone();
    secrets.push(("code", code.clone()));
    let page = browser.get(&authorize_path("urn:ietf:wg:oauth:2.0:oob")).await;
    let response = browser.decide(&page, "allow").await;
    browser.follow(&response).await.assert_page(200, "id=\"code\"");
    secrets.push(("shown code", browser.cookies["belfry-code"].clone()));

    let mut fields =
        vec![("grant_type", "authorization_code"), ("code", &*code), ("redirect_uri", CALLBACK)];
    fields.extend(client_credentials);
    let token = string_value(&post("/oauth/token", &fields).await["access_token"]);
    secrets.push(("token", token.clone()));
    let mut fields = vec![("grant_type", "client_credentials"), ("scope", "write:accounts")];
    fields.extend(client_credentials);
    let app_token = string_value(&post("/oauth/token", &fields).await["access_token"]);
    secrets.push(("app token", app_token.clone()));
    let chosen_password = "a chosen password";
    let sign_up_response: Value = http_client
        .post(url("/api/v1/accounts"))
        .bearer_auth(&app_token)
        .form(&[
            ("username", "bob"),
            ("email", "b@example.org"),
            ("password", chosen_password),
            ("agreement", "true"),
        ])
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    secrets.push(("chosen password", chosen_password.to_owned()));
    secrets.push(("sign-up token", string_value(&sign_up_response["access_token"])));
    for path in ["/oauth/introspect", "/oauth/revoke"] {
        let mut fields = vec![("token", &*token)];
        fields.extend(client_credentials);
        post(path, &fields).await;
    }
    // Secrets in a query, and in a header of a different scheme.
    for path in [
        format!("/oauth/token?code={code}&client_secret={secret}"),
        format!("/oauth/userinfo?access_token={app_token}"),
    ] {
        http_client
            .get(url(&path))
            .header("authorization", format!("Basic {token}"))
            .send()
            .await
            .unwrap();
    }

    process.signal("TERM");
    assert_eq!(process.wait(), Some(0));
    let (data, log) = (read_all_files(&dir.path().join("data")), process.log());
    assert!(
        contains(&data, b"alice") && contains(&data, id.as_bytes()),
        "the search must find values that are not secret"
    );
    assert!(log.contains("/oauth/token"), "the log must contain the requests: {log}");
    for (name, secret) in secrets {
        assert!(secret.len() >= 13, "{name}");
        assert!(!contains(&data, secret.as_bytes()), "the {name} is in the data");
        assert!(!log.contains(&secret), "the {name} is in the log");
    }
}
