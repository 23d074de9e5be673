//! Accepted body formats, and bodies that are rejected.

use serde_json::json;

use crate::support::browser::encode_form;
use crate::support::oauth_client::status_and_error;
use crate::support::{Service, TestClient, TestResponse};

const FORM_TYPE: &str = "application/x-www-form-urlencoded";
const MULTIPART_TYPE: &str = "multipart/form-data; boundary=X";

async fn post_body(
    client: &TestClient,
    path: &str,
    content_type: &str,
    body: impl Into<Vec<u8>>,
) -> TestResponse {
    let body: Vec<u8> = body.into();
    client.with_header("content-type", content_type).send(&format!("POST {path}"), body).await
}

fn encode_multipart(fields: &[(&str, &str)]) -> String {
    let parts = fields.iter().map(|(name, value)| {
        format!("--X\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    });
    parts.collect::<String>() + "--X--\r\n"
}

#[tokio::test]
async fn form_multipart_and_json_bodies_are_equivalent() {
    let service = Service::start().await;
    let anonymous = service.anonymous_client();
    let json_body = json!({
        "client_name": "Ä",
        "redirect_uris": ["https://a.example/", "b.c://d"],
        "scopes": ["read", "push"],
        "website": null,
        "more": 1,
    });
    for (content_type, body) in [
        (
            FORM_TYPE,
            "client_name=%C3%84&redirect_uris=https://a.example/%0Ab.c://d&scopes=read+push"
                .to_owned(),
        ),
        (
            FORM_TYPE,
            "client_name=%C3%84&redirect_uris[]=https://a.example/&redirect_uris[]=b.c://d\
                &scopes[]=read&scopes[]=push"
                .to_owned(),
        ),
        (
            MULTIPART_TYPE,
            encode_multipart(&[
                ("client_name", "Ä"),
                ("redirect_uris", "https://a.example/\nb.c://d"),
                ("scopes", "read push"),
            ]),
        ),
        ("application/json", json_body.to_string()),
    ] {
        let response = post_body(&anonymous, "/api/v1/apps", content_type, body.clone()).await;
        assert_eq!(response.status, 200, "{body}: {response:?}");
        let app = response.json();
        assert_eq!(app["name"], "Ä", "{body}");
        assert_eq!(app["redirect_uris"], json!(["https://a.example/", "b.c://d"]), "{body}");
        assert_eq!(app["scopes"], json!(["read", "push"]), "{body}");
    }
}

#[tokio::test]
async fn a_token_request_may_use_any_body_format() {
    let service = Service::start().await;
    let client = service.register_client().await;
    let id = client.id.as_str();
    let secret = client.secret.as_str();
    let fields =
        [("grant_type", "client_credentials"), ("client_id", id), ("client_secret", secret)];
    let json_body = json!({
        "grant_type": "client_credentials", "client_id": id, "client_secret": secret,
    });
    for (content_type, body) in
        [(MULTIPART_TYPE, encode_multipart(&fields)), ("application/json", json_body.to_string())]
    {
        let response =
            post_body(&service.anonymous_client(), "/oauth/token/", content_type, body).await;
        assert_eq!(response.status, 200, "{response:?}");
    }
    let json_body = json!({ "token": "x", "client_id": id, "client_secret": secret });
    let body = json_body.to_string();
    let response =
        post_body(&service.anonymous_client(), "/oauth/revoke", "application/json", body).await;
    assert_eq!(status_and_error(&response).0, 403);
}

#[tokio::test]
async fn an_ambiguous_or_malformed_body_is_rejected() {
    let service = Service::start().await;
    let nested_arrays = "[".repeat(100_000);
    for (content_type, body, status) in [
        (FORM_TYPE, &b"grant_type=%"[..], 400),
        (FORM_TYPE, b"grant_type=%zz", 400),
        (FORM_TYPE, b"grant_type=%00", 400),
        (FORM_TYPE, b"grant_type=\xff", 400),
        (FORM_TYPE, b"grant_type=%c0%80", 400),
        (
            MULTIPART_TYPE,
            b"--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\xff\r\n--X--",
            400,
        ),
        (
            MULTIPART_TYPE,
            b"--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\0\r\n--X--",
            400,
        ),
        (MULTIPART_TYPE, b"--X\r\nContent-Disposition", 400),
        (MULTIPART_TYPE, b"nothing", 400),
        ("application/json", b"{\"a\":1,\"a\":2}", 400),
        ("application/json", b"{\"a\":\"\\ud800\"}", 400),
        ("application/json", b"{\"a\":\"\\u0000\"}", 400),
        ("application/json", b"{\"a\":{\"b\":1}}", 400),
        ("application/json", b"[]", 400),
        ("application/json", b"{", 400),
        ("application/json", nested_arrays.as_bytes(), 413),
        ("application/json", &nested_arrays.as_bytes()[..50_000], 400),
        ("text/plain", b"grant_type=client_credentials", 415),
        ("application/x-www-form-urlencoded; charset=utf-7", b"a=b", 415),
        ("", b"a=b", 415),
    ] {
        let response =
            post_body(&service.anonymous_client(), "/oauth/token", content_type, body).await;
        let body_start = String::from_utf8_lossy(&body[..body.len().min(60)]);
        assert_eq!(
            status_and_error(&response),
            (status, "invalid_request".to_owned()),
            "{body_start}"
        );
        let response =
            post_body(&service.anonymous_client(), "/api/v1/apps", content_type, body).await;
        assert_eq!(response.status, status, "{body_start}");
        assert!(response.json()["error"].is_string(), "{body_start}");
    }
    let response = service.anonymous_client().send("POST /oauth/token", "a=b").await;
    assert_eq!(response.status, 415, "a body without Content-Type is rejected");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_rejected() {
    let service = Service::start().await;
    let body = "a=".to_owned() + &"b".repeat(70_000);
    let response = post_body(&service.anonymous_client(), "/oauth/token", FORM_TYPE, body).await;
    assert_eq!(status_and_error(&response), (413, "invalid_request".to_owned()));
}

/// The body has as many fields as fit into its maximum size.
#[tokio::test]
async fn a_body_full_of_unknown_fields_is_parsed() {
    const MAX_BYTES: usize = 64 * 1024;
    const MULTIPART_END: &str = "--X--\r\n";
    type FieldEncoder = fn(usize) -> String;
    let service = Service::start().await;
    let client = service.register_client().await;
    let id = client.id.as_str();
    let secret = client.secret.as_str();
    let known_fields =
        [("grant_type", "client_credentials"), ("client_id", id), ("client_secret", secret)];
    let json_body = json!({
        "grant_type": "client_credentials", "client_id": id, "client_secret": secret,
    });
    let cases: [(&str, String, &str, FieldEncoder); 3] = [
        (FORM_TYPE, encode_form(&known_fields), "", |number| format!("&{number:x}")),
        (
            MULTIPART_TYPE,
            encode_multipart(&known_fields).replace(MULTIPART_END, ""),
            MULTIPART_END,
            |number| encode_multipart(&[(&format!("{number:x}"), "")]).replace(MULTIPART_END, ""),
        ),
        ("application/json", json_body.to_string().replace('}', ""), "}", |number| {
            format!(",\"{number:x}\":0")
        }),
    ];
    for (content_type, mut body, end, encode_field) in cases {
        for number in 0.. {
            let field = encode_field(number);
            if body.len() + field.len() + end.len() > MAX_BYTES {
                break;
            }
            body += &field;
        }
        let response =
            post_body(&service.anonymous_client(), "/oauth/token", content_type, body + end).await;
        assert_eq!(response.status, 200, "{content_type}: {response:?}");
    }
}
