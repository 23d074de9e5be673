//! Tests of the OpenAPI document: its routes, scopes, operation ids and schemas.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::Method;
use belfry_core::oauth::scope::Scope;
use serde_json::{Value, json};

use super::{GATEWAY, PAGES, area_routers, fill_segment, send};
use crate::http::openapi::openapi_document;
use crate::http::service::HttpService;
use crate::http::service::tests::test_state;
use crate::paths::CLIENT_API_VERSIONS;

/// The methods of an OpenAPI document except `HEAD`, which `GET` implies.
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "patch", "trace"];

/// Returns a route's methods: those in `Allow` of the response to an unknown method, or all
/// methods.
async fn allowed_methods(service: &HttpService, path: &str) -> BTreeSet<String> {
    let path: String = path.split('/').map(fill_segment).collect::<Vec<_>>().join("/");
    let unknown_method = Method::from_bytes(b"UNKNOWN").unwrap();
    let response = send(service, unknown_method, &path).await;
    match response.header("allow") {
        None => METHODS.map(str::to_owned).into(),
        Some(allow) => {
            let methods = allow.split(',').map(|method| method.trim().to_lowercase());
            methods.filter(|method| method != "head").collect()
        }
    }
}

/// Returns the path that the document describes. The same routes have several prefixes, of which it
/// describes one.
fn described_path(path: &str) -> String {
    let path = path.replace("{*", "{").replace("/_service/", "/_matrix/");
    let path = CLIENT_API_VERSIONS.iter().fold(path, |path, version| {
        path.replace(&format!("/_matrix/client/{version}/"), "/_matrix/client/v3/")
    });
    path.replace("/client/v3/versions", "/client/versions")
}

/// Pages are described by their links and forms. Of the gateway check, which accepts every method,
/// one is described.
#[tokio::test]
async fn the_openapi_document_describes_exactly_the_served_routes_and_methods() {
    let dir = tempfile::tempdir().unwrap();
    let state = test_state(dir.path()).await;
    let service = HttpService::new(state.clone());
    let mut served_methods = BTreeMap::new();
    for area_router in area_routers(&state) {
        let is_alias = |path: &str| area_router.area.ignores_trailing_slash && path.ends_with('/');
        for path in area_router.routes.paths.iter().filter(|path| !is_alias(path)) {
            let methods = match area_router.area {
                PAGES if path != "/oauth/authorize" => continue,
                PAGES | GATEWAY => ["get".to_owned()].into(),
                _ => allowed_methods(&service, path).await,
            };
            let earlier = served_methods.insert(described_path(path), methods.clone());
            assert!(earlier.is_none_or(|earlier| earlier == methods), "{path}");
        }
    }
    let document = openapi_document("https://ring.example", &state.config.name_segments);
    let path_methods = document["paths"].as_object().unwrap().iter().map(|(path, item)| {
        let methods = item.as_object().unwrap().keys().filter(|key| *key != "parameters");
        (path.clone(), methods.cloned().collect())
    });
    let described_methods: BTreeMap<String, BTreeSet<String>> = path_methods.collect();
    assert_eq!(described_methods, served_methods);
}

#[test]
fn the_openapi_document_has_every_scope_and_unique_operation_ids() {
    let document = openapi_document("https://ring.example", &["_ring".to_owned()]);
    let flows = &document["components"]["securitySchemes"]["oauth2"]["flows"];
    let flow_scopes = |flow: &str| -> BTreeSet<String> {
        flows[flow]["scopes"].as_object().unwrap().keys().cloned().collect()
    };
    let scope_names = |scopes: &[Scope]| scopes.iter().map(ToString::to_string).collect();
    assert_eq!(flow_scopes("authorizationCode"), scope_names(Scope::ALL));
    let app_scopes: Vec<Scope> =
        Scope::ALL.iter().copied().filter(|scope| !scope.is_admin()).collect();
    assert_eq!(flow_scopes("clientCredentials"), scope_names(&app_scopes));
    let items = document["paths"].as_object().unwrap().values();
    let mut ids = BTreeSet::new();
    for operation in items.flat_map(|item| item.as_object().unwrap().values()) {
        if let Some(id) = operation["operationId"].as_str() {
            assert!(ids.insert(id), "{id} is not unique");
        }
        for requirement in operation["security"].as_array().into_iter().flatten() {
            for scope in requirement["oauth2"].as_array().into_iter().flatten() {
                assert!(Scope::from_name(scope.as_str().unwrap()).is_some(), "{scope}");
            }
        }
    }
}

/// A description with an unquoted comma is cut in a flow mapping of YAML: the rest becomes a member
/// without a value. Generators of clients reject a schema whose only type is null, and an array
/// without `items`.
#[test]
fn every_schema_of_the_openapi_document_has_members_that_generators_accept() {
    fn find_problems(value: &Value, path: &str, problems: &mut Vec<String>) {
        let Some(members) = value.as_object() else {
            let items = value.as_array().into_iter().flatten().enumerate();
            return items
                .for_each(|(i, item)| find_problems(item, &format!("{path}/{i}"), problems));
        };
        if members.get("type") == Some(&"array".into()) && !members.contains_key("items") {
            problems.push(format!("{path} has no items"));
        }
        for (name, member) in members {
            // Examples have values of any kind.
            if name == "examples" {
                continue;
            }
            let path = format!("{path}/{name}");
            if member.is_null() {
                problems.push(format!("{path} has no value"));
            }
            if path.contains("/properties/") && *member == json!({ "type": "null" }) {
                problems.push(format!("{path} is always null"));
            }
            find_problems(member, &path, problems);
        }
    }
    let mut problems = Vec::new();
    find_problems(
        &openapi_document("https://ring.example", &["_ring".to_owned()]),
        "",
        &mut problems,
    );
    assert_eq!(problems, [""; 0]);
}
