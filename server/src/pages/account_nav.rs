//! The navigation of the account pages, and the notice after a change.

use std::borrow::Cow;

use jiff::Timestamp;
use strum::{EnumString, IntoStaticStr, VariantArray};

use super::timed_text::{TimeFormat, TimedText};
use super::{Form, Layout};
use crate::language::Language;
use crate::paths;

/// An account page, in the order of the navigation. A query contains only its name, so a link to
/// the sign-in page cannot cause a redirect to any other target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum AccountSection {
    /// The name of the account and the apps with access.
    Overview,
    /// The switches, words, people and rooms that determine notifications.
    Notifications,
    /// The devices that get notifications, and the latest deliveries.
    Devices,
    /// Password, e-mail address, sessions, data and deletion of the account.
    Security,
}

impl AccountSection {
    /// Returns the name in a query.
    pub fn code(self) -> &'static str {
        self.into()
    }

    pub const fn path(self) -> &'static str {
        match self {
            Self::Overview => paths::ACCOUNT,
            Self::Notifications => paths::ACCOUNT_NOTIFICATIONS,
            Self::Devices => paths::ACCOUNT_DEVICES,
            Self::Security => paths::ACCOUNT_SECURITY,
        }
    }

    /// Returns the page whose form is posted to this path.
    pub fn from_form_path(path: &str) -> Option<Self> {
        // The path of the first page is a prefix of all others.
        Self::VARIANTS.iter().copied().rfind(|section| path.starts_with(section.path()))
    }

    /// Returns the name in the navigation.
    fn title(self, layout: &Layout<'_>) -> Cow<'static, str> {
        layout.text(&format!("nav-{}", self.code()))
    }
}

/// A sentence about the previous request. A query contains only its code, so a link cannot put
/// arbitrary text on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Notice {
    Saved,
    KeywordMuted,
    /// A muted word was made a keyword.
    WordUnmuted,
    /// A form was sent after the session had ended, and changed nothing.
    NotSaved,
    /// The session in this browser ended.
    SignedOut,
    Removed,
    /// An app's access was revoked.
    AppRemoved,
    TokenRevoked,
    /// The e-mail address was replaced or removed.
    EmailChanged,
    /// The password was changed, other sessions were ended, and all tokens were revoked.
    PasswordChanged,
    SessionEnded,
    SessionsEnded,
    DeletionCancelled,
    TestSent,
    /// No test was sent to a device.
    TestNotSent,
}

impl Notice {
    /// Returns the code in a query, which is also part of the message key `notice-…`.
    pub fn code(self) -> &'static str {
        self.into()
    }

    /// Returns whether the notice reports that something was not done.
    pub(super) fn is_warning(self) -> bool {
        matches!(self, Self::NotSaved | Self::TestNotSent)
    }

    pub(super) fn text(self, layout: &Layout<'_>) -> Cow<'static, str> {
        layout.text(&format!("notice-{}", self.code()))
    }
}

/// The parameters of `templates/account_layout.html`, which every account page extends.
#[derive(Debug, Clone)]
pub struct AccountNav {
    pub section: AccountSection,
    /// The language in the request's query, which the links preserve.
    pub lang: Option<Language>,
    pub notice: Option<Notice>,
    /// The requested deletion of the account, which is shown above the content.
    pub deletion: Option<PendingDeletion>,
    /// True if the navigation links to the devices, because this server delivers notifications.
    pub links_devices: bool,
}

/// A requested deletion, and the form that cancels it.
#[derive(Debug, Clone)]
pub struct PendingDeletion {
    pub delete_at: Timestamp,
    pub csrf: String,
}

impl PendingDeletion {
    pub(super) fn text(&self, layout: &Layout<'_>) -> TimedText {
        TimedText::new(layout, "deletion-pending", self.delete_at, TimeFormat::Full)
    }

    pub(super) fn form<'a>(&'a self, action: &'a str) -> Form<'a> {
        Form { action, csrf: &self.csrf, request: None }
    }
}

pub(super) struct NavLink {
    pub(super) href: String,
    pub(super) title: Cow<'static, str>,
    pub(super) is_current: bool,
}

impl AccountNav {
    pub(super) fn cancel_deletion_path(&self) -> String {
        paths::with_language(paths::CANCEL_DELETION, self.lang)
    }

    pub(super) fn links(&self, layout: &Layout<'_>) -> Vec<NavLink> {
        let link = |section: &AccountSection| NavLink {
            href: paths::with_language(section.path(), self.lang),
            title: section.title(layout),
            is_current: *section == self.section,
        };
        let is_shown =
            |section: &&AccountSection| **section != AccountSection::Devices || self.links_devices;
        AccountSection::VARIANTS.iter().filter(is_shown).map(link).collect()
    }
}
