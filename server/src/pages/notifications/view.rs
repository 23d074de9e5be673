//! The view of the notifications page: what the query selects.

use belfry_core::form::{Pairs, last_value};
use belfry_core::percent;
use belfry_core::rules::preferences::{KeywordTarget, PreferenceChange, Preferences, Switch};
use belfry_core::rules::{ProfileTag, RuleScope, pattern};

use crate::language::Language;
use crate::pages::{Notice, PageNumber};
use crate::paths::{ACCOUNT_NOTIFICATIONS, with_language, with_parameters};

/// The selection of preferences that the page shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NotificationsView {
    pub lang: Option<Language>,
    /// The device profile whose rules are shown; `None` for the rules of all devices.
    pub profile: Option<ProfileTag>,
    /// The part that was just changed, where the notice is shown.
    pub part: Option<NotificationsPart>,
    /// The page of list entries: keywords, muted words, people, rooms and other rules, numbered as
    /// one list.
    pub page: PageNumber,
}

/// A part of the page with its own forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotificationsPart {
    Pause,
    QuietHours,
    Switch(Switch),
    Keywords,
    MutedWords,
    Subjects,
    /// Rules that express no preference.
    OtherRules,
}

impl NotificationsPart {
    /// Returns the part whose form has the given fields.
    pub fn from_form(pairs: &Pairs) -> Option<Self> {
        match last_value(pairs, "change") {
            "pause" | "resume" => Some(Self::Pause),
            "quiet-hours" | "quiet-hours-off" => Some(Self::QuietHours),
            "switch" => {
                let (switch, _) = last_value(pairs, "switch").rsplit_once('-')?;
                Switch::from_name(switch).map(Self::Switch)
            }
            "keyword" | "remove-keyword" => Some(Self::Keywords),
            "mute-word" | "remove-muted-word" => Some(Self::MutedWords),
            "subject" | "remove-subject" => Some(Self::Subjects),
            "enable-rule" | "disable-rule" | "remove-rule" => Some(Self::OtherRules),
            _ => None,
        }
    }

    /// Returns the part with this name in a query. The pause is missing: a change of it shows no
    /// notice.
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "quiet-hours" => Some(Self::QuietHours),
            "keywords" => Some(Self::Keywords),
            "muted-words" => Some(Self::MutedWords),
            "subjects" => Some(Self::Subjects),
            "rules" => Some(Self::OtherRules),
            _ => Switch::from_name(name.strip_prefix("switch-")?).map(Self::Switch),
        }
    }

    /// Returns the name in a query, which is also the id in the page.
    fn name(self) -> String {
        match self {
            Self::Pause => "pause".to_owned(),
            Self::QuietHours => "quiet-hours".to_owned(),
            Self::Switch(switch) => format!("switch-{switch}"),
            Self::Keywords => "keywords".to_owned(),
            Self::MutedWords => "muted-words".to_owned(),
            Self::Subjects => "subjects".to_owned(),
            Self::OtherRules => "rules".to_owned(),
        }
    }
}

impl NotificationsView {
    /// Reads the query parameters. Invalid ones are ignored.
    pub fn from_query(query: &Pairs, lang: Option<Language>) -> Self {
        let profile = last_value(query, "profile").parse().ok();
        let part = NotificationsPart::from_name(last_value(query, "part"));
        Self { lang, profile, part, page: PageNumber::from_query(query) }
    }

    pub fn scope(&self) -> RuleScope {
        self.profile.clone().map_or(RuleScope::Global, RuleScope::Device)
    }

    pub fn path(&self) -> String {
        let profile = self.profile.as_ref().map(|tag| ("profile", percent::encode(tag.as_str())));
        let path = with_language(ACCOUNT_NOTIFICATIONS, self.lang);
        with_parameters(&path, profile.into_iter().chain(self.page.parameter()))
    }

    /// Returns the path of the page after a change. The page scrolls to the changed part, which
    /// shows the notice.
    pub fn path_after_change(&self, part: NotificationsPart, notice: Notice) -> String {
        // The sentence about the pause already shows the change.
        if part == NotificationsPart::Pause {
            return self.path();
        }
        let name = part.name();
        let path = with_parameters(&self.path(), [("part", &*name), ("notice", notice.code())]);
        format!("{path}#{name}")
    }

    /// Returns the view of the first page for this profile, in the same language.
    pub(super) fn with_profile(&self, profile: Option<ProfileTag>) -> Self {
        Self { lang: self.lang, profile, ..Self::default() }
    }

    /// Selects the page of the lists that contains the changed entry, if there is one.
    pub fn select_page_of_change(
        &mut self,
        change: &PreferenceChange,
        preferences: &Preferences<'_>,
    ) {
        let Preferences { keywords, muted_words, people, rooms, .. } = preferences;
        let index = match change {
            PreferenceChange::SetKeyword { target, .. } => {
                keywords.iter().chain(muted_words).position(|keyword| match target {
                    KeywordTarget::Word(word) => {
                        pattern::lower(keyword.pattern) == pattern::lower(word)
                    }
                    KeywordTarget::Rule { id, .. } => keyword.id == id,
                })
            }
            PreferenceChange::SetSubject { subject, .. } => {
                let index = people.iter().chain(rooms).position(|entry| entry.id == subject.id());
                index.map(|index| keywords.len() + muted_words.len() + index)
            }
            _ => None,
        };
        self.page = index.map_or(self.page, PageNumber::containing);
    }
}
