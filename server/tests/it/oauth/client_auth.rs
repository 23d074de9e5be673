//! Client authentication at the token, revocation and introspection endpoints.

use serde_json::json;

use crate::support::browser::encode_form;
use crate::support::client::documentation_address;
use crate::support::oauth_client::{oauth_error, status_and_error};
use crate::support::{OAuthClient, Service, TestResponse, any_events};

const GRANT: (&str, &str) = ("grant_type", "client_credentials");

/// Returns a `Basic` header. Encoded here, so that the test does not share code with the server.
pub(crate) fn basic_header(credentials: &str) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut header = String::from("Basic ");
    for chunk in credentials.as_bytes().chunks(3) {
        let bits = chunk.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for position in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * position)) as usize & 63];
            header.push(if position > chunk.len() { '=' } else { char::from(letter) });
        }
    }
    header
}

async fn request_token(
    client: &OAuthClient,
    authorization: &str,
    fields: &[(&str, &str)],
) -> TestResponse {
    let client_with_header = client.http.with_header("authorization", authorization);
    client_with_header.send("POST /oauth/token", encode_form(fields)).await
}

#[tokio::test]
async fn basic_credentials_may_be_form_encoded() {
    let service = Service::start().await;
    let client = service.register_client().await;
    let id = &client.id;
    let secret = &client.secret;
    let encode = |text: &str| text.replace('-', "%2D").replace('_', "%5F");
    for credentials in [format!("{id}:{secret}"), format!("{}:{}", encode(id), encode(secret))] {
        let header = basic_header(&credentials);
        assert_eq!(request_token(&client, &header, &[GRANT]).await.status, 200);
        let lower_case = header.replace("Basic", "basic");
        assert_eq!(request_token(&client, &lower_case, &[GRANT]).await.status, 200);
        // Repeating the client ID in the body is not a second authentication.
        assert_eq!(request_token(&client, &header, &[GRANT, ("client_id", id)]).await.status, 200);
    }
}

#[tokio::test]
async fn two_authorization_headers_are_rejected_at_every_endpoint() {
    let service = Service::start().await;
    let client = service.register_client().await;
    let valid_token = client.obtain_app_token("read").await;
    let valid_header = basic_header(&format!("{}:{}", client.id, client.secret));
    let other_header = basic_header("other:secret");
    for second_header in [&*valid_header, &*other_header, "Basic", "Bearer x"] {
        for headers in [[&*valid_header, second_header], [second_header, &*valid_header]] {
            let client_with_headers = headers.iter().fold(client.http.clone(), |http, header| {
                http.with_header("authorization", header)
            });
            for path in ["/oauth/token", "/oauth/revoke", "/oauth/introspect"] {
                let fields = [GRANT, ("token", &*valid_token)];
                let response =
                    client_with_headers.send(&format!("POST {path}"), encode_form(&fields)).await;
                let case = format!("{path} {headers:?}");
                assert_eq!(
                    status_and_error(&response),
                    oauth_error(400, "invalid_request"),
                    "{case}"
                );
                assert_eq!(response.header("www-authenticate"), "", "{case}");
            }
        }
    }
    let response = service
        .anonymous_client()
        .with_token(&valid_token)
        .get("/api/v1/apps/verify_credentials")
        .await;
    assert_eq!(response.status, 200, "the token must not be revoked");
}

#[tokio::test]
async fn two_client_ids_are_rejected_at_every_endpoint() {
    let service = Service::start().await;
    let client = service.register_client().await;
    let other_client = service.register_client().await;
    let valid_token = client.obtain_app_token("read").await;
    let header = basic_header(&format!("{}:{}", client.id, client.secret));
    let basic_client = client.http.with_header("authorization", &header);
    for path in ["/oauth/token", "/oauth/revoke", "/oauth/introspect"] {
        for extra_fields in [
            vec![("client_id", &*other_client.id)],
            vec![("client_id", &*other_client.id), ("client_secret", &*other_client.secret)],
            vec![("client_id", &*client.id), ("client_secret", &*client.secret)],
        ] {
            let fields = [&[GRANT, ("token", &*valid_token)], &extra_fields[..]].concat();
            let response = basic_client.send(&format!("POST {path}"), encode_form(&fields)).await;
            assert_eq!(
                status_and_error(&response),
                oauth_error(400, "invalid_request"),
                "{path} {extra_fields:?}"
            );
        }
    }
    let response = service
        .anonymous_client()
        .with_token(&valid_token)
        .get("/api/v1/apps/verify_credentials")
        .await;
    assert_eq!(response.status, 200, "the token must not be revoked");
}

#[tokio::test]
async fn an_unknown_client_and_a_wrong_secret_get_the_same_response() {
    let service = Service::start().await;
    let client = service.register_client().await;
    let id = client.id.as_str();
    let wrong_credentials = "The client is unknown or its secret is wrong.";
    let missing_credentials =
        "Send client_id and client_secret in the body, or as HTTP Basic authentication.";
    for (header, fields, description) in [
        ("", vec![GRANT], missing_credentials),
        ("", vec![GRANT, ("client_id", id)], missing_credentials),
        ("", vec![GRANT, ("client_id", id), ("client_secret", "")], missing_credentials),
        ("", vec![GRANT, ("client_id", id), ("client_secret", "wrong")], wrong_credentials),
        ("", vec![GRANT, ("client_id", "unknown"), ("client_secret", "wrong")], wrong_credentials),
        (&basic_header(&format!("{id}:wrong")), vec![GRANT], wrong_credentials),
        (&basic_header("unknown:wrong"), vec![GRANT], wrong_credentials),
        (&basic_header("a\0:b"), vec![GRANT], missing_credentials),
        (&basic_header("no colon"), vec![GRANT], missing_credentials),
        ("Basic ?", vec![GRANT], missing_credentials),
        ("Bearer x", vec![GRANT], missing_credentials),
    ] {
        let response = request_token(&client, header, &fields).await;
        let body = json!({ "error": "invalid_client", "error_description": description });
        assert_eq!((response.status, response.json()), (401, body), "{header} {fields:?}");
        assert_eq!(response.header("www-authenticate"), "Basic realm=\"belfry\"");
        assert_eq!(response.header("cache-control"), "no-store");
    }
}

#[tokio::test]
async fn a_disabled_app_cannot_authenticate_and_its_tokens_and_codes_are_invalid() {
    let service = Service::start().await;
    let client = service.register_client().await;
    service.add_account("alice").await;
    let mut browser = service.browser();
    let code = client.obtain_code(&mut browser, "alice", &[]).await;
    let token = client.obtain_app_token("read").await;
    let app = service.store().app_by_client_id(&client.id).await.unwrap().unwrap();

    service
        .store()
        .set_app_disabled_at(&any_events(), app.app.id, Some(service.now()))
        .await
        .unwrap();

    assert_eq!(
        status_and_error(&client.redeem(&code, &[]).await),
        oauth_error(401, "invalid_client")
    );
    let response =
        service.anonymous_client().with_token(&token).get("/api/v1/apps/verify_credentials").await;
    assert_eq!(response.status, 401);
    browser.get(&client.authorize_path(&[])).await.assert_page(401, "invalid_client");
}

#[tokio::test]
async fn secret_guesses_are_limited_without_locking_out_the_client() {
    let service = Service::start().await;
    let client = service.register_client().await;
    let guesser = OAuthClient { secret: "wrong".to_owned(), ..client.clone() };
    let request_statuses = async |client: &OAuthClient, count: usize| {
        let mut statuses = Vec::new();
        for _ in 0..count {
            statuses.push(client.post("/oauth/token", &[GRANT]).await.status);
        }
        statuses.dedup();
        statuses
    };
    // Successful authentication is not counted, and this limit is not in its headers.
    assert_eq!(request_statuses(&client, 30).await, [200]);
    let response = client.post("/oauth/token", &[GRANT]).await;
    assert_eq!(response.header("ratelimit"), r#""ip";r=268;t=300"#);
    assert_eq!(request_statuses(&guesser, 25).await, [401]);
    let response = guesser.post("/oauth/token", &[GRANT]).await;
    assert_eq!((response.status, response.json()), (429, json!({ "error": "Too many requests" })));
    assert_ne!(response.header("retry-after"), "");
    assert_eq!(response.header("x-ratelimit-limit"), "25");
    assert_eq!(response.header("x-ratelimit-remaining"), "0");
    assert!(
        response.header("ratelimit").ends_with(r#", "client_secret";r=0;t=300"#),
        "{response:?}"
    );
    assert!(response.header("ratelimit-policy").ends_with(r#", "client_secret";q=25;w=300"#));
    for path in ["/oauth/revoke", "/oauth/introspect"] {
        assert_eq!(guesser.post(path, &[("token", "x")]).await.status, 429, "{path}");
    }
    // An unknown client is limited in the same way.
    let unknown_client = OAuthClient { id: "unknown".to_owned(), ..guesser.clone() };
    assert_eq!(request_statuses(&unknown_client, 25).await, [401]);
    assert_eq!(request_statuses(&unknown_client, 1).await, [429]);
    let client_elsewhere =
        OAuthClient { http: client.http.with_address(documentation_address(9)), ..client.clone() };
    assert_eq!(client_elsewhere.post("/oauth/token", &[GRANT]).await.status, 200);
    service.clock.advance(300);
    assert_eq!(client.post("/oauth/token", &[GRANT]).await.status, 200);
}

/// A newer release may have stored a client with other values.
#[tokio::test]
async fn a_client_is_limited_to_its_auth_method_grant_types_and_issuer() {
    for (change, client_credentials_error, code_error) in [
        ("grant_types = 'client_credentials refresh_token'", None, Some("unauthorized_client")),
        ("grant_types = 'authorization_code'", Some("unauthorized_client"), Some("invalid_grant")),
        ("grant_types = ''", Some("unauthorized_client"), Some("unauthorized_client")),
        ("auth_method = 'none'", Some("invalid_client"), Some("invalid_client")),
        ("auth_method = 'private_key_jwt'", Some("invalid_client"), Some("invalid_client")),
        ("issuer = 'auth'", Some("invalid_client"), Some("invalid_client")),
        ("registered_by = 'bishop'", None, Some("invalid_grant")),
    ] {
        let service = Service::start().await;
        let client = service.register_client().await;
        service.execute_sql(&format!("update apps set {change}"));
        let request_error = async |fields: &[(&str, &str)]| {
            let response = client.post("/oauth/token", fields).await;
            let error = response.json()["error"].as_str().map(str::to_owned);
            let status = match error.as_deref() {
                None => 200,
                Some("invalid_client") => 401,
                Some(_) => 400,
            };
            assert_eq!(response.status, status, "{change}");
            error
        };
        let error = request_error(&[("grant_type", "client_credentials")]).await;
        assert_eq!(error.as_deref(), client_credentials_error, "{change}");
        let fields =
            [("grant_type", "authorization_code"), ("code", "x"), ("redirect_uri", "https://a/")];
        assert_eq!(request_error(&fields).await.as_deref(), code_error, "{change}");
    }
}
