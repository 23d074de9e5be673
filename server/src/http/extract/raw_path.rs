//! The path of a request as it was sent, percent-encoded, and the route that it matched.
//!
//! axum decodes path parameters, so an encoded slash looks like a separator and an invalid escape
//! like text. Extractors that must distinguish them parse the raw path.

use axum::extract::{FromRequestParts, MatchedPath};
use axum::http::Uri;
use axum::http::request::Parts;

use crate::http::error::CommonError;

pub(crate) struct RawPath {
    uri: Uri,
    route: MatchedPath,
}

impl RawPath {
    /// Returns the rest of the path after `segments`, which are part of the route. No parameter may
    /// precede them in the route, because their offset there is also used for the path.
    pub(crate) fn rest_after(&self, segments: &str) -> Option<&str> {
        let start = self.route.as_str().rfind(segments)? + segments.len();
        self.uri.path().get(start..)
    }

    /// Returns the path segment at this placeholder of the route, such as `{id}`.
    pub(crate) fn parameter(&self, placeholder: &str) -> Option<&str> {
        let mut segments = self.route.as_str().split('/').zip(self.uri.path().split('/'));
        segments.find(|(pattern, _)| *pattern == placeholder).map(|(_, segment)| segment)
    }
}

impl<S: Sync> FromRequestParts<S> for RawPath {
    type Rejection = CommonError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, CommonError> {
        let route = parts.extensions.get::<MatchedPath>().cloned().ok_or(CommonError::NotFound)?;
        Ok(Self { uri: parts.uri.clone(), route })
    }
}
