//! Forms of a page that was opened in an earlier session. What the user entered is shown again.

use axum::http::StatusCode;
use belfry_core::oauth::form::Pairs;

use crate::http::error::PageError;
use crate::http::extract::session::BrowserSession;
use crate::http::respond::sign_in_path;
use crate::pages::{AccountSection, StaleForm};

/// Why a form is not accepted, although it may come from a page of this server.
#[derive(Clone, Copy)]
pub(super) enum StaleSession {
    /// The session has ended.
    SignedOut,
    /// The user has signed in since the form was shown, so that its CSRF token is of an old cookie.
    SignedIn,
}

impl StaleSession {
    /// Checks the session and the CSRF token. A form of another site is rejected.
    pub(super) fn detect(
        session: &BrowserSession,
        pairs: &Pairs,
    ) -> Result<Option<Self>, PageError> {
        match session.check_form(pairs) {
            Err(forged) if !session.is_same_origin => Err(forged),
            _ if session.account().is_none() => Ok(Some(Self::SignedOut)),
            Ok(()) => Ok(None),
            Err(_) => Ok(Some(Self::SignedIn)),
        }
    }

    /// The status of the page that shows the form again.
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::SignedOut => StatusCode::UNAUTHORIZED,
            Self::SignedIn => StatusCode::FORBIDDEN,
        }
    }

    /// What the page says about it. The sign-in page, which leads to this section, opens in a new
    /// tab, so that the form is not lost.
    pub(super) fn describe(self, session: &BrowserSession, section: AccountSection) -> StaleForm {
        let text = |key: &str| session.layout(session.lang).language.text(key).into_owned();
        match self {
            Self::SignedOut => StaleForm {
                text: text("stale-signed-out"),
                sign_in: Some(sign_in_path(session.lang, Some(section), None)),
            },
            Self::SignedIn => StaleForm { text: text("stale-signed-in"), sign_in: None },
        }
    }
}
