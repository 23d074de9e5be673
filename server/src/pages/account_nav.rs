//! The navigation of the account pages, and the notice after a change.

use std::borrow::Cow;

use jiff::Timestamp;
use strum::{EnumString, IntoStaticStr, VariantArray};

use super::timed_text::{TimeFormat, TimedText};
use super::{Form, Layout};
use crate::language::Language;
use crate::paths;

/// A page of the account, in the order of the navigation. Its name in a query is one of a fixed
/// list, so that a link to the sign-in page cannot choose a different target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum AccountSection {
    /// The name of the account and the apps with access.
    Overview,
    /// The switches, words, people and rooms that decide about notifications.
    Notifications,
    /// All rules in evaluation order.
    Rules,
    /// The result of the rules for a message.
    Try,
    /// Password, sessions and data.
    Security,
}

impl AccountSection {
    /// Returns its name in a query.
    pub fn code(self) -> &'static str {
        self.into()
    }

    /// Returns the path of the page.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Overview => paths::ACCOUNT,
            Self::Notifications => paths::ACCOUNT_NOTIFICATIONS,
            Self::Rules => paths::ACCOUNT_RULES,
            Self::Try => paths::ACCOUNT_TRY,
            Self::Security => paths::ACCOUNT_SECURITY,
        }
    }

    /// Returns the page with the form that is posted to this path.
    pub fn of_form(path: &str) -> Option<Self> {
        // The path of the first page is the beginning of all others.
        Self::VARIANTS.iter().copied().rfind(|section| path.starts_with(section.path()))
    }

    /// Returns its name in the navigation.
    fn title(self, layout: &Layout<'_>) -> Cow<'static, str> {
        layout.text(&format!("nav-{}", self.code()))
    }
}

/// A sentence about the request before this one. Its code in the query is one of a fixed list, so
/// that a link cannot put its own text on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Notice {
    /// A change was stored.
    Saved,
    /// A word was muted that was a keyword.
    KeywordMuted,
    /// A word became a keyword that was muted.
    WordUnmuted,
    /// A form was sent after the session had ended, and changed nothing.
    NotSaved,
    /// The session of this browser has ended.
    SignedOut,
    /// A setting was removed.
    Removed,
    /// An app has no access any more.
    AppRemoved,
    /// A token of an app is revoked.
    TokenRevoked,
    /// The e-mail address is replaced or removed.
    EmailChanged,
    /// The password is replaced, other sessions have ended, and all tokens are revoked.
    PasswordChanged,
    /// A session in another browser has ended.
    SessionEnded,
    /// All other sessions have ended.
    SessionsEnded,
    /// The deletion of the account is cancelled.
    DeletionCancelled,
}

impl Notice {
    /// Returns its name in a query, and in the key `notice-…` of its text.
    pub fn code(self) -> &'static str {
        self.into()
    }

    /// Returns whether it reports that something was not done.
    pub(super) fn is_warning(self) -> bool {
        matches!(self, Self::NotSaved)
    }

    pub(super) fn text(self, layout: &Layout<'_>) -> Cow<'static, str> {
        layout.text(&format!("notice-{}", self.code()))
    }
}

/// The parts of `templates/account_layout.html`, which every account page extends.
#[derive(Debug, Clone)]
pub struct AccountNav {
    pub section: AccountSection,
    /// The language in the query of the request, which the links keep.
    pub lang: Option<Language>,
    pub notice: Option<Notice>,
    /// The name of the app that was just removed, which the notice names.
    pub removed_app: Option<String>,
    /// The requested deletion of the account, above the content.
    pub deletion: Option<PendingDeletion>,
}

/// A requested deletion, and the form that cancels it.
#[derive(Debug, Clone)]
pub struct PendingDeletion {
    /// When the account is deleted.
    pub at: Timestamp,
    /// The CSRF token of the form.
    pub csrf: String,
}

impl PendingDeletion {
    pub(super) fn text(&self, layout: &Layout<'_>) -> TimedText {
        TimedText::new(layout, "deletion-pending", self.at, TimeFormat::Full)
    }

    /// Returns the form that cancels it.
    pub(super) fn form<'a>(&'a self, action: &'a str) -> Form<'a> {
        Form { action, csrf: &self.csrf, request: None }
    }
}

/// A link of the navigation.
pub(super) struct NavLink {
    pub(super) href: String,
    pub(super) title: Cow<'static, str>,
    pub(super) is_current: bool,
}

impl AccountNav {
    /// Returns the path that cancels the deletion of the account.
    pub(super) fn cancel_deletion_path(&self) -> String {
        paths::with_language(paths::CANCEL_DELETION, self.lang)
    }

    pub(super) fn links(&self, layout: &Layout<'_>) -> Vec<NavLink> {
        let link = |section: &AccountSection| NavLink {
            href: paths::with_language(section.path(), self.lang),
            title: section.title(layout),
            is_current: *section == self.section,
        };
        AccountSection::VARIANTS.iter().map(link).collect()
    }
}
