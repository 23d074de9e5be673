//! The overview of the account: its name and its authorised apps.

use askama::Template;
use belfry_core::oauth::client::Origin;
use belfry_core::oauth::uri::web_host;
use jiff::Timestamp;

use super::last_use::describe_last_use;
use super::timed_text::{TimeFormat, TimedText};
use super::{AccountNav, AccountToken, AuthorizedApp, Form, Layout};
use crate::language::isolate;

/// `templates/account.html`. Posts `app`, the id of the app to be removed, or `token`, the lookup
/// key of the token to be revoked.
#[derive(Template)]
#[template(path = "account.html")]
pub struct AccountPage<'a> {
    pub layout: Layout<'a>,
    pub nav: AccountNav,
    pub account: &'a str,
    pub sign_out: Form<'a>,
    pub remove: Form<'a>,
    pub revoke: Form<'a>,
    pub apps: &'a [AuthorizedApp],
    /// Their tokens, the last used first, at most [`MAX_TOKENS`] of each app.
    pub tokens: &'a [AccountToken],
    pub now: Timestamp,
}

fn since(layout: &Layout<'_>, time: Timestamp) -> TimedText {
    TimedText::new(layout, "apps-since", time, TimeFormat::Day)
}

/// The maximum number of tokens of an app on the page.
pub const MAX_TOKENS: i64 = 10;

impl AccountPage<'_> {
    fn app_title(&self, app: &AuthorizedApp) -> String {
        match app.origin {
            Origin::Matrix => self.layout.text("apps-matrix").into_owned(),
            Origin::Api | Origin::Operator | Origin::CommandLine => isolate(&app.name),
        }
    }

    /// The host of the website of an app, or a note about a first-party app.
    fn app_origin(&self, app: &AuthorizedApp) -> Option<String> {
        match app.origin {
            Origin::Matrix => Some(self.layout.text("apps-matrix-note").into_owned()),
            Origin::CommandLine => Some(self.layout.text("apps-issued-note").into_owned()),
            Origin::Api | Origin::Operator => {
                web_host(app.website.as_deref()?).map(|host| isolate(&host))
            }
        }
    }

    /// The tokens of an app that are shown.
    fn tokens_of(&self, app: &AuthorizedApp) -> impl Iterator<Item = &AccountToken> {
        let app = app.app_id;
        self.tokens.iter().filter(move |token| token.app_id == app)
    }

    /// Whether the tokens of an app are listed: there are several, or they have names.
    fn lists_tokens(&self, app: &AuthorizedApp) -> bool {
        app.tokens > 1 || self.tokens_of(app).any(|token| token.device.is_some())
    }

    /// The name of the device of a token.
    fn device(token: &AccountToken) -> Option<String> {
        token.device.as_deref().map(isolate)
    }

    fn token_count(&self, app: &AuthorizedApp) -> String {
        let count = usize::try_from(app.tokens).unwrap_or_default();
        self.layout.language.text_with("tokens-count", "count", count)
    }

    /// A sentence about the tokens of an app that are not shown.
    fn more_tokens(&self, app: &AuthorizedApp) -> Option<String> {
        let shown = usize::try_from(MAX_TOKENS).unwrap_or_default();
        let is_more = app.tokens > MAX_TOKENS;
        is_more.then(|| self.layout.language.text_with("only-last-used", "count", shown))
    }

    /// When an app got access.
    fn since(&self, app: &AuthorizedApp) -> TimedText {
        since(&self.layout, app.since)
    }

    /// When an app was last used, with any of its tokens.
    fn last_use(&self, app: &AuthorizedApp) -> String {
        let last = self.tokens_of(app).filter_map(|token| token.last_used_at).max();
        describe_last_use(&self.layout, last, self.now)
    }

    fn issued(&self, token: &AccountToken) -> TimedText {
        since(&self.layout, token.created_at)
    }

    fn token_use(&self, token: &AccountToken) -> String {
        describe_last_use(&self.layout, token.last_used_at, self.now)
    }
}
