//! The notifications page: what notifies the user, in everyday terms.

mod rejected;
mod rows;
mod view;

use std::borrow::Cow;

use askama::Template;
use belfry_core::rules::ProfileTag;
use belfry_core::rules::preferences::{Pause, Preferences, SubjectPreference, Switch, SwitchState};
use jiff::Timestamp;

pub(super) use self::rejected::describe_preference_error;
use self::rejected::{BLANK_FIELDS, EnteredFields};
pub use self::rejected::{RejectedForm, RejectionReason};
use self::rows::{
    KeywordRow, MutedWordRow, SubjectRow, keyword_row, muted_word_row, show_name, subject_row,
};
pub use self::view::{NotificationsPart, NotificationsView};
use super::pager::{PageNumber, Pager, select_entries};
use super::timed_text::{TimeFormat, TimedText};
use super::{AccountNav, Form, Layout, Notice};
use crate::language::Argument;
use crate::paths::{ACCOUNT_RULES, with_language};

/// `templates/notifications.html`. Posts `change` and the fields of that change.
#[derive(Template)]
#[template(path = "notifications.html")]
pub struct NotificationsPage<'a> {
    pub layout: Layout<'a>,
    pub nav: AccountNav,
    /// The notice about the part that was changed.
    pub notice: Option<Notice>,
    pub form: Form<'a>,
    /// The preferences of the shown scope.
    pub preferences: &'a Preferences<'a>,
    /// The selected profile and page.
    pub view: &'a NotificationsView,
    /// The device profiles that have rules.
    pub profiles: &'a [&'a str],
    pub now: Timestamp,
    /// The form that was rejected, if the page is shown again.
    pub rejected: Option<RejectedForm>,
}

/// The choices for a person or room, in the order of the form. Message keys contain them.
const CHOICES: [&str; 6] = ["mute", "mute-hour", "mute-8-hours", "mute-day", "mute-week", "notify"];

/// The lengths of a pause. Message keys contain them.
const PAUSES: [&str; 4] = ["hour", "8-hours", "morning", "open"];

/// The everyday switches, grouped under the message keys of their headings.
const SWITCHES: [(&str, &[Switch]); 3] = [
    ("notifications-messages", &[Switch::OneToOne, Switch::Group]),
    (
        "notifications-mentions",
        &[Switch::Mention, Switch::DisplayName, Switch::UserName, Switch::RoomMention],
    ),
    ("notifications-calls", &[Switch::Call, Switch::Invitation]),
];

/// The rarely used switches, which are folded.
const RARE_SWITCHES: [Switch; 6] = [
    Switch::Bots,
    Switch::Edits,
    Switch::Reactions,
    Switch::Members,
    Switch::Upgrade,
    Switch::Servers,
];

/// The maximum number of profiles that are listed.
const MAX_PROFILES: usize = 30;

/// A choice in a form: a button or an option.
struct ChoiceRow {
    value: &'static str,
    text: Cow<'static, str>,
}

struct SwitchGroup {
    title: Cow<'static, str>,
    switches: Vec<SwitchRow>,
}

struct SwitchRow {
    /// The id in the page.
    id: String,
    name: &'static str,
    sentence: Cow<'static, str>,
    is_on: bool,
    is_partly_on: bool,
    state: Cow<'static, str>,
    notice: Option<Notice>,
}

impl SwitchRow {
    /// Returns the value of the button, which sets the switch to the other state.
    fn button_value(&self) -> String {
        format!("{}-{}", self.name, if self.is_on { "off" } else { "on" })
    }
}

struct ProfileLink {
    href: String,
    title: String,
    is_current: bool,
}

impl NotificationsPage<'_> {
    /// Returns whether the page shows the pause and the switches, which apply to all devices.
    fn shows_builtin(&self) -> bool {
        self.view.profile.is_none()
    }

    fn pause_state(&self) -> TimedText {
        match self.preferences.pause {
            None => TimedText::plain(self.layout.text("notifications-on")),
            Some(pause) => describe_pause(&self.layout, pause, self.now),
        }
    }

    fn pauses(&self) -> Vec<ChoiceRow> {
        PAUSES.map(|value| self.choice("pause", value)).into()
    }

    fn choices(&self) -> Vec<ChoiceRow> {
        CHOICES.map(|value| self.choice("choice", value)).into()
    }

    fn choice(&self, field: &str, value: &'static str) -> ChoiceRow {
        ChoiceRow { value, text: self.layout.text(&format!("notifications-{field}-{value}")) }
    }

    /// Returns the number of words, people and rooms.
    fn entry_count(&self) -> usize {
        self.word_count() + self.preferences.people.len() + self.preferences.rooms.len()
    }

    /// Returns the number of keywords and muted words.
    fn word_count(&self) -> usize {
        self.preferences.keywords.len() + self.preferences.muted_words.len()
    }

    fn pager(&self) -> Option<Pager> {
        let link = |page| {
            NotificationsView { page, ..self.view.with_profile(self.view.profile.clone()) }.path()
        };
        PageNumber::pager(
            &self.view.page.entries(self.entry_count()),
            self.entry_count(),
            &self.layout,
            link,
        )
    }

    fn keywords(&self) -> Vec<KeywordRow> {
        let row = |keyword| keyword_row(&self.layout, keyword, self.now);
        let entries = self.view.page.entries(self.entry_count());
        select_entries(&self.preferences.keywords, 0, &entries).iter().map(row).collect()
    }

    fn muted_words(&self) -> Vec<MutedWordRow> {
        let row = |word| muted_word_row(&self.layout, word, self.now);
        let entries = self.view.page.entries(self.entry_count());
        let Preferences { keywords, muted_words, .. } = self.preferences;
        select_entries(muted_words, keywords.len(), &entries).iter().map(row).collect()
    }

    fn people(&self) -> Vec<SubjectRow> {
        self.subjects(&self.preferences.people, self.word_count())
    }

    fn rooms(&self) -> Vec<SubjectRow> {
        let Preferences { people, rooms, .. } = self.preferences;
        self.subjects(rooms, self.word_count() + people.len())
    }

    fn subjects(&self, subjects: &[SubjectPreference<'_>], first: usize) -> Vec<SubjectRow> {
        let row = |subject| subject_row(&self.layout, subject, self.now);
        let entries = self.view.page.entries(self.entry_count());
        select_entries(subjects, first, &entries).iter().map(row).collect()
    }

    fn switch_groups(&self) -> Vec<SwitchGroup> {
        let group = |(title, switches): (&str, &[Switch])| SwitchGroup {
            title: self.layout.text(title),
            switches: self.switches(switches),
        };
        SWITCHES.into_iter().map(group).collect()
    }

    fn rare_switches(&self) -> Vec<SwitchRow> {
        self.switches(&RARE_SWITCHES)
    }

    /// Returns whether one of the folded switches was changed.
    fn has_changed_rare_switch(&self) -> bool {
        RARE_SWITCHES
            .iter()
            .any(|switch| self.view.part == Some(NotificationsPart::Switch(*switch)))
    }

    fn switches(&self, switches: &[Switch]) -> Vec<SwitchRow> {
        let row = |&switch: &Switch| {
            let mut states = self.preferences.switches.iter();
            let (_, state) = *states.find(|(other, _)| *other == switch)?;
            Some(SwitchRow {
                id: format!("switch-{switch}"),
                name: switch.as_str(),
                sentence: self.layout.text(&format!("notifications-switch-{switch}")),
                is_on: state == SwitchState::On,
                is_partly_on: state == SwitchState::Partly,
                state: self.layout.text(match state {
                    SwitchState::On => "notifications-switch-on",
                    SwitchState::Partly => "notifications-switch-partly",
                    SwitchState::Off => "notifications-switch-off",
                }),
                notice: self.notice_in(NotificationsPart::Switch(switch)),
            })
        };
        switches.iter().filter_map(row).collect()
    }

    /// Returns the links to the preferences of all devices and of each listed profile; none if no
    /// profile has rules or is selected.
    fn profile_links(&self) -> Vec<ProfileLink> {
        let current = self.view.profile.as_ref().map(ProfileTag::as_str);
        if self.profiles.is_empty() && current.is_none() {
            return Vec::new();
        }
        let everywhere = || self.layout.text("notifications-all-devices").into_owned();
        let link = |tag: Option<&str>| ProfileLink {
            href: self.view.with_profile(tag.and_then(|tag| tag.parse().ok())).path(),
            title: tag.map_or_else(everywhere, show_name),
            is_current: current == tag,
        };
        let tags = listed_profiles(self.profiles, current).into_iter().map(Some);
        std::iter::once(None).chain(tags).map(link).collect()
    }

    fn profile_sentence(&self) -> Option<String> {
        let tag = self.view.profile.as_ref()?;
        let name = show_name(tag.as_str());
        let profile = Argument::Trusted(&name);
        Some(self.layout.language.text_with("notifications-device", "profile", profile))
    }

    fn more_profiles(&self) -> Option<String> {
        more_profiles(self.profiles, &self.layout)
    }

    fn other_rules(&self) -> Option<String> {
        let count = self.preferences.other_rules;
        count_sentence(&self.layout, "notifications-other-rules", count)
    }

    fn rules_path(&self) -> String {
        with_language(ACCOUNT_RULES, self.view.lang)
    }

    /// Returns the notice, if this part was changed.
    fn notice_in(&self, part: NotificationsPart) -> Option<Notice> {
        self.notice.filter(|_| self.view.part == Some(part))
    }

    /// Returns whether a part with this number of entries is unfolded. A part without entries is
    /// folded until it is used.
    fn is_unfolded(&self, part: NotificationsPart, count: usize) -> bool {
        let is_rejected = self.rejected.as_ref().is_some_and(|rejected| rejected.part == part);
        count > 0 || is_rejected || self.view.part == Some(part)
    }

    /// Returns the rejected form in this part, if it adds an entry (`is_new`) or changes one.
    fn rejected_in(&self, part: NotificationsPart, is_new: bool) -> Option<&RejectedForm> {
        let rejected = self.rejected.as_ref();
        rejected.filter(|rejected| rejected.part == part && rejected.is_new == is_new)
    }

    /// Returns the rejected form of the pause or of a switch.
    fn rejected_switch(&self) -> Option<&RejectedForm> {
        let rejected = self.rejected.as_ref();
        rejected.filter(|rejected| {
            matches!(rejected.part, NotificationsPart::Pause | NotificationsPart::Switch(_))
        })
    }

    /// Returns the error in this part's form for a new entry.
    fn field_error(&self, part: NotificationsPart) -> Option<&str> {
        self.rejected_in(part, true).map(|rejected| &*rejected.text)
    }

    /// Returns the fields of this part's form for a new entry.
    fn entered_fields(&self, part: NotificationsPart) -> &EnteredFields {
        self.rejected_in(part, true).map_or(&BLANK_FIELDS, |rejected| &rejected.fields)
    }
}

/// Returns the first profiles, preceded by the chosen one if it is not among them.
pub(super) fn listed_profiles<'a>(all: &[&'a str], chosen: Option<&'a str>) -> Vec<&'a str> {
    let first = &all[..all.len().min(MAX_PROFILES)];
    let missing = chosen.filter(|tag| !first.contains(tag));
    missing.into_iter().chain(first.iter().copied()).collect()
}

/// Returns the sentence about a pause, with the time at which it expires, if any.
pub(super) fn describe_pause(layout: &Layout<'_>, pause: Pause, now: Timestamp) -> TimedText {
    match pause.until {
        None => TimedText::plain(layout.text("notifications-paused")),
        Some(until) => {
            TimedText::new(layout, "notifications-paused-until", until, TimeFormat::Short(now))
        }
    }
}

/// Returns the sentence about profiles that are not listed, if there are any.
pub(super) fn more_profiles(all: &[&str], layout: &Layout<'_>) -> Option<String> {
    let more = all.len().saturating_sub(MAX_PROFILES);
    count_sentence(layout, "notifications-more-profiles", more)
}

/// Returns the message with this count; `None` if the count is 0.
fn count_sentence(layout: &Layout<'_>, key: &str, count: usize) -> Option<String> {
    let text = count.to_string();
    let sentence = || layout.language.text_with(key, "count", Argument::Trusted(&text));
    (count > 0).then(sentence)
}
