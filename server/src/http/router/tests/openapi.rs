//! Tests of the OpenAPI document: its routes, scopes and operation ids.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::Method;
use belfry_core::oauth::scope::Scope;
use serde_json::Value;

use super::{area_routers, fill_segment, send};
use crate::http::openapi::openapi_document;
use crate::http::service::HttpService;
use crate::http::service::tests::test_state;

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

#[tokio::test]
async fn the_openapi_document_describes_exactly_the_served_routes_and_methods() {
    let dir = tempfile::tempdir().unwrap();
    let state = test_state(dir.path()).await;
    let service = HttpService::new(state.clone());
    let mut served_methods = BTreeMap::new();
    for area_router in area_routers(&state) {
        let is_alias = |path: &str| area_router.area.ignores_trailing_slash && path.ends_with('/');
        for path in area_router.routes.paths.iter().filter(|path| !is_alias(path)) {
            served_methods.insert(path.replace("{*", "{"), allowed_methods(&service, path).await);
        }
    }
    let document = openapi_document("https://ring.example", &state.config.name_segments);
    let path_methods = document["paths"].as_object().unwrap().iter().map(|(path, item)| {
        let methods = item.as_object().unwrap().keys().filter(|key| METHODS.contains(&&***key));
        (path.clone(), methods.cloned().collect())
    });
    let described_methods: BTreeMap<String, BTreeSet<String>> = path_methods.collect();
    assert_eq!(described_methods, served_methods);
}

#[test]
fn the_openapi_document_has_every_scope() {
    let document = openapi_document("https://ring.example", &["_matrix".to_owned()]);
    let flows = &document["components"]["securitySchemes"]["oauth2"]["flows"];
    let flow_scopes = |flow: &str| -> BTreeSet<String> {
        flows[flow]["scopes"].as_object().unwrap().keys().cloned().collect()
    };
    let scope_names = |scopes: &[Scope]| scopes.iter().map(ToString::to_string).collect();
    assert_eq!(flow_scopes("authorizationCode"), scope_names(Scope::ALL));
    let app_scopes: Vec<Scope> =
        Scope::ALL.iter().copied().filter(|scope| !scope.is_admin()).collect();
    assert_eq!(flow_scopes("clientCredentials"), scope_names(&app_scopes));
    // The scopes that operations require exist.
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values().filter_map(Value::as_object) {
            let requirements = operation["security"].as_array().unwrap().iter();
            for scope in requirements.filter_map(|scheme| scheme["oauth2"].as_array()).flatten() {
                assert!(Scope::from_name(scope.as_str().unwrap()).is_some(), "{scope}");
            }
        }
    }
}

#[test]
fn openapi_operations_have_unique_ids() {
    let segments = ["_service", "_matrix"].map(str::to_owned);
    let document = openapi_document("https://ring.example", &segments);
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
