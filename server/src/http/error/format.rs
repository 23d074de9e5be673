//! The parts of the service, each with its own shape of errors.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Which part of the service a path belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Area {
    /// The push rules: `{"errcode": "M_…", "error": "…"}`.
    Rules,
    /// The OAuth endpoints: `{"error": "code", "error_description": "…"}`.
    OAuth,
    /// Those of them that people look at: a page, or the same object for programs.
    Pages,
    /// Everything else: `{"error": "…"}`.
    Api,
}

impl Area {
    /// The area of a path, given the first segments of the push rules.
    pub(crate) fn of(path: &str, name_segments: &[String]) -> Self {
        let mut parts = path.trim_start_matches('/').split('/');
        let first = parts.next().unwrap_or_default();
        if name_segments.iter().any(|segment| segment == first) {
            Self::Rules
        } else if first == "oauth" {
            match parts.next() {
                Some("account" | "authorize" | "sign_in" | "sign_out") => Self::Pages,
                _ => Self::OAuth,
            }
        } else {
            Self::Api
        }
    }

    /// An error in the shape of this area. A text speaks to the client's developer.
    pub(crate) fn error(self, status: StatusCode, codes: Codes, text: &str) -> Response {
        let body = match self {
            Self::Rules => json!({ "errcode": codes.rules, "error": text }),
            Self::OAuth | Self::Pages => {
                json!({ "error": codes.oauth, "error_description": text })
            }
            Self::Api => json!({ "error": text }),
        };
        (status, Json(body)).into_response()
    }
}

/// What an error is called in the areas that have codes for errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Codes {
    pub(crate) rules: &'static str,
    pub(crate) oauth: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_belongs_to_the_area_of_its_first_segment() {
        let segments = ["_service".to_owned(), "_matrix".to_owned()];
        for (path, area) in [
            ("/_service/client/api/v1/pushrules/", Area::Rules),
            ("/_matrix", Area::Rules),
            ("//_matrix/x", Area::Rules),
            ("/_matrixx", Area::Api),
            ("/oauth/token", Area::OAuth),
            ("/oauth", Area::OAuth),
            ("/oauth/authorize", Area::Pages),
            ("/oauth/authorize/resume", Area::Pages),
            ("/oauth/sign_in", Area::Pages),
            ("/oauth/account", Area::Pages),
            ("/oauth/account/remove_app", Area::Pages),
            ("/oauth/accounts", Area::OAuth),
            ("/oauth/sign_inx", Area::OAuth),
            ("/oauthx", Area::Api),
            ("/api/v1/apps", Area::Api),
            ("/", Area::Api),
            ("", Area::Api),
        ] {
            assert_eq!(Area::of(path, &segments), area, "{path}");
        }
    }
}
