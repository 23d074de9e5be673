//! `GET /oauth/authorize`: what is checked, what is told to whom, and where an answer goes.

use crate::support::client::CALLBACK;
use crate::support::{Browser, Client, Service};

async fn with_alice() -> (Service, Client, Browser) {
    let service = Service::start().await;
    service.add_account("alice").await;
    let (client, browser) = (service.client().await, service.browser());
    (service, client, browser)
}

// Attacks 1 to 5, 9, 10, 12, 13, 15, 16, 22 and 23.
#[tokio::test]
async fn a_bad_client_or_redirect_uri_gets_a_page_and_no_redirect() {
    let (service, client, mut browser) = with_alice().await;
    let registered = "http://127.0.0.1/cb\nhttp://localhost/cb";
    let desk = Client::register_with(service.anyone(), registered, "read").await;
    // Whether somebody is signed in or not.
    for signed_in in [false, true] {
        if signed_in {
            client.code(&mut browser, "alice", &[]).await;
        }
        for sent in [
            "https://evil.example/cb",
            "https://app.example/cb/",
            "https://app.example/cb?x=1",
            "https://app.example/cb/../evil",
            "https://app.example//cb",
            "HTTPS://app.example/cb",
            "https://app.example:443/cb",
            "https://app.example@evil.example/cb",
            "https://app.example/cb#",
            "https://app.example/cb\r\nX: y",
            "urn:ietf:wg:oauth:2.0:oob",
            "",
        ] {
            let page = browser.get(&client.answered_at(sent).authorize(&[])).await;
            page.page(400, "invalid_request");
        }
        for sent in [
            "http://127.0.0.1:1/other",
            "https://127.0.0.1/cb",
            "http://127.0.0.2/cb",
            "http://127.1/cb",
            "http://evil@127.0.0.1/cb",
            "http://localhost:4000/cb",
            "http://localhost./cb",
        ] {
            browser.get(&desk.answered_at(sent).authorize(&[])).await.page(400, "invalid_request");
        }
        let twice = [("redirect_uri", CALLBACK)];
        browser.get(&client.authorize(&twice)).await.page(400, "invalid_request");
        let unknown = Client { id: "unknown".to_owned(), ..client.clone() };
        let page = browser.get(&unknown.authorize(&[])).await;
        page.page(401, "invalid_client");
        assert_eq!(page.header("www-authenticate"), "", "a browser would ask for a password");
        let two = [("client_id", "other")];
        browser.get(&client.authorize(&two)).await.page(400, "client_id");
        browser.get("/oauth/authorize").await.page(400, "client_id");
    }
}

// Attacks 18, 19, 25, 27, 28, 29, 36 and 52.
#[tokio::test]
async fn what_else_is_wrong_is_told_to_the_app_after_the_user_has_signed_in() {
    let (_service, client, _) = with_alice().await;
    let challenge = ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    for (more, error) in [
        (vec![("scope", "nope")], "invalid_scope"),
        (vec![("scope", "admin:write")], "invalid_scope"),
        (vec![("scope", "read  write")], "invalid_scope"),
        (vec![("scope[]", "read")], "invalid_request"),
        (vec![("scope", "read"), ("scope", "read")], "invalid_request"),
        (vec![("response_mode", "web_message")], "invalid_request"),
        (vec![challenge], "invalid_request"),
        (vec![challenge, ("code_challenge_method", "plain")], "invalid_request"),
        (vec![challenge, ("code_challenge_method", "s256")], "invalid_request"),
        (vec![("code_challenge", "short"), ("code_challenge_method", "S256")], "invalid_request"),
    ] {
        let mut browser = Browser::new(client.caller.clone());
        let more: Vec<_> = [("state", "s")].into_iter().chain(more).collect();
        let page = browser.get(&client.authorize(&more)).await;
        page.page(200, "name=\"password\"");
        let answer = browser.sign_in(&page, "alice").await;
        let told = answer.redirected(CALLBACK);
        assert_eq!(told["error"], error, "{more:?}");
        assert_eq!((&*told["state"], &*told["iss"]), ("s", "https://ring.example/"));
        assert!(!told["error_description"].is_empty());
        assert_eq!(told.get("code"), None);
        // In a live session there is nothing to sign in for.
        let again = browser.get(&client.authorize(&more)).await;
        assert_eq!(again.redirected(CALLBACK)["error"], error);
    }
    for wrong in ["token", "id_token", "code token", "Code", "code "] {
        let mut browser = Browser::new(client.caller.clone());
        let url = client
            .authorize(&[])
            .replace("response_type=code", &format!("response_type={}", wrong.replace(' ', "%20")));
        let page = browser.get(&url).await;
        let answer = browser.sign_in(&page, "alice").await;
        assert_eq!(answer.redirected(CALLBACK)["error"], "unsupported_response_type", "{wrong}");
    }
}

#[tokio::test]
async fn an_approved_request_is_answered_with_code_state_and_issuer() {
    let (_service, client, mut browser) = with_alice().await;
    let page = browser.get(&client.authorize(&[("state", "s t&u=v#é\"")])).await;
    let page = browser.sign_in(&page, "alice").await;
    page.page(200, "Tusky");
    let answer = browser.decide(&page, "allow").await;
    let told = answer.redirected(CALLBACK);
    assert_eq!(told.keys().collect::<Vec<_>>(), ["code", "iss", "state"]);
    assert_eq!(told["state"], "s t&u=v#é\"");
    assert_eq!(told["iss"], "https://ring.example/");
    assert_eq!(client.spend(&told["code"], &[]).await.status, 200);
}

// Attack 31.
#[tokio::test]
async fn a_state_of_8_kb_is_carried_and_a_longer_one_refused() {
    let (_service, client, mut browser) = with_alice().await;
    client.code(&mut browser, "alice", &[]).await;
    let (long, longer) = ("s".repeat(8192), "s".repeat(8193));
    let page = browser.get(&client.authorize(&[("state", &long)])).await;
    let answer = browser.decide(&page, "allow").await;
    assert_eq!(answer.redirected(CALLBACK)["state"], long);
    let answer = browser.get(&client.authorize(&[("state", &longer)])).await;
    let told = answer.redirected(CALLBACK);
    assert_eq!((&*told["error"], told.get("state")), ("invalid_request", None));
}

#[tokio::test]
async fn a_fragment_is_answered_in_the_fragment() {
    let (_service, client, mut browser) = with_alice().await;
    let fragment = [("response_mode", "fragment"), ("state", "s")];
    let page = browser.get(&client.authorize(&fragment)).await;
    let page = browser.sign_in(&page, "alice").await;
    let answer = browser.decide(&page, "allow").await;
    let location = answer.header("location");
    assert!(location.starts_with("https://app.example/cb#code="), "{location}");
    assert_eq!(answer.redirected(CALLBACK)["iss"], "https://ring.example/");
}

// Attack 37.
#[tokio::test]
async fn form_post_is_a_page_that_posts_to_the_app_for_success_and_for_errors() {
    let (_service, client, mut browser) = with_alice().await;
    let post = [("response_mode", "form_post"), ("state", "\"><script>alert(1)</script>")];
    let page = browser.get(&client.authorize(&post)).await;
    let page = browser.sign_in(&page, "alice").await;
    let answer = browser.decide(&page, "allow").await;
    answer.page(200, "action=\"https://app.example/cb\"");
    assert!(!answer.text.contains("<script>alert"), "{answer:?}");
    let fields = answer.form(CALLBACK);
    let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["code", "state", "iss"]);
    let policy = answer.header("content-security-policy");
    assert!(policy.ends_with("form-action 'self' https:"), "{policy}");
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(client.spend(&fields[0].1, &[]).await.status, 200);

    let wrong = [("response_mode", "form_post"), ("scope", "nope")];
    let answer = browser.get(&client.authorize(&wrong)).await;
    let fields = answer.form(CALLBACK);
    assert_eq!(fields[0], ("error".to_owned(), "invalid_scope".to_owned()));
}

// Attack 17.
#[tokio::test]
async fn a_registered_query_is_kept_and_cannot_be_taken_for_our_answer() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let uri = "https://app.example/cb?keep=1&state=x&code=y";
    let client = Client::register_with(service.anyone(), uri, "read").await;
    let mut browser = service.browser();
    let page = browser.get(&client.authorize(&[("state", "s")])).await;
    let page = browser.sign_in(&page, "alice").await;
    let answer = browser.decide(&page, "allow").await;
    let location = answer.header("location");
    assert!(location.starts_with("https://app.example/cb?keep=1&code="), "{location}");
    assert_eq!(location.matches("code=").count(), 1);
    assert_eq!(location.matches("state=").count(), 1);
}

// Attacks 8 and 14.
#[tokio::test]
async fn an_app_on_a_desk_or_a_telephone_is_answered_at_its_own_address() {
    let service = Service::start().await;
    service.add_account("alice").await;
    let uris = "http://127.0.0.1/cb\nhttp://[::1]/cb\ncom.example.app:/cb";
    let client = Client::register_with(service.anyone(), uris, "read").await;
    for (uri, sources) in [
        ("http://127.0.0.1:51234/cb", "'self' https: http:"),
        ("http://[::1]:51234/cb", "'self' https: http:"),
        ("com.example.app:/cb", "'self' https: com.example.app:"),
    ] {
        let mut browser = service.browser();
        let client = client.answered_at(uri);
        let page = browser.get(&client.authorize(&[])).await;
        let page = browser.sign_in(&page, "alice").await;
        // Attack 100: Chrome judges the redirect by the page that the form stands on.
        let policy = page.header("content-security-policy");
        assert!(policy.ends_with(&format!("form-action {sources}")), "{policy}");
        let answer = browser.decide(&page, "allow").await;
        assert!(answer.redirected(uri).contains_key("code"));
    }
}

#[tokio::test]
async fn no_scope_means_read_and_a_declared_scope_covers_its_children() {
    let (_service, client, mut browser) = with_alice().await;
    for (more, granted) in [
        (vec![], "read"),
        (vec![("scope", "read:accounts write:statuses")], "read:accounts write:statuses"),
        (vec![("scope", "push read")], "push read"),
    ] {
        let code = client.code(&mut browser, "alice", &more).await;
        assert_eq!(client.spend(&code, &[]).await.json()["scope"], granted);
    }
}

// Attack 34.
#[tokio::test]
async fn only_get_and_post_are_answered() {
    let (service, client, _) = with_alice().await;
    for method in ["HEAD", "PUT", "DELETE", "TRACE", "PATCH"] {
        let answer =
            service.anyone().call(&format!("{method} {}", client.authorize(&[])), "").await;
        assert_eq!(answer.status, 405, "{method}");
        assert!(answer.header("allow").contains("GET"), "{method}");
    }
    // A code would be lost on who reads no answer.
    let resume = service.anyone().call("HEAD /oauth/authorize/resume?request=x", "").await;
    assert_eq!((resume.status, resume.header("allow")), (405, "GET"));
}

// Attack 26; what clients send literally is harmless.
#[tokio::test]
async fn what_clients_send_without_need_does_no_harm() {
    let (_service, client, mut browser) = with_alice().await;
    let code = client.code(&mut browser, "alice", &[]).await;
    assert_eq!(client.spend(&code, &[]).await.status, 200);
    let literal =
        [("force_login", "False"), ("state", "None"), ("lang", "None"), ("x", "1"), ("x", "2")];
    let answer = browser.get(&client.authorize(&literal)).await;
    assert_eq!(answer.redirected(CALLBACK)["state"], "None");
    let many = vec![("unknown", "y"); 1000];
    assert_eq!(browser.get(&client.authorize(&many)).await.status, 303);
}

#[tokio::test]
async fn a_program_that_asks_for_json_gets_the_error_as_an_object() {
    let (service, client, _) = with_alice().await;
    let program = service.anyone().with("accept", "application/json");
    let path = client.answered_at("https://evil.example/").authorize(&[]);
    let answer = program.get(&path).await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["error"], "invalid_request");
}
