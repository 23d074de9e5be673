//! `…/pushrules/…`: what a user wants to hear of.
//!
//! | behind `/pushrules/` | `GET`, `HEAD` | `PUT` | `DELETE` |
//! |---|---|---|---|
//! | nothing | all rulesets | | |
//! | `device/` | the rulesets of all devices | | |
//! | `{scope}/` | one ruleset | | |
//! | `{scope}/{kind}/` | the rules of one kind | | |
//! | `{scope}/{kind}/{ruleId}` | one rule | add or replace it | delete it |
//! | `{scope}/{kind}/{ruleId}/enabled` | whether it is asked | say so | |
//! | `{scope}/{kind}/{ruleId}/actions` | what it does | say so | |
//!
//! The path is not taken apart by the router, which decodes before anybody can see that an id had
//! an escaped slash in it, and would answer a missing slash at the end with 404.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{Method, header};
use axum::response::{IntoResponse, Response};
use belfry_core::rules::RulePath;

use super::{read, write::Write};
use crate::app::AppState;
use crate::http::error::{CommonError, MatrixError};
use crate::http::extract::requester::Requester;
use crate::http::router::APIS;

/// Every call behind `/pushrules/`.
pub(crate) async fn answer(
    State(state): State<Arc<AppState>>,
    requester: Requester,
    request: Request,
) -> Result<Response, MatrixError> {
    let path = RulePath::read(behind(request.uri().path()))?;
    let method = request.method().clone();
    let write = || Write::new(&state, &requester, request);
    match (method, path) {
        (Method::GET | Method::HEAD, path) => read::show(&state, &requester, &path).await,
        (Method::PUT, RulePath::Rule(name)) => write()?.rule(name).await,
        (Method::PUT, RulePath::Enabled(name)) => write()?.enabled(name).await,
        (Method::PUT, RulePath::Actions(name)) => write()?.actions(name).await,
        (Method::DELETE, RulePath::Rule(name)) => write()?.no_rule(name).await,
        (_, path) => Ok(wrong_method(&path)),
    }
}

/// What stands behind `/segment/client/api/pushrules/` in a path that was routed here.
fn behind(path: &str) -> &str {
    let Some((_, path)) = path[1..].split_once('/') else { return "" };
    let path = path.strip_prefix("client/").unwrap_or_default();
    let behind = |api| path.strip_prefix(api)?.strip_prefix("/pushrules/");
    APIS.into_iter().find_map(behind).unwrap_or_default()
}

fn wrong_method(path: &RulePath) -> Response {
    let allowed = match path {
        RulePath::All | RulePath::Devices | RulePath::Ruleset(_) | RulePath::Kind(..) => "GET,HEAD",
        RulePath::Rule(_) => "GET,HEAD,PUT,DELETE",
        RulePath::Enabled(_) | RulePath::Actions(_) => "GET,HEAD,PUT",
    };
    ([(header::ALLOW, allowed)], CommonError::WrongMethod).into_response()
}

#[cfg(test)]
mod tests {
    use super::behind;

    #[test]
    fn the_path_is_cut_behind_the_first_pushrules_of_the_api() {
        for (path, rest) in [
            ("/_service/client/api/v1/pushrules/", ""),
            ("/_matrix/client/v3/pushrules/global/", "global/"),
            ("/pushrules/client/r0/pushrules/global/room/a", "global/room/a"),
            ("/x/client/r0/pushrules/device/pushrules/room/a", "device/pushrules/room/a"),
            ("/x/client/v3/pushrules//pushrules/", "/pushrules/"),
        ] {
            assert_eq!(behind(path), rest, "{path}");
        }
    }
}
