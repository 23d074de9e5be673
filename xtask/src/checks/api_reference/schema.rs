//! The sections about schemas.

use std::fmt::Write;

use serde_json::Value;

use super::source::{entries, items, string_field};
use super::table_cell;

/// Renders a schema with its fields.
pub(super) fn render(name: &str, schema: &Value) -> String {
    let mut page = format!("\n### {name}\n\n");
    let description = string_field(schema, "description").trim_end();
    if !description.is_empty() {
        let _ = write!(page, "{description}\n\n");
    }
    page + &render_body(schema)
}

/// Renders the fields or alternatives of a schema, or else its type.
fn render_body(schema: &Value) -> String {
    for (key, heading) in [("anyOf", "One of:"), ("allOf", "All of:")] {
        if schema[key].is_array() && !schema["properties"].is_object() {
            let mut page = format!("{heading}\n");
            for subschema in items(&schema[key]) {
                let description = table_cell(string_field(subschema, "description"));
                let item =
                    if description.is_empty() { describe_type(subschema) } else { description };
                let _ = write!(page, "\n- {item}\n");
                if subschema["properties"].is_object() {
                    let _ = write!(page, "\n{}", fields_table(subschema));
                }
            }
            return page;
        }
    }
    if schema["properties"].is_object() {
        fields_table(schema)
    } else {
        format!("Type: {}\n", describe_type(schema))
    }
}

fn fields_table(schema: &Value) -> String {
    let required_fields: Vec<&str> = items(&schema["required"]).filter_map(Value::as_str).collect();
    let mut page = "| field | type | meaning |\n|---|---|---|\n".to_owned();
    for (name, field) in entries(&schema["properties"]) {
        let required = if required_fields.contains(&name) { ", required" } else { "" };
        let description = table_cell(string_field(field, "description"));
        let _ = writeln!(page, "| `{name}` | {}{required} | {description} |", describe_type(field));
    }
    page
}

/// Describes a schema's type in a few words.
pub(super) fn describe_type(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return match reference.rsplit('/').next().unwrap_or_default() {
            "Text" => "string".to_owned(),
            name => schema_link(name),
        };
    }
    let list = |values: &Value, separator: &str| {
        items(values).map(format_value).collect::<Vec<_>>().join(separator)
    };
    if let Some(constant) = schema.get("const") {
        return format_value(constant);
    }
    if schema["enum"].is_array() {
        return list(&schema["enum"], ", ");
    }
    for key in ["anyOf", "allOf"] {
        if schema[key].is_array() {
            return items(&schema[key]).map(describe_type).collect::<Vec<_>>().join(" or ");
        }
    }
    match &schema["type"] {
        Value::String(kind) if kind == "array" => match &schema["items"] {
            Value::Null => "empty array".to_owned(),
            items => format!("array of {}", describe_type(items)),
        },
        Value::String(kind) if kind == "object" && schema["additionalProperties"].is_object() => {
            format!("object of {}", describe_type(&schema["additionalProperties"]))
        }
        Value::String(kind) => kind.clone(),
        Value::Array(_) => list(&schema["type"], " or ").replace('`', ""),
        _ => "any".to_owned(),
    }
}

fn format_value(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => "empty".to_owned(),
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}

/// Describes the content of a body or a response in a few words.
pub(super) fn describe_content(body: &Value) -> String {
    let mut contents = Vec::new();
    for (key, value) in entries(body) {
        let schema_name = || value.as_str().map_or_else(|| describe_type(value), schema_link);
        match key {
            "json" => contents.push(format!("JSON: {}", schema_name())),
            "form" => contents.push(format!("form or JSON: {}", schema_name())),
            "html" => contents.push("HTML".to_owned()),
            "content" => {
                contents.extend(entries(value).map(|(media_type, _)| format!("`{media_type}`")));
            }
            _ => {}
        }
    }
    contents.join(", ")
}

fn schema_link(name: &str) -> String {
    format!("[{name}](#{})", name.to_lowercase())
}
