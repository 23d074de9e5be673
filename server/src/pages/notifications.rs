//! The notifications page: what notifies the user, in everyday terms.

mod quiet_hours;
mod rejected;
mod rows;
mod trial;
mod view;

use std::borrow::Cow;

use askama::Template;
use belfry_core::rules::ProfileTag;
use belfry_core::rules::preferences::{
    Pause, Preferences, QuietPeriod, SubjectPreference, Switch, SwitchState,
};
use jiff::Timestamp;

use self::rejected::{BLANK_FIELDS, EnteredFields};
pub use self::rejected::{RejectedForm, RejectionReason};
use self::rows::EntryRow;
pub use self::trial::Trial;
pub use self::view::{NotificationsPart, NotificationsView};
use super::pager::{Pager, select_entries};
use super::timed_text::{TimeFormat, TimedText};
use super::{AccountNav, Form, Layout, Notice, format_name};
use crate::language::Argument;

/// `templates/notifications.html`. Posts `change` and the fields of that change.
#[derive(Template)]
#[template(path = "notifications.html")]
pub struct NotificationsPage<'a> {
    pub layout: Layout<'a>,
    pub nav: AccountNav,
    /// The notice about the part that was changed.
    pub notice: Option<Notice>,
    pub form: Form<'a>,
    pub preferences: &'a Preferences<'a>,
    /// The current period of quiet hours; `None` if it is not quiet.
    pub quiet_period: Option<QuietPeriod>,
    pub view: &'a NotificationsView,
    pub profiles: &'a [&'a str],
    pub now: Timestamp,
    /// The form that was rejected, if the page is shown again.
    pub rejected_form: Option<RejectedForm>,
    pub trial: Trial,
}

/// The choices for a person or room, in the order of the form. Message keys contain them.
const SUBJECT_CHOICES: [&str; 6] =
    ["mute", "mute-hour", "mute-8-hours", "mute-day", "mute-week", "notify"];

/// The choices for the end of a pause; `open` has no end. Message keys contain them.
const PAUSE_CHOICES: [&str; 4] = ["hour", "8-hours", "morning", "open"];

/// The everyday switches, grouped under the message keys of their headings.
const SWITCH_GROUPS: [(&str, &[Switch]); 3] = [
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

/// Maximum number of profiles that are listed.
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
    fn shows_switches(&self) -> bool {
        self.view.profile.is_none()
    }

    fn pause_state(&self) -> TimedText {
        match self.preferences.pause {
            None => TimedText::plain(self.layout.text("notifications-on")),
            Some(pause) => describe_pause(&self.layout, pause, self.now),
        }
    }

    fn pause_choices(&self) -> Vec<ChoiceRow> {
        PAUSE_CHOICES.map(|value| self.choice_row("pause", value)).into()
    }

    fn subject_choices(&self) -> Vec<ChoiceRow> {
        SUBJECT_CHOICES.map(|value| self.choice_row("choice", value)).into()
    }

    fn choice_row(&self, field: &str, value: &'static str) -> ChoiceRow {
        ChoiceRow { value, text: self.layout.text(&format!("notifications-{field}-{value}")) }
    }

    /// Returns the number of words, people, rooms and other rules.
    fn entry_count(&self) -> usize {
        let Preferences { people, rooms, other_rules, .. } = self.preferences;
        self.word_count() + people.len() + rooms.len() + other_rules.len()
    }

    /// Returns the number of keywords and muted words.
    fn word_count(&self) -> usize {
        self.preferences.keywords.len() + self.preferences.muted_words.len()
    }

    fn pager(&self) -> Option<Pager> {
        let link = |page| {
            NotificationsView { page, ..self.view.with_profile(self.view.profile.clone()) }.path()
        };
        Pager::new(
            &self.view.page.entry_range(self.entry_count()),
            self.entry_count(),
            &self.layout,
            link,
        )
    }

    fn keyword_rows(&self) -> Vec<EntryRow> {
        let Preferences { keywords, .. } = self.preferences;
        self.rows(keywords, 0, |word| EntryRow::from_word(&self.layout, word, self.now))
    }

    fn muted_word_rows(&self) -> Vec<EntryRow> {
        let Preferences { keywords, muted_words, .. } = self.preferences;
        self.rows(muted_words, keywords.len(), |word| {
            EntryRow::from_word(&self.layout, word, self.now)
        })
    }

    fn people_rows(&self) -> Vec<EntryRow> {
        self.subject_rows(&self.preferences.people, self.word_count())
    }

    fn room_rows(&self) -> Vec<EntryRow> {
        let Preferences { people, rooms, .. } = self.preferences;
        self.subject_rows(rooms, self.word_count() + people.len())
    }

    fn subject_rows(
        &self,
        subjects: &[SubjectPreference<'_>],
        first_index: usize,
    ) -> Vec<EntryRow> {
        self.rows(subjects, first_index, |subject| {
            EntryRow::from_subject(&self.layout, subject, self.now)
        })
    }

    fn other_rule_rows(&self) -> Vec<EntryRow> {
        let Preferences { other_rules, .. } = self.preferences;
        let first_index = self.entry_count() - other_rules.len();
        self.rows(other_rules, first_index, |(kind, rule)| {
            EntryRow::from_rule(&self.layout, *kind, rule, self.now)
        })
    }

    /// Returns the rows of a list's entries that are on the current page.
    fn rows<T>(
        &self,
        entries: &[T],
        first_index: usize,
        row: impl Fn(&T) -> EntryRow,
    ) -> Vec<EntryRow> {
        let range = self.view.page.entry_range(self.entry_count());
        select_entries(entries, first_index, &range).iter().map(row).collect()
    }

    fn switch_groups(&self) -> Vec<SwitchGroup> {
        let group = |(title, switches): (&str, &[Switch])| SwitchGroup {
            title: self.layout.text(title),
            switches: self.switch_rows(switches),
        };
        SWITCH_GROUPS.into_iter().map(group).collect()
    }

    fn rare_switches(&self) -> Vec<SwitchRow> {
        self.switch_rows(&RARE_SWITCHES)
    }

    /// Returns whether one of the folded switches was changed.
    fn has_changed_rare_switch(&self) -> bool {
        RARE_SWITCHES
            .iter()
            .any(|switch| self.view.part == Some(NotificationsPart::Switch(*switch)))
    }

    fn switch_rows(&self, switches: &[Switch]) -> Vec<SwitchRow> {
        let row = |&switch: &Switch| {
            let mut states = self.preferences.switches.iter();
            let (_, state) = *states.find(|(candidate, _)| *candidate == switch)?;
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
        let current_profile = self.view.profile.as_ref().map(ProfileTag::as_str);
        if self.profiles.is_empty() && current_profile.is_none() {
            return Vec::new();
        }
        let all_devices = || self.layout.text("notifications-all-devices").into_owned();
        let link = |tag: Option<&str>| ProfileLink {
            href: self.view.with_profile(tag.and_then(|tag| tag.parse().ok())).path(),
            title: tag.map_or_else(all_devices, format_name),
            is_current: current_profile == tag,
        };
        let tags = listed_profiles(self.profiles, current_profile).into_iter().map(Some);
        std::iter::once(None).chain(tags).map(link).collect()
    }

    fn profile_sentence(&self) -> Option<String> {
        let tag = self.view.profile.as_ref()?;
        let name = format_name(tag.as_str());
        let profile = Argument::Trusted(&name);
        Some(self.layout.language.text_with("notifications-device", "profile", profile))
    }

    fn more_profiles_note(&self) -> Option<String> {
        let current_profile = self.view.profile.as_ref().map(ProfileTag::as_str);
        let listed = listed_profiles(self.profiles, current_profile);
        let unlisted_count = self.profiles.iter().filter(|tag| !listed.contains(tag)).count();
        let note = || {
            self.layout.language.text_with("notifications-more-profiles", "count", unlisted_count)
        };
        (unlisted_count > 0).then(note)
    }

    /// Returns the notice, if this part was changed.
    fn notice_in(&self, part: NotificationsPart) -> Option<Notice> {
        self.notice.filter(|_| self.view.part == Some(part))
    }

    /// Returns whether a part with `count` entries is unfolded. A part without entries is folded
    /// until it is used.
    fn is_unfolded(&self, part: NotificationsPart, count: usize) -> bool {
        let is_rejected = self.rejected_form.as_ref().is_some_and(|form| form.part == part);
        count > 0 || is_rejected || self.view.part == Some(part)
    }

    /// Returns the rejected form in this part, if it adds an entry (`is_new`) or changes one.
    fn rejected_form_in(&self, part: NotificationsPart, is_new: bool) -> Option<&RejectedForm> {
        let rejected_form = self.rejected_form.as_ref();
        rejected_form.filter(|form| form.part == part && form.is_new == is_new)
    }

    fn rejected_switch_form(&self) -> Option<&RejectedForm> {
        let rejected_form = self.rejected_form.as_ref();
        rejected_form.filter(|form| {
            matches!(form.part, NotificationsPart::Pause | NotificationsPart::Switch(_))
        })
    }

    /// Returns the error in this part's form for a new entry.
    fn field_error(&self, part: NotificationsPart) -> Option<&str> {
        self.rejected_form_in(part, true).map(|form| &*form.text)
    }

    /// Returns the fields of this part's form for a new entry.
    fn entered_fields(&self, part: NotificationsPart) -> &EnteredFields {
        self.rejected_form_in(part, true).map_or(&BLANK_FIELDS, |form| &form.fields)
    }
}

/// Returns the first profiles, preceded by the chosen one if it is not among them.
fn listed_profiles<'a>(profiles: &[&'a str], chosen_profile: Option<&'a str>) -> Vec<&'a str> {
    let first_profiles = &profiles[..profiles.len().min(MAX_PROFILES)];
    let unlisted_profile = chosen_profile.filter(|tag| !first_profiles.contains(tag));
    unlisted_profile.into_iter().chain(first_profiles.iter().copied()).collect()
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
