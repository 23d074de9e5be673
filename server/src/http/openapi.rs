//! `GET /openapi.json`: the description of the API, merged from the files in `server/openapi/`.

use std::future::ready;
use std::sync::{Arc, OnceLock};

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};
use belfry_core::json::to_bytes;
use belfry_core::secret::Sha256Digest;
use bytes::Bytes;
use serde_json::{Map, Value};

use crate::app::AppState;
use crate::http::json::JsonBytes;

type Object = Map<String, Value>;

/// OpenAPI 3.1 in parts, one for each area.
const FILES: [&str; 10] = [
    include_str!("../../openapi/base.yaml"),
    include_str!("../../openapi/push_rules.yaml"),
    include_str!("../../openapi/evaluation.yaml"),
    include_str!("../../openapi/matrix.yaml"),
    include_str!("../../openapi/oauth.yaml"),
    include_str!("../../openapi/id.yaml"),
    include_str!("../../openapi/mastodon.yaml"),
    include_str!("../../openapi/admin.yaml"),
    include_str!("../../openapi/gateway.yaml"),
    include_str!("../../openapi/server.yaml"),
];

/// The segment below which the files describe the Matrix endpoints.
const DESCRIBED_SEGMENT: &str = "_matrix";

/// Returns the document's route. The document is rendered at the first request, because most
/// servers never receive one.
pub(super) fn openapi_route(state: &AppState) -> MethodRouter<AppState> {
    let base_url = state.base_url.to_string();
    let segments = state.config.name_segments.clone();
    let document = Arc::new(OnceLock::new());
    get(move |request_headers: HeaderMap| {
        let (etag, bytes) = document.get_or_init(|| {
            let bytes = to_bytes(&openapi_document(&base_url, &segments));
            let digest = Sha256Digest::compute(&String::from_utf8_lossy(&bytes)).to_text();
            (format!("\"{digest}\""), Bytes::from(bytes))
        });
        let is_cached = request_headers
            .get(header::IF_NONE_MATCH)
            .is_some_and(|etags| etags.to_str().is_ok_and(|etags| etags.contains(etag)));
        // Clients must revalidate, so that changed settings are visible right after a restart.
        let headers = [(header::CACHE_CONTROL, "max-age=0"), (header::ETAG, etag)];
        ready(if is_cached {
            (StatusCode::NOT_MODIFIED, headers).into_response()
        } else {
            (headers, JsonBytes(bytes.clone())).into_response()
        })
    })
}

/// Returns the document for a server with a base URL and name segments. It describes the Matrix
/// endpoints below one segment.
pub(super) fn openapi_document(base_url: &str, segments: &[String]) -> Value {
    let is_described = segments.iter().any(|segment| segment == DESCRIBED_SEGMENT);
    let segment = if is_described { DESCRIBED_SEGMENT } else { &segments[0] };
    let mut document = Object::new();
    for file in FILES {
        let yaml = file
            .replace("{base_url}", base_url)
            .replace("{version}", env!("CARGO_PKG_VERSION"))
            .replace("/_matrix/client/", &format!("/{segment}/client/"))
            .replace("/_matrix/app/", &format!("/{segment}/app/"));
        let part: Result<Object, _> = serde_saphyr::from_str(&yaml);
        let mut part = part.expect("a test parses the files of the OpenAPI document");
        // Anchors that the rest of the file refers to.
        part.retain(|name, _| !name.starts_with("x-"));
        merge(&mut document, part);
    }
    document.into()
}

fn merge(document: &mut Object, part: Object) {
    for (name, value) in part {
        match (document.get_mut(&name), value) {
            (Some(Value::Object(members)), Value::Object(part)) => merge(members, part),
            (Some(Value::Array(items)), Value::Array(part)) => items.extend(part),
            (_, value) => drop(document.insert(name, value)),
        }
    }
}
