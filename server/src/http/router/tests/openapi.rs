//! Tests of the OpenAPI document: its routes, scopes and operation ids.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::Method;
use belfry_core::oauth::scope::Scope;
use serde_json::Value;

use super::{areas, fill_segment, send};
use crate::http::openapi::document;
use crate::http::service::HttpService;
use crate::http::service::tests::test_state;

/// The methods of an OpenAPI document except `HEAD`, which `GET` implies.
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "patch", "trace"];

/// Returns the methods of a route: those in `Allow` of the response to an unknown method, or all
/// methods.
async fn methods(service: &HttpService, path: &str) -> BTreeSet<String> {
    let path: String = path.split('/').map(fill_segment).collect::<Vec<_>>().join("/");
    let unknown = Method::from_bytes(b"UNKNOWN").unwrap();
    let response = send(service, unknown, &path).await;
    match response.header("allow") {
        None => METHODS.map(str::to_owned).into(),
        Some(allow) => {
            let methods = allow.split(',').map(|method| method.trim().to_lowercase());
            methods.filter(|method| method != "head").collect()
        }
    }
}

#[tokio::test]
async fn the_openapi_document_has_every_route_with_its_methods_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let state = test_state(dir.path()).await;
    let service = HttpService::new(state.clone());
    let mut served = BTreeMap::new();
    for area in areas(&state) {
        let is_alias = |path: &str| area.area.ignores_trailing_slash && path.ends_with('/');
        for path in area.routes.paths.iter().filter(|path| !is_alias(path)) {
            served.insert(path.replace("{*", "{"), methods(&service, path).await);
        }
    }
    let document = document("https://ring.example", &state.config.name_segments);
    let path_methods = document["paths"].as_object().unwrap().iter().map(|(path, item)| {
        let methods = item.as_object().unwrap().keys().filter(|key| METHODS.contains(&&***key));
        (path.clone(), methods.cloned().collect())
    });
    let described: BTreeMap<String, BTreeSet<String>> = path_methods.collect();
    assert_eq!(described, served);
}

#[test]
fn the_openapi_document_has_every_scope() {
    let document = document("https://ring.example", &["_matrix".to_owned()]);
    let flows = &document["components"]["securitySchemes"]["oauth2"]["flows"];
    let scopes = |flow: &str| -> BTreeSet<String> {
        flows[flow]["scopes"].as_object().unwrap().keys().cloned().collect()
    };
    let names = |scopes: &[Scope]| scopes.iter().map(ToString::to_string).collect();
    assert_eq!(scopes("authorizationCode"), names(Scope::ALL));
    let app_scopes: Vec<Scope> = Scope::ALL.iter().copied().filter(|s| !s.is_admin()).collect();
    assert_eq!(scopes("clientCredentials"), names(&app_scopes));
    // The scopes that operations require exist.
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values().filter_map(Value::as_object) {
            let required = operation["security"].as_array().unwrap().iter();
            for scope in required.filter_map(|scheme| scheme["oauth2"].as_array()).flatten() {
                assert!(Scope::from_name(scope.as_str().unwrap()).is_some(), "{scope}");
            }
        }
    }
}

#[test]
fn operations_of_the_openapi_document_have_unique_ids() {
    let segments = ["_service", "_matrix"].map(str::to_owned);
    let document = document("https://ring.example", &segments);
    let mut ids = BTreeSet::new();
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values().filter_map(Value::as_object) {
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id.to_owned()), "{id} is not unique");
        }
    }
    for id in ["getRule", "getRule_service_v3", "getRule_matrix_api_v1", "checkRequest_post"] {
        assert!(ids.contains(id), "{id}");
    }
}
