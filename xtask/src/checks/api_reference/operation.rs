//! The sections about operations.

use std::fmt::Write;

use serde_json::Value;

use super::source::{entries, items, string_field};
use super::{schema, table_cell};

/// The methods, in the order in which the page lists them.
const METHODS: [&str; 5] = ["get", "put", "post", "delete", "any"];

/// Renders the operations of a path.
pub(super) fn render(path: &str, item: &Value) -> String {
    let mut page = String::new();
    for (method, operation) in operations(item) {
        let _ = write!(page, "\n### {}\n\n", string_field(operation, "summary"));
        let _ = writeln!(page, "`{}`", endpoint_name(method, path));
        if let Some(description) = operation["description"].as_str() {
            let _ = write!(page, "\n{}\n", description.trim_end());
        }
        let _ = write!(page, "\nToken: {}\n", describe_access(&operation["security"]));
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
                string_field(parameter, "name"),
                string_field(parameter, "in"),
                schema::describe_type(&parameter["schema"]),
                table_cell(string_field(parameter, "description")),
            );
        }
        if operation["body"].is_object() {
            let _ = write!(page, "\nBody: {}\n", schema::describe_content(&operation["body"]));
        }
        let _ = write!(page, "\n{}", responses_table(&operation["responses"]));
    }
    page
}

/// Returns the operations of a path item, by method.
pub(super) fn operations(item: &Value) -> impl Iterator<Item = (&'static str, &Value)> {
    METHODS.into_iter().filter_map(|method| Some((method, item.get(method)?)))
}

/// Returns an endpoint's name: `GET /healthz`.
pub(super) fn endpoint_name(method: &str, path: &str) -> String {
    match method {
        "any" => format!("{path}, any method"),
        method => format!("{} {path}", method.to_uppercase()),
    }
}

/// Returns a table of responses.
pub(super) fn responses_table(responses: &Value) -> String {
    let mut page = "| status | meaning |\n|---|---|\n".to_owned();
    for (status, response) in entries(responses) {
        let description =
            response.as_str().unwrap_or_else(|| string_field(response, "description"));
        let content = schema::describe_content(response);
        let separator = if content.is_empty() { "" } else { " " };
        let _ = writeln!(page, "| {status} | {}{separator}{content} |", table_cell(description));
    }
    page
}

/// Describes the authorization that a request needs: scopes, or another kind of authentication.
fn describe_access(security: &Value) -> String {
    let mut scopes = Vec::new();
    let mut alternatives = Vec::new();
    for requirement in items(security) {
        for (scheme, scheme_scopes) in entries(requirement) {
            match (scheme, items(scheme_scopes).next().and_then(Value::as_str)) {
                ("oauth2", Some(scope)) => scopes.push(format!("`{scope}`")),
                ("oauth2", None) => alternatives.push("any valid token"),
                ("applicationService", _) => alternatives.push("an application service"),
                ("client", _) => alternatives.push("the app's client id and secret"),
                ("session", _) => alternatives.push("the browser's session"),
                _ => {}
            }
        }
        if requirement.as_object().is_some_and(serde_json::Map::is_empty) {
            alternatives.push("none");
        }
    }
    let scopes = (!scopes.is_empty()).then(|| format!("with the scope {}", scopes.join(", ")));
    let options: Vec<String> =
        scopes.into_iter().chain(alternatives.into_iter().map(str::to_owned)).collect();
    if options.is_empty() { "none".to_owned() } else { options.join(", or ") }
}
