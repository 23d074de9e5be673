//! The sections about operations.

use std::fmt::Write;

use serde_json::Value;

use super::source::{entries, items, text};
use super::{schema, table_cell};

/// The methods, in the order in which the page lists them.
const METHODS: [&str; 5] = ["get", "put", "post", "delete", "any"];

/// Renders the operations of a path.
pub(super) fn render(path: &str, item: &Value) -> String {
    let mut page = String::new();
    for (method, operation) in methods(item) {
        let _ = write!(page, "\n### {}\n\n", text(operation, "summary"));
        let _ = writeln!(page, "`{}`", name(method, path));
        if let Some(description) = operation["description"].as_str() {
            let _ = write!(page, "\n{}\n", description.trim_end());
        }
        let _ = write!(page, "\nToken: {}\n", access(&operation["security"]));
        let parameters: Vec<&Value> = items(&item["parameters"])
            .chain(items(&operation["parameters"]))
            .chain(items(&operation["shared_parameters"]))
            .collect();
        if !parameters.is_empty() {
            page += "\n| parameter | in | type | meaning |\n|---|---|---|---|\n";
        }
        for parameter in parameters {
            let required = if parameter["required"] == true { ", required" } else { "" };
            let _ = writeln!(
                page,
                "| `{}` | {}{required} | {} | {} |",
                text(parameter, "name"),
                text(parameter, "in"),
                schema::short(&parameter["schema"]),
                table_cell(text(parameter, "description")),
            );
        }
        if operation["body"].is_object() {
            let _ = write!(page, "\nBody: {}\n", schema::content(&operation["body"]));
        }
        let _ = write!(page, "\n{}", responses(&operation["responses"]));
    }
    page
}

/// Returns the operations of a path item, by method.
pub(super) fn methods(item: &Value) -> impl Iterator<Item = (&'static str, &Value)> {
    METHODS.into_iter().filter_map(|method| Some((method, item.get(method)?)))
}

/// Returns the name of an endpoint: `GET /healthz`.
pub(super) fn name(method: &str, path: &str) -> String {
    match method {
        "any" => format!("{path}, any method"),
        method => format!("{} {path}", method.to_uppercase()),
    }
}

/// Returns a table of responses.
pub(super) fn responses(responses: &Value) -> String {
    let mut page = "| status | meaning |\n|---|---|\n".to_owned();
    for (status, response) in entries(responses) {
        let description = response.as_str().unwrap_or_else(|| text(response, "description"));
        let content = schema::content(response);
        let separator = if content.is_empty() { "" } else { " " };
        let _ = writeln!(page, "| {status} | {}{separator}{content} |", table_cell(description));
    }
    page
}

/// Describes the authorization that a request needs: scopes, or another kind of authentication.
fn access(security: &Value) -> String {
    let mut scopes = Vec::new();
    let mut others = Vec::new();
    for requirement in items(security) {
        for (scheme, required) in entries(requirement) {
            match (scheme, items(required).next().and_then(Value::as_str)) {
                ("oauth2", Some(scope)) => scopes.push(format!("`{scope}`")),
                ("oauth2", None) => others.push("any valid token"),
                ("applicationService", _) => others.push("an application service"),
                ("client", _) => others.push("the app's client id and secret"),
                ("session", _) => others.push("the browser's session"),
                _ => {}
            }
        }
        if requirement.as_object().is_some_and(serde_json::Map::is_empty) {
            others.push("none");
        }
    }
    let scopes = (!scopes.is_empty()).then(|| format!("with the scope {}", scopes.join(", ")));
    let all: Vec<String> =
        scopes.into_iter().chain(others.into_iter().map(str::to_owned)).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", or ") }
}
