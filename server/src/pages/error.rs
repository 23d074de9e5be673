//! The page for what cannot be done: what is wrong, and what the reader can do.

use std::borrow::Cow;

use askama::Template;
use belfry_core::oauth::error::{ErrorCode, OAuthError};

use super::Layout;
use crate::language::Localize;

/// `templates/error.html`: what is wrong, and what to do.
#[derive(Template)]
#[template(path = "error.html")]
pub struct ErrorPage<'a> {
    /// Language and server.
    pub layout: Layout<'a>,
    /// What is wrong.
    pub cause: ErrorCause,
}

/// What an error page can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCause {
    /// A request that the app got wrong, or that the reader refused where nothing can be sent back.
    Refused(OAuthError),
    /// A request that is not kept, or no longer.
    Expired,
    /// A form that may not be the reader's own: its token or its origin is not ours.
    Unchecked,
    /// A request that cannot be read.
    Malformed,
    /// A limit was exceeded.
    TooMany,
    /// A mistake of ours.
    Internal,
    /// An address where nothing is.
    NotFound,
}

impl ErrorPage<'_> {
    /// What the keys of its texts begin with.
    const fn stem(&self) -> &'static str {
        match self.cause {
            ErrorCause::Refused(OAuthError::AccessDenied) => "denied",
            ErrorCause::Refused(_) | ErrorCause::Malformed => "refused",
            ErrorCause::Expired => "expired",
            ErrorCause::Unchecked => "unchecked",
            ErrorCause::TooMany => "too-many",
            ErrorCause::Internal => "internal",
            ErrorCause::NotFound => "not-found",
        }
    }

    fn title(&self) -> Cow<'static, str> {
        self.layout.text(&format!("{}-title", self.stem()))
    }

    fn sentence(&self) -> Cow<'static, str> {
        match (self.mistake(), self.cause) {
            (Some(refusal), _) => refusal.localize(self.layout.language).into(),
            (None, ErrorCause::Malformed) => self.layout.text("malformed-sentence"),
            (None, _) => self.layout.text(&format!("{}-sentence", self.stem())),
        }
    }

    fn advice(&self) -> Cow<'static, str> {
        self.layout.text(&format!("{}-advice", self.stem()))
    }

    /// The protocol's code, by which the makers of the app find their mistake.
    fn code(&self) -> Option<&'static str> {
        let malformed = (self.cause == ErrorCause::Malformed).then_some(ErrorCode::InvalidRequest);
        self.mistake().map(OAuthError::code).or(malformed).map(ErrorCode::as_str)
    }

    /// What the app got wrong, if it did: that the reader said no is no mistake.
    fn mistake(&self) -> Option<OAuthError> {
        match self.cause {
            ErrorCause::Refused(OAuthError::AccessDenied) => None,
            ErrorCause::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }
}
