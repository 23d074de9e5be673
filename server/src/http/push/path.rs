//! Extractors for the paths below `/pushrules/`. The router selects the handler; the extractors
//! parse the raw path and reject invalid parts, such as an unknown scope or an id with an encoded
//! slash.

use axum::extract::FromRequestParts;
use axum::http::Method;
use axum::http::request::Parts;
use belfry_core::rules::{self, PathError, RuleKind, RuleRef, RuleScope};

use crate::http::error::{CommonError, MatrixError};
use crate::http::extract::raw_path::RawPath;
use crate::http::extract::requester::Requester;

/// Any valid path below `/pushrules/`.
pub(crate) struct ValidPath(rules::RulePath);

impl<S: Sync> FromRequestParts<S> for ValidPath {
    type Rejection = MatrixError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, MatrixError> {
        let path = RawPath::from_request_parts(parts, state).await?;
        let rule_path = path.rest_after("/pushrules/").ok_or(CommonError::NotFound)?;
        Ok(Self(rules::RulePath::parse(rule_path)?))
    }
}

/// The path of a route without parameters, which is always valid.
pub(crate) struct FixedPath;

impl<S: Sync> FromRequestParts<S> for FixedPath {
    type Rejection = MatrixError;

    async fn from_request_parts(_: &mut Parts, _: &S) -> Result<Self, MatrixError> {
        Ok(Self)
    }
}

/// Defines an extractor that accepts one form of path.
macro_rules! path_extractor {
    ($(#[$doc:meta])* $name:ident($($field:ty),+) from $($form:pat_param)|+ => $value:expr) => {
        $(#[$doc])*
        pub(crate) struct $name($(pub(crate) $field),+);

        impl<S: Sync> FromRequestParts<S> for $name {
            type Rejection = MatrixError;

            async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, MatrixError> {
                match ValidPath::from_request_parts(parts, state).await?.0 {
                    $($form)|+ => Ok($value),
                    _ => Err(PathError::UnknownAttribute.into()),
                }
            }
        }
    };
}

path_extractor! {
    /// `{scope}/`
    RulesetPath(RuleScope) from rules::RulePath::Ruleset(scope) => RulesetPath(scope)
}
path_extractor! {
    /// `{scope}/{kind}/`
    KindPath(RuleScope, RuleKind) from rules::RulePath::Kind(scope, kind) => KindPath(scope, kind)
}
path_extractor! {
    /// `{scope}/{kind}/{rule_id}`, and the attributes below it.
    RuleRefPath(RuleRef)
    from rules::RulePath::Rule(rule_ref)
        | rules::RulePath::Enabled(rule_ref)
        | rules::RulePath::Actions(rule_ref) => RuleRefPath(rule_ref)
}

/// Rejects an unknown path: with the path's error if it is invalid, otherwise with 404.
pub(crate) async fn reject_unknown_path(_: Requester, _: ValidPath) -> CommonError {
    CommonError::NotFound
}

/// Rejects a method that the path does not support; the router adds the `Allow` header. A `PUT`
/// without a rule id is an unrecognized path, as in other implementations.
pub(crate) async fn reject_method(method: Method, _: Requester, _: ValidPath) -> MatrixError {
    match method {
        Method::PUT => PathError::NotARule.into(),
        _ => CommonError::MethodNotAllowed.into(),
    }
}
