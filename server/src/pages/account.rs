//! The overview of the account: its name and its authorised apps.

use askama::Template;
use belfry_core::oauth::uri::web_host;

use super::{AccountNav, AuthorizedApp, Form, Layout};
use crate::language::isolate;
use crate::tokens::FirstPartyApp;

/// `templates/account.html`. Posts `app`, the id of the app to be removed.
#[derive(Template)]
#[template(path = "account.html")]
pub struct AccountPage<'a> {
    /// Language and name of the server.
    pub layout: Layout<'a>,
    /// The navigation.
    pub nav: AccountNav,
    /// The name of the signed-in account.
    pub account: &'a str,
    /// The form that signs out.
    pub sign_out: Form<'a>,
    /// The form that removes an app.
    pub remove: Form<'a>,
    /// The authorised apps.
    pub apps: &'a [AuthorizedApp],
}

impl AuthorizedApp {
    fn first_party(&self) -> Option<FirstPartyApp<'_>> {
        FirstPartyApp::from_client_id(&self.client_id)
    }

    fn title(&self, layout: &Layout<'_>) -> String {
        match self.first_party() {
            Some(FirstPartyApp::Matrix) => layout.text("apps-matrix").into_owned(),
            Some(FirstPartyApp::CommandLine(_)) | None => isolate(&self.name),
        }
    }

    /// The host of its website, or a note about a first-party app.
    fn origin(&self, layout: &Layout<'_>) -> Option<String> {
        match self.first_party() {
            Some(FirstPartyApp::Matrix) => Some(layout.text("apps-matrix-note").into_owned()),
            Some(FirstPartyApp::CommandLine(_)) => {
                Some(layout.text("apps-issued-note").into_owned())
            }
            None => web_host(self.website.as_deref()?).map(|host| isolate(&host)),
        }
    }

    fn since_date(&self, layout: &Layout<'_>) -> String {
        let date = self.since.strftime("%Y-%m-%d").to_string();
        layout.language.text_with("apps-since", "date", date.as_str())
    }
}
