//! Form fields of a request, from a URL-encoded form, a multipart form or a JSON object.

use std::convert::Infallible;
use std::future::ready;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use belfry_core::form::{self, FormError, Pairs};
use belfry_core::json;
use belfry_core::push::subscription;
use bytes::Bytes;
use futures_util::stream;
use serde_json::Value;

use crate::app::AppState;
use crate::http::error::CommonError;
use crate::http::extract::body::UnreadBody;

/// Maximum size of a page form, in bytes.
const MAX_PAGE_FORM_BYTES: usize = 64 * 1024;

/// The fields of a body. Not `Debug`, because they may contain secrets.
pub(crate) struct Form(pub(crate) Pairs);

impl FromRequest<AppState> for Form {
    type Rejection = CommonError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, CommonError> {
        let max_bytes = state.config.http.max_body_bytes;
        read_fields(max_bytes, request, state, form::from_json).await.map(Self)
    }
}

/// The fields of a page form. At most 64 KiB are read, even if `max_body_bytes` is larger: that is
/// enough for every page, and anyone can send a form.
pub(crate) struct PageForm(pub(crate) Pairs);

impl FromRequest<AppState> for PageForm {
    type Rejection = CommonError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, CommonError> {
        let max_bytes = state.config.http.max_body_bytes.min(MAX_PAGE_FORM_BYTES);
        read_fields(max_bytes, request, state, form::from_json).await.map(Self)
    }
}

/// The fields of a subscription, whose JSON is nested.
pub(crate) struct SubscriptionForm(pub(crate) Pairs);

impl FromRequest<AppState> for SubscriptionForm {
    type Rejection = CommonError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, CommonError> {
        let max_bytes = state.config.http.max_body_bytes;
        let from_json = |json| subscription::pairs_from_json(&json);
        read_fields(max_bytes, request, state, from_json).await.map(Self)
    }
}

/// Reads the fields of a body of at most this many bytes, with a function that converts JSON.
async fn read_fields(
    max_bytes: usize,
    request: Request,
    state: &AppState,
    from_json: impl FnOnce(Value) -> Result<Pairs, FormError>,
) -> Result<Pairs, CommonError> {
    let encoding = FormEncoding::from_headers(request.headers());
    let Ok(body) = UnreadBody::from_request(request, state).await;
    let body = body.read(max_bytes).await?;
    match encoding {
        _ if body.is_empty() => Ok(Vec::new()),
        Some(FormEncoding::UrlEncoded) => Ok(form::parse(&body)?),
        Some(FormEncoding::Multipart(boundary)) => parse_multipart(body, boundary).await,
        Some(FormEncoding::Json) => {
            let json =
                json::parse(&body).map_err(|error| CommonError::Malformed(error.to_string()))?;
            Ok(from_json(json)?)
        }
        None => Err(CommonError::UnsupportedMediaType),
    }
}

pub(crate) struct Query(pub(crate) Pairs);

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = CommonError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, CommonError> {
        Ok(Self(form::parse(parts.uri.query().unwrap_or_default().as_bytes())?))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum FormEncoding {
    UrlEncoded,
    Multipart(String),
    Json,
}

impl FormEncoding {
    /// Returns the encoding for the `Content-Type` header. Charsets other than UTF-8 are not
    /// supported.
    fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let content_type = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        let (essence, parameters) = content_type.split_once(';').unwrap_or((content_type, ""));
        let charset = parameters.split(';').find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
        });
        if charset.is_some_and(|charset| !charset.eq_ignore_ascii_case("utf-8")) {
            return None;
        }
        match essence.trim().to_ascii_lowercase().as_str() {
            "application/x-www-form-urlencoded" => Some(Self::UrlEncoded),
            "application/json" => Some(Self::Json),
            "multipart/form-data" => multer::parse_boundary(content_type).ok().map(Self::Multipart),
            _ => None,
        }
    }
}

/// Parses a multipart form. The body is already in memory, so multer needs no size limits.
async fn parse_multipart(body: Bytes, boundary: String) -> Result<Pairs, CommonError> {
    let malformed =
        |error: multer::Error| CommonError::Malformed(format!("The multipart body: {error}"));
    let body = stream::once(ready(Ok::<_, Infallible>(body)));
    let mut fields = multer::Multipart::new(body, boundary);
    let mut pairs = Vec::new();
    while let Some(field) = fields.next_field().await.map_err(malformed)? {
        let name = field.name().unwrap_or_default().to_owned();
        let bytes = field.bytes().await.map_err(malformed)?;
        let value = String::from_utf8(bytes.into()).map_err(|_| FormError::NotUtf8)?;
        pairs.push((name, value));
    }
    Ok(form::reject_nul(pairs)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_type_determines_how_a_body_is_parsed() {
        let multipart = |boundary: &str| Some(FormEncoding::Multipart(boundary.to_owned()));
        for (content_type, encoding) in [
            ("application/x-www-form-urlencoded", Some(FormEncoding::UrlEncoded)),
            ("Application/X-WWW-Form-Urlencoded; Charset=UTF-8", Some(FormEncoding::UrlEncoded)),
            ("application/json;charset=\"utf-8\"", Some(FormEncoding::Json)),
            ("multipart/form-data; boundary=x", multipart("x")),
            ("multipart/form-data; boundary=\"x y\"; charset=utf-8", multipart("x y")),
            ("multipart/form-data", None),
            ("application/json; charset=utf-7", None),
            ("application/x-www-form-urlencoded; charset=iso-8859-1", None),
            ("text/plain", None),
            ("", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, content_type.parse().unwrap());
            assert_eq!(FormEncoding::from_headers(&headers), encoding, "{content_type}");
        }
        assert_eq!(FormEncoding::from_headers(&HeaderMap::new()), None);
    }
}
