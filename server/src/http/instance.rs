//! `/api/v1/instance`, `/api/v2/instance` and nodeinfo: what clients ask before anything else.
//!
//! Belfry has no statuses, media or polls; what is said of them is what a Mastodon says, so that a
//! client that asks can go on.

use std::sync::Arc;

use axum::routing::MethodRouter;
use serde_json::{Value, json};

use super::Belfry;
use super::discovery::fixed;
use crate::config::SignUps;

/// Clients read the first number to learn what a server can do.
const VERSION: &str = concat!("4.3.0 (compatible; Belfry ", env!("CARGO_PKG_VERSION"), ")");

/// `GET /api/v1/instance`
pub(super) fn v1(belfry: &Belfry) -> MethodRouter<Arc<Belfry>> {
    let instance = &belfry.config.instance;
    fixed(&json!({
        "uri": belfry.server_name(),
        "title": instance.title,
        "short_description": instance.description,
        "description": instance.description,
        "email": "",
        "version": VERSION,
        "urls": {},
        "stats": { "user_count": 0, "status_count": 0, "domain_count": 0 },
        "thumbnail": picture(belfry),
        "languages": ["en"],
        "registrations": is_open(belfry),
        "approval_required": false,
        "invites_enabled": false,
        "configuration": configuration(),
        "contact_account": null,
        "rules": [],
    }))
}

/// `GET /api/v2/instance`
pub(super) fn v2(belfry: &Belfry) -> MethodRouter<Arc<Belfry>> {
    let instance = &belfry.config.instance;
    fixed(&json!({
        "domain": belfry.server_name(),
        "title": instance.title,
        "version": VERSION,
        "source_url": "",
        "description": instance.description,
        "usage": { "users": { "active_month": 0 } },
        "thumbnail": { "url": picture(belfry) },
        "icon": [],
        "languages": ["en"],
        "configuration": configuration(),
        "registrations": {
            "enabled": is_open(belfry),
            "approval_required": false,
            "message": null,
            "url": null,
        },
        "api_versions": { "mastodon": 2 },
        "contact": { "email": "", "account": null },
        "rules": [],
    }))
}

/// `GET /.well-known/nodeinfo`: where the next one is.
pub(super) fn nodeinfo_links(belfry: &Belfry) -> MethodRouter<Arc<Belfry>> {
    fixed(&json!({
        "links": [{
            "rel": "http://nodeinfo.diaspora.software/ns/schema/2.0",
            "href": format!("{}/nodeinfo/2.0", belfry.base_url),
        }],
    }))
}

/// `GET /nodeinfo/2.0`
pub(super) fn nodeinfo(belfry: &Belfry) -> MethodRouter<Arc<Belfry>> {
    fixed(&json!({
        "version": "2.0",
        "software": { "name": "belfry", "version": env!("CARGO_PKG_VERSION") },
        "protocols": [],
        "services": { "inbound": [], "outbound": [] },
        "openRegistrations": is_open(belfry),
        "usage": { "users": {} },
        "metadata": {
            "nodeName": belfry.config.instance.title,
            "nodeDescription": belfry.config.instance.description,
        },
    }))
}

fn is_open(belfry: &Belfry) -> bool {
    belfry.config.registration == SignUps::Open
}

fn picture(belfry: &Belfry) -> String {
    super::accounts::avatar(belfry)
}

fn configuration() -> Value {
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
