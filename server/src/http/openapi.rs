//! `GET /openapi.json`: the description of the API (OpenAPI 3.1), assembled from the files in
//! `server/openapi/`, one for each area.
//!
//! The files contain operations in a short form of OpenAPI:
//!
//! - `name`, `description`: the tag of the area.
//! - `errors`: the content of error responses. A response that is only a string has this content.
//! - `responses`: responses of every operation in the area.
//! - `schemas`: components.
//! - `paths`: `{segment}` is replaced by each of `name_segments` and `{api}` by each version of the
//!   client API. The method `any` stands for all methods. In an operation, `id` is its
//!   `operationId`, `body` its request body, and `shared_parameters` are added to its parameters.
//! - Bodies and responses have a `json` content, given by the name of a schema or a schema itself,
//!   an `html` content, or a `form`, which is accepted in three media types.
//! - `access`, `parameters` and `form`: anchors that the rest of the file refers to.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, OnceLock};

use axum::extract::State;
use axum::http::header;
use axum::routing::{MethodRouter, get};
use belfry_core::json::to_bytes;
use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::app::AppState;
use crate::http::json::JsonBytes;
use crate::paths::CLIENT_API_VERSIONS;

type Object = Map<String, Value>;

const BASE: &str = include_str!("../../openapi/base.yaml");

const AREAS: [&str; 9] = [
    include_str!("../../openapi/push_rules.yaml"),
    include_str!("../../openapi/evaluation.yaml"),
    include_str!("../../openapi/matrix.yaml"),
    include_str!("../../openapi/oauth.yaml"),
    include_str!("../../openapi/pages.yaml"),
    include_str!("../../openapi/mastodon.yaml"),
    include_str!("../../openapi/admin.yaml"),
    include_str!("../../openapi/gateway.yaml"),
    include_str!("../../openapi/server.yaml"),
];

/// The methods that `any` stands for. `HEAD` is implied by `GET`.
const ANY_METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "patch", "trace"];

const FORM_MEDIA_TYPES: [&str; 3] =
    ["application/x-www-form-urlencoded", "multipart/form-data", "application/json"];

/// The headers of every response. Rate-limit headers are absent if no limit counts the request.
const COMMON_HEADERS: [&str; 6] = [
    "X-Request-Id",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "RateLimit",
    "RateLimit-Policy",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BaseSpec {
    info: Object,
    security_schemes: Object,
    headers: Object,
    schemas: Object,
}

#[derive(Deserialize)]
struct AreaSpec {
    name: String,
    description: String,
    errors: Object,
    responses: Object,
    #[serde(default)]
    schemas: Object,
    paths: BTreeMap<String, Object>,
}

/// Returns the document's route. The document is rendered at the first request, because most
/// servers never receive one.
pub(super) fn openapi_route() -> MethodRouter<Arc<AppState>> {
    let document_bytes = Arc::new(OnceLock::new());
    get(move |State(state): State<Arc<AppState>>| {
        let render = || {
            Bytes::from(to_bytes(&openapi_document(
                &state.base_url.to_string(),
                &state.config.name_segments,
            )))
        };
        // Clients must revalidate, so that changed settings are visible right after a restart.
        let cache_control = [(header::CACHE_CONTROL, "max-age=0")];
        ready((cache_control, JsonBytes(document_bytes.get_or_init(render).clone())))
    })
}

/// Returns the document for a server with a base URL and name segments.
pub(super) fn openapi_document(base_url: &str, segments: &[String]) -> Value {
    let mut base: BaseSpec = parse_yaml(&BASE.replace("{base_url}", base_url));
    base.info.insert("version".to_owned(), env!("CARGO_PKG_VERSION").into());
    let mut tags = Vec::new();
    let mut paths = Object::new();
    let mut shared = SharedComponents::default();
    for area in AREAS.map(parse_yaml::<AreaSpec>) {
        for (path, item) in &area.paths {
            for (path, suffix) in expand_path(path, segments) {
                paths.insert(path, area.expand_path_item(item, &suffix, &mut shared));
            }
        }
        base.schemas.extend(area.schemas);
        tags.push(json!({ "name": area.name, "description": area.description }));
    }
    json!({
        "openapi": "3.1.0",
        "info": base.info,
        "servers": [{ "url": base_url }],
        "tags": tags,
        "paths": paths,
        "components": {
            "schemas": base.schemas,
            "headers": base.headers,
            "parameters": shared.parameters,
            "responses": shared.responses,
            "securitySchemes": base.security_schemes,
        },
    })
}

fn parse_yaml<T: DeserializeOwned>(yaml: &str) -> T {
    serde_saphyr::from_str(yaml).expect("a test parses the files of the OpenAPI document")
}

/// Returns the paths that a path stands for, each with a suffix that makes its operation ids
/// unique. The first of several paths has no suffix.
fn expand_path(path: &str, segments: &[String]) -> Vec<(String, String)> {
    let apis = if path.contains("{api}") { &CLIENT_API_VERSIONS[..] } else { &[""] };
    let variants = segments.iter().flat_map(|segment| apis.iter().map(move |api| (segment, api)));
    let mut paths: Vec<(String, String)> = variants
        .map(|(segment, api)| {
            let name =
                format!("{segment}_{api}").replace(|c: char| !c.is_ascii_alphanumeric(), "_");
            let suffix = format!("_{}", name.trim_matches('_'));
            (path.replace("{segment}", segment).replace("{api}", api), suffix)
        })
        .collect();
    if !path.contains("{segment}") {
        return vec![(path.to_owned(), String::new())];
    }
    if let Some((_, suffix)) = paths.first_mut() {
        suffix.clear();
    }
    paths
}

impl AreaSpec {
    fn expand_path_item(
        &self,
        item: &Object,
        suffix: &str,
        shared: &mut SharedComponents,
    ) -> Value {
        let mut expanded = Object::new();
        for (key, value) in item {
            match (key.as_str(), value) {
                ("parameters", Value::Array(parameters)) => {
                    let parameters =
                        parameters.iter().map(|value| shared.add_parameter(value)).collect();
                    expanded.insert("parameters".to_owned(), parameters);
                }
                ("any", Value::Object(operation)) => {
                    for method in ANY_METHODS {
                        let suffix = if method == "get" { "" } else { &format!("_{method}") };
                        let operation = self.expand_operation(operation, suffix, shared);
                        expanded.insert(method.to_owned(), operation);
                    }
                }
                (method, Value::Object(operation)) => {
                    let operation = self.expand_operation(operation, suffix, shared);
                    expanded.insert(method.to_owned(), operation);
                }
                (key, value) => drop(expanded.insert(key.to_owned(), value.clone())),
            }
        }
        expanded.into()
    }

    fn expand_operation(
        &self,
        operation: &Object,
        suffix: &str,
        shared: &mut SharedComponents,
    ) -> Value {
        let mut expanded = json!({ "tags": [self.name], "security": [] });
        let mut responses = self.responses.clone();
        let mut parameters = Vec::new();
        for (key, value) in operation {
            match (key.as_str(), value) {
                ("id", Value::String(id)) => {
                    expanded["operationId"] = format!("{id}{suffix}").into();
                }
                ("body", Value::Object(body)) => {
                    expanded["requestBody"] =
                        json!({ "required": true, "content": expand_content(body) });
                }
                ("responses", Value::Object(own_responses)) => {
                    responses.extend(own_responses.clone());
                }
                ("parameters" | "shared_parameters", Value::Array(own_parameters)) => {
                    parameters
                        .extend(own_parameters.iter().map(|value| shared.add_parameter(value)));
                }
                (key, value) => expanded[key] = value.clone(),
            }
        }
        let responses = responses.iter().map(|(status, response)| {
            let response = self.expand_response(status, response);
            let name = format!("{}_{status}", self.name);
            (status.clone(), add_component(&mut shared.responses, "responses", &name, response))
        });
        expanded["responses"] = responses.collect::<Object>().into();
        expanded["parameters"] = parameters.into();
        expanded
    }

    fn expand_response(&self, status: &str, response: &Value) -> Value {
        let (description, body) = match response {
            Value::Object(response) => (response["description"].clone(), response),
            text => (text.clone(), &self.errors),
        };
        let mut headers = match response.get("headers") {
            Some(Value::Object(headers)) => headers.clone(),
            _ => Object::new(),
        };
        let status_headers = match status {
            "401" => &["WWW-Authenticate"][..],
            "405" => &["Allow"],
            "429" | "503" => &["Retry-After"],
            _ => &[],
        };
        for name in COMMON_HEADERS.iter().chain(status_headers) {
            let reference = json!({ "$ref": format!("#/components/headers/{name}") });
            headers.insert((*name).to_owned(), reference);
        }
        let mut expanded = json!({ "description": description, "headers": headers });
        let content = expand_content(body);
        if !content.is_empty() {
            expanded["content"] = content.into();
        }
        expanded
    }
}

/// Components that operations refer to. They make the document smaller, because most of them occur
/// in many operations.
#[derive(Default)]
struct SharedComponents {
    parameters: Object,
    responses: Object,
}

impl SharedComponents {
    fn add_parameter(&mut self, parameter: &Value) -> Value {
        let name = parameter["name"].as_str().unwrap_or_default();
        add_component(&mut self.parameters, "parameters", name, parameter.clone())
    }
}

/// Adds a component and returns a reference to it. If a different component has this name, a number
/// is appended to the name.
fn add_component(components: &mut Object, kind: &str, name: &str, component: Value) -> Value {
    let name = name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "_");
    let numbered_names = (2..).map(|number| format!("{name}_{number}"));
    let is_free =
        |name: &String| components.get(name).is_none_or(|existing| *existing == component);
    let mut names = [name.clone()].into_iter().chain(numbered_names);
    let unique_name = names.find(is_free).unwrap_or(name.clone());
    let reference = json!({ "$ref": format!("#/components/{kind}/{unique_name}") });
    components.insert(unique_name, component);
    reference
}

/// Returns the `content` of a body or a response, by media type.
fn expand_content(body: &Object) -> Object {
    let mut content = Object::new();
    let mut insert = |media_type: &str, schema: Value| {
        content.insert(media_type.to_owned(), json!({ "schema": schema }));
    };
    for (key, value) in body {
        match (key.as_str(), value) {
            ("json", schema) => insert("application/json", schema_or_reference(schema)),
            ("html", _) => insert("text/html", json!({ "type": "string" })),
            ("form", schema) => {
                for media_type in FORM_MEDIA_TYPES {
                    insert(media_type, schema_or_reference(schema));
                }
            }
            _ => {}
        }
    }
    content
}

fn schema_or_reference(schema: &Value) -> Value {
    match schema {
        Value::String(name) => json!({ "$ref": format!("#/components/schemas/{name}") }),
        schema => schema.clone(),
    }
}
