//! `/api/v1/instance`, `/api/v2/instance` and nodeinfo: descriptions of this server.
//!
//! Belfry has no statuses, media or polls. Their fields are present because clients expect them.

use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::MethodRouter;
use serde_json::{Value, json};

use crate::app::AppState;
use crate::config::RegistrationPolicy;
use crate::http::json::{Json, REVALIDATE, constant_route};
use crate::paths;

/// The Mastodon version whose features clients may expect, followed by Belfry's version.
const VERSION: &str = concat!("4.3.0 (compatible; Belfry ", env!("CARGO_PKG_VERSION"), ")");

/// `GET /api/v1/instance`
pub(crate) fn v1_route(state: &AppState) -> MethodRouter<AppState> {
    let instance = &state.config.instance;
    constant_route(&json!({
        "uri": state.server_name(),
        "title": instance.title,
        "short_description": instance.description,
        "description": instance.description,
        "email": "",
        "version": VERSION,
        "urls": {},
        "stats": { "user_count": 0, "status_count": 0, "domain_count": 0 },
        "thumbnail": state.base_url.avatar_url(),
        "languages": ["en"],
        "registrations": is_registration_open(state),
        "approval_required": false,
        "invites_enabled": false,
        "configuration": instance_configuration(),
        "contact_account": null,
        "rules": [],
    }))
}

/// `GET /api/v2/instance`. Not constant, because the VAPID key can change.
pub(crate) async fn v2(State(state): State<AppState>) -> impl IntoResponse {
    let instance = &state.config.instance;
    let mut configuration = instance_configuration();
    if let Some(public_key) = state.vapid_key() {
        configuration["vapid"] = json!({ "public_key": public_key });
    }
    let document = json!({
        "domain": state.server_name(),
        "title": instance.title,
        "version": VERSION,
        "source_url": "",
        "description": instance.description,
        "usage": { "users": { "active_month": 0 } },
        "thumbnail": { "url": state.base_url.avatar_url() },
        "icon": [],
        "languages": ["en"],
        "configuration": configuration,
        "registrations": {
            "enabled": is_registration_open(&state),
            "approval_required": false,
            "message": null,
            "url": null,
        },
        "api_versions": { "mastodon": 2 },
        "contact": { "email": "", "account": null },
        "rules": [],
    });
    (REVALIDATE, Json(document))
}

/// `GET /.well-known/nodeinfo`: the link to the nodeinfo document.
pub(crate) fn nodeinfo_links_route(state: &AppState) -> MethodRouter<AppState> {
    constant_route(&json!({
        "links": [{
            "rel": "http://nodeinfo.diaspora.software/ns/schema/2.0",
            "href": format!("{}{}", state.base_url, paths::NODEINFO),
        }],
    }))
}

/// `GET /nodeinfo/2.0`
pub(crate) fn nodeinfo_route(state: &AppState) -> MethodRouter<AppState> {
    constant_route(&json!({
        "version": "2.0",
        "software": { "name": "belfry", "version": env!("CARGO_PKG_VERSION") },
        "protocols": [],
        "services": { "inbound": [], "outbound": [] },
        "openRegistrations": is_registration_open(state),
        "usage": { "users": {} },
        "metadata": {
            "nodeName": state.config.instance.title,
            "nodeDescription": state.config.instance.description,
        },
    }))
}

fn is_registration_open(state: &AppState) -> bool {
    state.config.registration == RegistrationPolicy::Open
}

fn instance_configuration() -> Value {
    json!({
        "urls": {},
        "accounts": { "max_featured_tags": 0, "max_pinned_statuses": 0 },
        "statuses": {
            "max_characters": 500,
            "max_media_attachments": 0,
            "characters_reserved_per_url": 23,
        },
        "media_attachments": {
            "supported_mime_types": [],
            "image_size_limit": 0,
            "image_matrix_limit": 0,
            "video_size_limit": 0,
            "video_frame_rate_limit": 0,
            "video_matrix_limit": 0,
        },
        "polls": {
            "max_options": 0,
            "max_characters_per_option": 0,
            "min_expiration": 0,
            "max_expiration": 0,
        },
        "translation": { "enabled": false },
    })
}
