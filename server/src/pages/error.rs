//! The page for what cannot be done: what is wrong, and what the reader can do.

use std::borrow::Cow;

use askama::Template;
use belfry_core::oauth::error::{Code, Refusal};

use super::Frame;
use crate::language::Spoken;

/// `templates/error.html`: what is wrong, and what to do.
#[derive(Template)]
#[template(path = "error.html")]
pub struct ErrorPage<'a> {
    /// Language and server.
    pub frame: Frame<'a>,
    /// What is wrong.
    pub trouble: Trouble,
}

/// What an error page can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// A request that the app got wrong, or that the reader refused where nothing can be sent back.
    Refused(Refusal),
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
        match self.trouble {
            Trouble::Refused(Refusal::AccessDenied) => "denied",
            Trouble::Refused(_) | Trouble::Malformed => "refused",
            Trouble::Expired => "expired",
            Trouble::Unchecked => "unchecked",
            Trouble::TooMany => "too-many",
            Trouble::Internal => "internal",
            Trouble::NotFound => "not-found",
        }
    }

    fn title(&self) -> Cow<'static, str> {
        self.frame.text(&format!("{}-title", self.stem()))
    }

    fn sentence(&self) -> Cow<'static, str> {
        match (self.mistake(), self.trouble) {
            (Some(refusal), _) => refusal.spoken(self.frame.language).into(),
            (None, Trouble::Malformed) => self.frame.text("malformed-sentence"),
            (None, _) => self.frame.text(&format!("{}-sentence", self.stem())),
        }
    }

    fn advice(&self) -> Cow<'static, str> {
        self.frame.text(&format!("{}-advice", self.stem()))
    }

    /// The protocol's code, by which the makers of the app find their mistake.
    fn code(&self) -> Option<&'static str> {
        let malformed = (self.trouble == Trouble::Malformed).then_some(Code::InvalidRequest);
        self.mistake().map(Refusal::code).or(malformed).map(Code::as_str)
    }

    /// What the app got wrong, if it did: that the reader said no is no mistake.
    fn mistake(&self) -> Option<Refusal> {
        match self.trouble {
            Trouble::Refused(Refusal::AccessDenied) => None,
            Trouble::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }
}
