//! How clients prove who they are, at every endpoint that asks them to.

use serde_json::json;

use crate::support::browser::form;
use crate::support::caller::address;
use crate::support::client::{error_of, refused};
use crate::support::{Answer, Client, Service};

const GRANT: (&str, &str) = ("grant_type", "client_credentials");

/// `Basic` with these bytes, encoded by hand to have no hand in the encoding of the client.
pub(crate) fn basic(credentials: &str) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::from("Basic ");
    for chunk in credentials.as_bytes().chunks(3) {
        let bits = chunk.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place > chunk.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

async fn token(client: &Client, authorization: &str, fields: &[(&str, &str)]) -> Answer {
    let caller = client.caller.with("authorization", authorization);
    caller.call("POST /oauth/token", form(fields)).await
}

// Attack 78.
#[tokio::test]
async fn basic_credentials_may_be_form_encoded() {
    let service = Service::start().await;
    let client = service.client().await;
    let (id, secret) = (&client.id, &client.secret);
    let encode = |text: &str| text.replace('-', "%2D").replace('_', "%5F");
    for credentials in [format!("{id}:{secret}"), format!("{}:{}", encode(id), encode(secret))] {
        let header = basic(&credentials);
        assert_eq!(token(&client, &header, &[GRANT]).await.status, 200);
        let small = header.replace("Basic", "basic");
        assert_eq!(token(&client, &small, &[GRANT]).await.status, 200);
        // The same client named once more is no second authentication.
        assert_eq!(token(&client, &header, &[GRANT, ("client_id", id)]).await.status, 200);
    }
}

// Attacks 76 and 77.
#[tokio::test]
async fn a_client_authenticates_in_one_way() {
    let service = Service::start().await;
    let client = service.client().await;
    let (id, secret) = (client.id.as_str(), client.secret.as_str());
    let header = basic(&format!("{id}:{secret}"));
    for fields in [
        vec![GRANT, ("client_id", id), ("client_secret", secret)],
        vec![GRANT, ("client_secret", secret)],
        vec![GRANT, ("client_id", "other")],
    ] {
        let answer = token(&client, &header, &fields).await;
        assert_eq!(error_of(&answer), refused(400, "invalid_request"), "{fields:?}");
        assert_eq!(answer.header("www-authenticate"), "");
    }
}

// Attacks 76 and 77.
#[tokio::test]
async fn two_authorization_headers_are_refused_wherever_clients_are_asked() {
    let service = Service::start().await;
    let client = service.client().await;
    let good = client.own_token("read").await;
    let right = basic(&format!("{}:{}", client.id, client.secret));
    let other = basic("other:secret");
    for second in [&*right, &*other, "Basic", "Bearer x"] {
        for headers in [[&*right, second], [second, &*right]] {
            let caller = headers
                .iter()
                .fold(client.caller.clone(), |caller, header| caller.with("authorization", header));
            for path in ["/oauth/token", "/oauth/revoke", "/oauth/introspect"] {
                let fields = [GRANT, ("token", &*good)];
                let answer = caller.call(&format!("POST {path}"), form(&fields)).await;
                let told = format!("{path} {headers:?}");
                assert_eq!(error_of(&answer), refused(400, "invalid_request"), "{told}");
                assert_eq!(answer.header("www-authenticate"), "", "{told}");
            }
        }
    }
    let answer = service.anyone().bearing(&good).get("/api/v1/apps/verify_credentials").await;
    assert_eq!(answer.status, 200, "nothing was revoked");
}

// Attacks 76 and 77.
#[tokio::test]
async fn header_and_body_must_not_name_two_clients_wherever_clients_are_asked() {
    let service = Service::start().await;
    let (client, other) = (service.client().await, service.client().await);
    let good = client.own_token("read").await;
    let header = basic(&format!("{}:{}", client.id, client.secret));
    let caller = client.caller.with("authorization", &header);
    for path in ["/oauth/token", "/oauth/revoke", "/oauth/introspect"] {
        for more in [
            vec![("client_id", &*other.id)],
            vec![("client_id", &*other.id), ("client_secret", &*other.secret)],
            vec![("client_id", &*client.id), ("client_secret", &*client.secret)],
        ] {
            let fields = [&[GRANT, ("token", &*good)], &more[..]].concat();
            let answer = caller.call(&format!("POST {path}"), form(&fields)).await;
            assert_eq!(error_of(&answer), refused(400, "invalid_request"), "{path} {more:?}");
        }
    }
    let answer = service.anyone().bearing(&good).get("/api/v1/apps/verify_credentials").await;
    assert_eq!(answer.status, 200, "nothing was revoked");
}

// Attacks 78, 79 and 82.
#[tokio::test]
async fn an_unknown_client_and_a_wrong_secret_are_the_same_invalid_client() {
    let service = Service::start().await;
    let client = service.client().await;
    let id = client.id.as_str();
    let body = json!({
        "error": "invalid_client",
        "error_description": "Client authentication failed due to unknown client, no client \
            authentication included, or unsupported authentication method.",
    });
    for (header, fields) in [
        ("", vec![GRANT]),
        ("", vec![GRANT, ("client_id", id)]),
        ("", vec![GRANT, ("client_id", id), ("client_secret", "")]),
        ("", vec![GRANT, ("client_id", id), ("client_secret", "wrong")]),
        ("", vec![GRANT, ("client_id", "unknown"), ("client_secret", "wrong")]),
        (&basic(&format!("{id}:wrong")), vec![GRANT]),
        (&basic("unknown:wrong"), vec![GRANT]),
        (&basic("a\0:b"), vec![GRANT]),
        (&basic("no colon"), vec![GRANT]),
        ("Basic ?", vec![GRANT]),
        ("Bearer x", vec![GRANT]),
    ] {
        let answer = token(&client, header, &fields).await;
        assert_eq!((answer.status, answer.json()), (401, body.clone()), "{header} {fields:?}");
        assert_eq!(answer.header("www-authenticate"), "Basic realm=\"belfry\"");
        assert_eq!(answer.header("cache-control"), "no-store");
    }
}

// Attack 83.
#[tokio::test]
async fn a_disabled_app_is_an_invalid_client_and_its_tokens_and_codes_are_no_good() {
    let service = Service::start().await;
    let client = service.client().await;
    service.add_account("alice").await;
    let mut browser = service.browser();
    let code = client.code(&mut browser, "alice", &[]).await;
    let token = client.own_token("read").await;
    let app = service.store().app_by_client_id(&client.id).await.unwrap().unwrap();

    service.store().disable_app(app.id, Some(service.now())).await.unwrap();

    assert_eq!(error_of(&client.spend(&code, &[]).await), refused(401, "invalid_client"));
    let answer = service.anyone().bearing(&token).get("/api/v1/apps/verify_credentials").await;
    assert_eq!(answer.status, 401);
    // Attack 43.
    browser.get(&client.authorize(&[])).await.page(401, "invalid_client");
}

// Attack 80.
#[tokio::test]
async fn whoever_guesses_secrets_is_not_heard_and_the_client_itself_is() {
    let service = Service::start().await;
    let client = service.client().await;
    let guesser = Client { secret: "wrong".to_owned(), ..client.clone() };
    let statuses = async |client: &Client, times: usize| {
        let mut statuses = Vec::new();
        for _ in 0..times {
            statuses.push(client.post("/oauth/token", &[GRANT]).await.status);
        }
        statuses.dedup();
        statuses
    };
    // Who knows the secret is never counted, nor told of what would count.
    assert_eq!(statuses(&client, 30).await, [200]);
    let answer = client.post("/oauth/token", &[GRANT]).await;
    assert_eq!(answer.header("ratelimit"), r#""ip";r=268;t=300"#);
    assert_eq!(statuses(&guesser, 25).await, [401]);
    let answer = guesser.post("/oauth/token", &[GRANT]).await;
    assert_eq!((answer.status, answer.json()), (429, json!({ "error": "Too many requests" })));
    assert_ne!(answer.header("retry-after"), "");
    assert_eq!(answer.header("x-ratelimit-limit"), "25");
    assert_eq!(answer.header("x-ratelimit-remaining"), "0");
    assert!(answer.header("ratelimit").ends_with(r#", "client_secret";r=0;t=300"#), "{answer:?}");
    assert!(answer.header("ratelimit-policy").ends_with(r#", "client_secret";q=25;w=300"#));
    for path in ["/oauth/revoke", "/oauth/introspect"] {
        assert_eq!(guesser.post(path, &[("token", "x")]).await.status, 429, "{path}");
    }
    // Attack 79: one that does not exist is no different.
    let unknown = Client { id: "unknown".to_owned(), ..guesser.clone() };
    assert_eq!(statuses(&unknown, 25).await, [401]);
    assert_eq!(statuses(&unknown, 1).await, [429]);
    let elsewhere = Client { caller: client.caller.at(address(9)), ..client.clone() };
    assert_eq!(elsewhere.post("/oauth/token", &[GRANT]).await.status, 200);
    service.clock.advance(300);
    assert_eq!(client.post("/oauth/token", &[GRANT]).await.status, 200);
}
