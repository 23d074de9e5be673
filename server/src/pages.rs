//! The HTML pages, each a struct with its template.

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

/// The parameters of the layout that all pages share.
#[derive(Debug, Clone, Copy)]
pub struct Layout<'a> {
    /// The language of the page.
    pub language: Language,
    /// The server name: the part of a user id after the colon.
    pub server: &'a str,
}

impl Layout<'_> {
    /// The message of this key.
    fn text(&self, key: &str) -> Cow<'static, str> {
        self.language.text(key)
    }

    /// The message of this key with the name of an app.
    fn text_for(&self, key: &str, app: &str) -> String {
        self.language.text_with(key, "app", app)
    }

    /// Descriptions of the scopes, either the administrative ones or the others.
    fn allowed(&self, scopes: &Scopes, admin: bool) -> Vec<Cow<'static, str>> {
        let items = items(scopes).into_iter().filter(|item| item.admin == admin);
        items.map(|item| self.text(&messages::consent_item(&item))).collect()
    }
}

/// The target and the hidden fields of a form.
#[derive(Clone, Copy)]
pub struct Form<'a> {
    /// The path it is posted to.
    pub action: &'a str,
    /// The field `csrf`: proves that the form is from a page of this server.
    pub csrf: &'a str,
    /// The field `request`: the handle of the stored authorization request.
    pub request: Option<&'a str>,
}

#[cfg(test)]
#[path = "../examples/pages/samples.rs"]
pub(crate) mod samples;
#[cfg(test)]
mod tests;
