//! The sections about schemas.

use std::fmt::Write;

use serde_json::Value;

use super::source::{entries, items, text};
use super::table_cell;

/// Renders a schema with its fields.
pub(super) fn render(name: &str, schema: &Value) -> String {
    let mut page = format!("\n### {name}\n\n");
    let description = text(schema, "description").trim_end();
    if !description.is_empty() {
        let _ = write!(page, "{description}\n\n");
    }
    page + &body(schema)
}

/// Renders the fields or alternatives of a schema, or else its type.
fn body(schema: &Value) -> String {
    for (key, word) in [("anyOf", "One of:"), ("allOf", "All of:")] {
        if schema[key].is_array() && !schema["properties"].is_object() {
            let mut page = format!("{word}\n");
            for part in items(&schema[key]) {
                let description = table_cell(text(part, "description"));
                let item = if description.is_empty() { short(part) } else { description };
                let _ = write!(page, "\n- {item}\n");
                if part["properties"].is_object() {
                    let _ = write!(page, "\n{}", fields(part));
                }
            }
            return page;
        }
    }
    if schema["properties"].is_object() {
        fields(schema)
    } else {
        format!("Type: {}\n", short(schema))
    }
}

fn fields(schema: &Value) -> String {
    let required: Vec<&str> = items(&schema["required"]).filter_map(Value::as_str).collect();
    let mut page = "| field | type | meaning |\n|---|---|---|\n".to_owned();
    for (name, field) in entries(&schema["properties"]) {
        let required = if required.contains(&name) { ", required" } else { "" };
        let description = table_cell(text(field, "description"));
        let _ = writeln!(page, "| `{name}` | {}{required} | {description} |", short(field));
    }
    page
}

/// Describes the type of a schema in a few words.
pub(super) fn short(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return match reference.rsplit('/').next().unwrap_or_default() {
            "Text" => "string".to_owned(),
            name => link(name),
        };
    }
    let list = |values: &Value, separator: &str| {
        items(values).map(value).collect::<Vec<_>>().join(separator)
    };
    if let Some(constant) = schema.get("const") {
        return value(constant);
    }
    if schema["enum"].is_array() {
        return list(&schema["enum"], ", ");
    }
    for key in ["anyOf", "allOf"] {
        if schema[key].is_array() {
            return items(&schema[key]).map(short).collect::<Vec<_>>().join(" or ");
        }
    }
    match &schema["type"] {
        Value::String(kind) if kind == "array" => match &schema["items"] {
            Value::Null => "empty array".to_owned(),
            items => format!("array of {}", short(items)),
        },
        Value::String(kind) if kind == "object" && schema["additionalProperties"].is_object() => {
            format!("object of {}", short(&schema["additionalProperties"]))
        }
        Value::String(kind) => kind.clone(),
        Value::Array(_) => list(&schema["type"], " or ").replace('`', ""),
        _ => "any".to_owned(),
    }
}

fn value(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => "empty".to_owned(),
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}

/// Describes the content of a body or a response in a few words.
pub(super) fn content(body: &Value) -> String {
    let mut parts = Vec::new();
    for (key, value) in entries(body) {
        let kind = || value.as_str().map_or_else(|| short(value), link);
        match key {
            "json" => parts.push(format!("JSON: {}", kind())),
            "form" => parts.push(format!("form or JSON: {}", kind())),
            "html" => parts.push("HTML".to_owned()),
            "content" => parts.extend(entries(value).map(|(media, _)| format!("`{media}`"))),
            _ => {}
        }
    }
    parts.join(", ")
}

fn link(name: &str) -> String {
    format!("[{name}](#{})", name.to_lowercase())
}
