//! Responses of servers in messages.

use serde_json::Value;
use url::Url;

use crate::cli::http_client::Response;

/// Maximum length of a body in a message.
const MAX_LENGTH: usize = 300;

pub(super) fn json(response: &Response) -> Option<Value> {
    serde_json::from_str(&response.body).ok()
}

/// The absolute URL to which a response redirects.
pub(super) fn redirect(response: &Response, requested: &Url) -> Option<Url> {
    let location = response.location.as_ref().filter(|_| response.status.is_redirection())?;
    requested.join(location).ok()
}

/// The status, and what the body says, on one line.
pub(super) fn summary(response: &Response) -> String {
    let status = response.status;
    let text = match json(response) {
        Some(Value::Object(fields)) => fields.iter().map(field).collect::<Vec<_>>().join(", "),
        _ if response.body.trim_start().starts_with('<') => page_title(&response.body),
        _ => response.body.split_whitespace().collect::<Vec<_>>().join(" "),
    };
    let mut begin: String = text.chars().take(MAX_LENGTH).collect();
    if begin.len() < text.len() {
        begin.push('…');
    }
    if begin.is_empty() { status.to_string() } else { format!("{status}, {begin}") }
}

/// A field of JSON: text without quotes.
fn field((name, value): (&String, &Value)) -> String {
    match value {
        Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    }
}

/// The title of a web page, whose text is not repeated.
fn page_title(html: &str) -> String {
    let title = html.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    match title.map(|(title, _)| title.split_whitespace().collect::<Vec<_>>().join(" ")) {
        Some(title) if !title.is_empty() => format!("the web page \"{title}\""),
        _ => "a web page".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    fn response(status: u16, body: &str, location: Option<&str>) -> Response {
        Response {
            status: StatusCode::from_u16(status).unwrap(),
            body: body.to_owned(),
            location: location.map(str::to_owned),
            local_address: ([127, 0, 0, 1], 1).into(),
        }
    }

    #[test]
    fn a_body_is_summarised_on_one_line() {
        let long = "x ".repeat(400);
        let cut = format!("502 Bad Gateway, {}x …", "x ".repeat(149));
        for (status, body, text) in [
            (
                503,
                r#"{"status":"not ready","a":[1]}"#,
                "503 Service Unavailable, a: [1], status: not ready",
            ),
            (404, "nothing\n here ", "404 Not Found, nothing here"),
            (404, "", "404 Not Found"),
            (
                200,
                "<html><title>Welcome to\n nginx!</title>…",
                "200 OK, the web page \"Welcome to nginx!\"",
            ),
            (200, "<!DOCTYPE html><p>", "200 OK, a web page"),
            (502, &long, &cut),
        ] {
            assert_eq!(summary(&response(status, body, None)), text);
        }
    }

    #[test]
    fn a_redirect_is_resolved_against_the_request() {
        let requested = Url::parse("http://ring.example/healthz").unwrap();
        let target = |status, location| {
            redirect(&response(status, "", location), &requested).map(String::from)
        };
        let https = "https://ring.example/healthz";
        assert_eq!(target(301, Some(https)).as_deref(), Some(https));
        assert_eq!(target(302, Some("/login")).as_deref(), Some("http://ring.example/login"));
        assert_eq!(target(302, None), None);
        assert_eq!(target(200, Some(https)), None);
    }
}
