//! The part of the preferences that the page shows, in the query of its path.

use belfry_core::oauth::form::{Pairs, last_value};
use belfry_core::percent;
use belfry_core::rules::preferences::PreferenceChange;
use belfry_core::rules::{ProfileTag, RuleScope};
use strum::{EnumString, IntoStaticStr};

use crate::language::Language;
use crate::pages::Notice;
use crate::paths::{ACCOUNT_NOTIFICATIONS, with_language, with_parameters};

/// The preferences of a device profile, or of all devices.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NotificationsView {
    pub lang: Option<Language>,
    /// The profile whose rules are shown; otherwise those of all devices.
    pub profile: Option<ProfileTag>,
    /// The part that was changed, which shows the notice.
    pub part: Option<NotificationsPart>,
}

/// A part of the page. Its name in a query is also its id in the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum NotificationsPart {
    Pause,
    Keywords,
    /// People and rooms.
    Subjects,
    Switches,
}

impl NotificationsPart {
    /// The part with the form of this name of a change.
    pub fn of_change(name: &str) -> Option<Self> {
        match name {
            "pause" | "resume" => Some(Self::Pause),
            "keyword" | "remove-keyword" => Some(Self::Keywords),
            "subject" | "remove-subject" => Some(Self::Subjects),
            "switch" => Some(Self::Switches),
            _ => None,
        }
    }

    fn id(self) -> &'static str {
        self.into()
    }
}

impl NotificationsView {
    /// Reads the parameters of a query. Those that are invalid are ignored.
    pub fn from_query(query: &Pairs, lang: Option<Language>) -> Self {
        let profile = last_value(query, "profile").parse().ok();
        Self { lang, profile, part: last_value(query, "part").parse().ok() }
    }

    /// The scope of the rules that are shown.
    pub fn scope(&self) -> RuleScope {
        self.profile.clone().map_or(RuleScope::Global, RuleScope::Device)
    }

    /// The path of the page with this view.
    pub fn path(&self) -> String {
        let profile = self.profile.as_ref().map(|tag| ("profile", percent::encode(tag.as_str())));
        with_parameters(&with_language(ACCOUNT_NOTIFICATIONS, self.lang), profile)
    }

    /// The path of the page after a change: it shows a notice in the part that was changed, and
    /// scrolls there.
    pub fn path_after(&self, change: &PreferenceChange) -> String {
        let (part, fragment) = match change {
            // The sentence about the pause says it all.
            PreferenceChange::Pause { .. } | PreferenceChange::Resume => return self.path(),
            PreferenceChange::SetKeyword { .. } | PreferenceChange::RemoveKeyword(_) => {
                (NotificationsPart::Keywords, NotificationsPart::Keywords.id().to_owned())
            }
            PreferenceChange::SetSubject { .. } | PreferenceChange::RemoveSubject(_) => {
                (NotificationsPart::Subjects, NotificationsPart::Subjects.id().to_owned())
            }
            PreferenceChange::SetSwitch(switch, _) => {
                (NotificationsPart::Switches, format!("switch-{switch}"))
            }
        };
        let notice = if change.is_removal() { Notice::Removed } else { Notice::Saved };
        let path = with_parameters(&self.path(), [("part", part.id()), ("notice", notice.code())]);
        format!("{path}#{fragment}")
    }

    pub(super) fn with_profile(&self, profile: Option<ProfileTag>) -> Self {
        Self { lang: self.lang, profile, part: None }
    }
}
