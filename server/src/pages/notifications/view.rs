//! The part of the preferences that the page shows, in the query of its path.

use belfry_core::oauth::form::{Pairs, last_value};
use belfry_core::percent;
use belfry_core::rules::preferences::{KeywordTarget, PreferenceChange, Preferences};
use belfry_core::rules::{ProfileTag, RuleScope, pattern};
use strum::{EnumString, IntoStaticStr};

use crate::language::Language;
use crate::pages::{Notice, PageNumber};
use crate::paths::{ACCOUNT_NOTIFICATIONS, with_language, with_parameters};

/// The preferences of a device profile, or of all devices.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NotificationsView {
    pub lang: Option<Language>,
    /// The profile whose rules are shown; otherwise those of all devices.
    pub profile: Option<ProfileTag>,
    /// The part that was changed, which shows the notice.
    pub part: Option<NotificationsPart>,
    /// The page of keywords, people and rooms.
    pub page: PageNumber,
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
        let part = last_value(query, "part").parse().ok();
        Self { lang, profile, part, page: PageNumber::from_query(query) }
    }

    /// The scope of the rules that are shown.
    pub fn scope(&self) -> RuleScope {
        self.profile.clone().map_or(RuleScope::Global, RuleScope::Device)
    }

    /// The path of the page with this view.
    pub fn path(&self) -> String {
        let profile = self.profile.as_ref().map(|tag| ("profile", percent::encode(tag.as_str())));
        let path = with_language(ACCOUNT_NOTIFICATIONS, self.lang);
        with_parameters(&path, profile.into_iter().chain(self.page.parameter()))
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
        Self { lang: self.lang, profile, ..Self::default() }
    }

    /// Shows the page with the changed entry.
    pub fn show_changed(&mut self, change: &PreferenceChange, preferences: &Preferences<'_>) {
        let Preferences { keywords, people, rooms, .. } = preferences;
        let index = match change {
            PreferenceChange::SetKeyword { target, .. } => {
                keywords.iter().position(|keyword| match target {
                    KeywordTarget::Word(word) => {
                        pattern::lower(keyword.pattern) == pattern::lower(word)
                    }
                    KeywordTarget::Rule { id, .. } => keyword.id == id,
                })
            }
            PreferenceChange::SetSubject { subject, .. } => {
                let index = people.iter().chain(rooms).position(|it| it.id == subject.id());
                index.map(|index| keywords.len() + index)
            }
            _ => None,
        };
        self.page = index.map_or(self.page, PageNumber::of_entry);
    }
}
