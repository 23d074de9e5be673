//! The pages that people see, each a struct with its template. What a page says is decided here,
//! when it is shown is not.

mod account;
pub mod assets;
mod code;
mod consent;
mod error;
mod form_post;
mod sign_in;
mod signed_out;

pub use account::{AccountPage, ListedApp};
pub use code::CodePage;
pub use consent::ConsentPage;
pub use error::{ErrorCause, ErrorPage};
pub use form_post::FormPostPage;
pub use sign_in::{SignInAlert, SignInPage};
pub use signed_out::SignedOutPage;

use std::borrow::Cow;

use belfry_core::oauth::consent::items;
use belfry_core::oauth::scope::Scopes;

use crate::language::{Language, messages};
pub use crate::tokens::FirstPartyApp;

/// What every page has around its own content.
#[derive(Debug, Clone, Copy)]
pub struct Layout<'a> {
    /// The language of the reader.
    pub language: Language,
    /// The name of this server, the part of a user id after the colon.
    pub server: &'a str,
}

impl Layout<'_> {
    /// The text of this key.
    fn text(&self, key: &str) -> Cow<'static, str> {
        self.language.text(key)
    }

    /// The text of this key about this app.
    fn text_for(&self, key: &str, app: &str) -> String {
        self.language.text_with(key, "app", app)
    }

    /// What scopes allow, to people or to those who run the server.
    fn allowed(&self, scopes: &Scopes, admin: bool) -> Vec<Cow<'static, str>> {
        let items = items(scopes).into_iter().filter(|item| item.admin == admin);
        items.map(|item| self.text(&messages::consent_item(&item))).collect()
    }
}

/// Where a form goes, and what it carries unseen.
#[derive(Clone, Copy)]
pub struct Form<'a> {
    /// The path that it is posted to.
    pub action: &'a str,
    /// The field `csrf`: shows that the form came from a page of ours.
    pub csrf: &'a str,
    /// The field `request`: the handle of the authorization request that is kept on the server.
    pub request: Option<&'a str>,
}

#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
mod tests;
