//! `/oauth/account`: who is signed in, which apps they have let in, and their rules.

use axum::http::StatusCode;
use axum::response::Response;
use belfry_core::oauth::form::Pairs;
use belfry_core::rules::Document;

use super::error::PageError;
use super::form::{Form, Query, value};
use super::page::{Forms, answer, in_language, redirect, show};
use super::sign_in;
use super::visitor::Visitor;
use crate::issue::OwnApp;
use crate::pages::{self, AccountPage, AppLetIn};
use crate::store::LetIn;

/// Where it is: also where a sign-in leads that no app asked for.
pub(super) const ACCOUNT: &str = "/oauth/account";
const REMOVE_APP: &str = "/oauth/account/remove_app";

/// `GET /oauth/account`: shows all of it, to who is signed in.
pub(super) async fn account_page(visitor: Visitor, Query(pairs): Query) -> Response {
    let lang = Some(value(&pairs, "lang"));
    let outcome = show_account(&visitor, lang).await;
    answer(&visitor, lang, outcome)
}

async fn show_account(visitor: &Visitor, lang: Option<&str>) -> Result<Response, PageError> {
    let Some(account) = visitor.account() else {
        return redirect(visitor, &in_language(sign_in::SIGN_IN, lang));
    };
    let (store, now) = (&visitor.belfry.store, visitor.belfry.clock.now());
    let mut apps: Vec<AppLetIn> =
        store.let_in(account.id, now).await?.into_iter().map(let_in).collect();
    apps.sort_by_cached_key(|app| (app.name.to_lowercase(), app.id));
    let rulesets = store.rulesets(account.id).await?;
    let mut rules: Vec<&Document> = rulesets.documents().collect();
    rules.sort_by_key(|document| document.scope());
    let csrf = visitor.csrf();
    let [sign_out, remove_app] =
        [sign_in::SIGN_OUT, REMOVE_APP].map(|action| in_language(action, lang));
    let page = AccountPage {
        frame: visitor.frame(lang),
        account: &account.name,
        sign_out: pages::Form { action: &sign_out, csrf: &csrf, request: None },
        remove: pages::Form { action: &remove_app, csrf: &csrf, request: None },
        apps: &apps,
        rules: &rules,
    };
    show(visitor, StatusCode::OK, &page, Forms::Stay)
}

fn let_in(app: LetIn) -> AppLetIn {
    AppLetIn {
        id: app.app,
        own: OwnApp::of_client(&app.client_id),
        name: app.name,
        website: app.website,
        scopes: app.scopes,
        since: app.since,
    }
}

/// `POST /oauth/account/remove_app`: ends the access of the app that the field `app` names. Where
/// there is none to end, the answer is the same.
pub(super) async fn remove_app(
    visitor: Visitor,
    Query(query): Query,
    Form(pairs): Form,
) -> Response {
    let lang = Some(value(&query, "lang"));
    let outcome = remove(&visitor, lang, &pairs).await;
    answer(&visitor, lang, outcome)
}

async fn remove(
    visitor: &Visitor,
    lang: Option<&str>,
    pairs: &Pairs,
) -> Result<Response, PageError> {
    visitor.check(pairs)?;
    if let (Some(account), Ok(app)) = (visitor.account(), value(pairs, "app").parse::<i64>()) {
        let (store, now) = (&visitor.belfry.store, visitor.belfry.clock.now());
        let tokens = store.remove_access(account.id, app, now).await?;
        if tokens > 0 {
            tracing::info!(account = account.name, app, tokens, "the access of an app was removed");
        }
    }
    redirect(visitor, &in_language(ACCOUNT, lang))
}
