//! The notifications page: what notifies the user, in everyday terms.

mod rejected;
mod rows;
mod view;

use std::borrow::Cow;

use askama::Template;
use belfry_core::rules::ProfileTag;
use belfry_core::rules::preferences::{Preferences, Switch, SwitchState};
use jiff::Timestamp;

pub(super) use self::rejected::field_error;
pub use self::rejected::{RejectedForm, RejectionReason};
use self::rows::{KeywordRow, SubjectRow, keyword_row, show_name, subject_row};
use self::view::ListPage;
pub use self::view::{NotificationsPart, NotificationsView, PreferenceList};
use super::timed_text::{TimeFormat, TimedText};
use super::{AccountNav, Form, Layout, Notice};
use crate::language::Argument;
use crate::paths::{ACCOUNT_RULES, with_language};

/// `templates/notifications.html`. Posts `change` and the fields of that change.
#[derive(Template)]
#[template(path = "notifications.html")]
pub struct NotificationsPage<'a> {
    /// Language and name of the server.
    pub layout: Layout<'a>,
    /// The navigation.
    pub nav: AccountNav,
    /// The notice of the part that was changed.
    pub notice: Option<Notice>,
    /// The form of every change.
    pub form: Form<'a>,
    /// The preferences of the shown scope.
    pub preferences: &'a Preferences<'a>,
    /// The profile and the parts of lists that are shown.
    pub view: &'a NotificationsView,
    /// The device profiles that have rules.
    pub profiles: &'a [&'a str],
    /// The current time.
    pub now: Timestamp,
    /// Whether the user is signed in. Otherwise the page shows only the form that was rejected.
    pub is_signed_in: bool,
    /// The form that was rejected, if the page is shown again.
    pub rejected: Option<RejectedForm>,
}

/// The choices for a person or room, in the order of the form. Their names are keys of messages.
const CHOICES: [&str; 6] = ["mute", "mute-hour", "mute-8-hours", "mute-day", "mute-week", "notify"];

/// The lengths of a pause.
const PAUSES: [&str; 4] = ["hour", "8-hours", "morning", "open"];

/// The switches, by the keys of their headings.
const SWITCHES: [(&str, &[Switch]); 3] = [
    (
        "notifications-messages",
        &[Switch::OneToOne, Switch::Group, Switch::Bots, Switch::Edits, Switch::Reactions],
    ),
    (
        "notifications-mentions",
        &[Switch::Mention, Switch::DisplayName, Switch::UserName, Switch::RoomMention],
    ),
    (
        "notifications-events",
        &[Switch::Call, Switch::Invitation, Switch::Upgrade, Switch::Members, Switch::Servers],
    ),
];

/// The number of device profiles that the page links to.
const MAX_PROFILES: usize = 30;

/// A choice of a form: a button or an option.
struct ChoiceRow {
    value: &'static str,
    text: Cow<'static, str>,
}

struct SwitchGroup {
    title: Cow<'static, str>,
    switches: Vec<SwitchRow>,
}

struct SwitchRow {
    name: &'static str,
    sentence: Cow<'static, str>,
    is_on: bool,
    is_partly_on: bool,
    state: Cow<'static, str>,
}

struct ProfileLink {
    href: String,
    title: String,
    is_current: bool,
}

impl NotificationsPage<'_> {
    /// Whether the page shows what is the same on all devices: the built-in rules.
    fn shows_builtin(&self) -> bool {
        self.is_signed_in && self.view.profile.is_none()
    }

    fn pause_state(&self) -> TimedText {
        let layout = &self.layout;
        match self.preferences.pause {
            None => TimedText::plain(layout.text("notifications-on")),
            Some(pause) => match pause.until {
                None => TimedText::plain(layout.text("notifications-paused")),
                Some(until) => TimedText::new(
                    layout,
                    "notifications-paused-until",
                    until,
                    TimeFormat::Short(self.now),
                ),
            },
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

    fn keywords(&self) -> ListPage<KeywordRow> {
        let row = |keyword: &_| keyword_row(&self.layout, keyword, self.now);
        self.view.page_of(PreferenceList::Keywords, &self.preferences.keywords, row)
    }

    fn people(&self) -> ListPage<SubjectRow> {
        let row = |person: &_| subject_row(&self.layout, person, self.now);
        self.view.page_of(PreferenceList::People, &self.preferences.people, row)
    }

    fn rooms(&self) -> ListPage<SubjectRow> {
        let row = |room: &_| subject_row(&self.layout, room, self.now);
        self.view.page_of(PreferenceList::Rooms, &self.preferences.rooms, row)
    }

    fn switch_groups(&self) -> Vec<SwitchGroup> {
        let row = |switch: &Switch| {
            let (_, state) = *self.preferences.switches.iter().find(|(it, _)| it == switch)?;
            Some(SwitchRow {
                name: switch.as_str(),
                sentence: self.layout.text(&format!("notifications-switch-{switch}")),
                is_on: state == SwitchState::On,
                is_partly_on: state == SwitchState::Partly,
                state: self.layout.text(match state {
                    SwitchState::On => "notifications-switch-on",
                    SwitchState::Partly => "notifications-switch-partly",
                    SwitchState::Off => "notifications-switch-off",
                }),
            })
        };
        let group = |(title, switches): (&str, &[Switch])| SwitchGroup {
            title: self.layout.text(title),
            switches: switches.iter().filter_map(row).collect(),
        };
        SWITCHES.into_iter().map(group).collect()
    }

    /// Links to the profiles; none if there are no profiles.
    fn profile_links(&self) -> Vec<ProfileLink> {
        let current = self.view.profile.as_ref().map(ProfileTag::as_str);
        if self.profiles.is_empty() && current.is_none() {
            return Vec::new();
        }
        let everywhere = ProfileLink {
            href: self.view.with_profile(None).path(),
            title: self.layout.text("notifications-all-devices").into_owned(),
            is_current: current.is_none(),
        };
        let link = |tag: &str| ProfileLink {
            href: self.view.with_profile(tag.parse().ok()).path(),
            title: show_name(tag),
            is_current: current == Some(tag),
        };
        let missing = current.filter(|tag| !self.shown_profiles().contains(tag));
        let shown = missing.into_iter().chain(self.shown_profiles().iter().copied());
        std::iter::once(everywhere).chain(shown.map(link)).collect()
    }

    fn shown_profiles(&self) -> &[&str] {
        &self.profiles[..self.profiles.len().min(MAX_PROFILES)]
    }

    fn more_profiles(&self) -> Option<String> {
        let more = self.profiles.len() - self.shown_profiles().len();
        self.count_sentence("notifications-more-profiles", more)
    }

    fn profile_sentence(&self) -> Option<String> {
        let tag = self.view.profile.as_ref()?;
        let profile = show_name(tag.as_str());
        let profile = Argument::Trusted(&profile);
        Some(self.layout.language.text_with("notifications-device", "profile", profile))
    }

    fn other_rules(&self) -> Option<String> {
        self.count_sentence("notifications-other-rules", self.preferences.other_rules)
    }

    /// A sentence with a number, unless it is zero.
    fn count_sentence(&self, key: &str, count: usize) -> Option<String> {
        let count = Some(count).filter(|count| *count > 0)?;
        let count = count.to_string();
        Some(self.layout.language.text_with(key, "count", Argument::Trusted(&count)))
    }

    fn rules_path(&self) -> String {
        with_language(ACCOUNT_RULES, self.view.lang)
    }

    /// The notice, if this part was changed.
    fn notice_in(&self, part: NotificationsPart) -> Option<Notice> {
        self.notice.filter(|_| self.view.part == Some(part))
    }

    /// The rejected form of this part.
    fn rejected_in(&self, part: NotificationsPart) -> Option<&RejectedForm> {
        self.rejected.as_ref().filter(|rejected| rejected.part == part)
    }

    /// Whether this part is shown.
    fn shows(&self, part: NotificationsPart) -> bool {
        self.is_signed_in || self.rejected_in(part).is_some()
    }

    /// The rejected form that adds an entry to this part.
    fn rejected_new(&self, part: NotificationsPart) -> Option<&RejectedForm> {
        self.rejected_in(part).filter(|rejected| rejected.is_new)
    }

    /// The error of the field for a new entry of this part.
    fn field_error(&self, part: NotificationsPart) -> Option<&str> {
        self.rejected_new(part).and_then(RejectedForm::field_error)
    }

    /// The keyword that was entered in a rejected form.
    fn entered_word(&self) -> &str {
        self.rejected_new(NotificationsPart::Keywords).map_or("", |rejected| &rejected.word)
    }

    /// The person or room that was entered in a rejected form.
    fn entered_id(&self) -> &str {
        self.rejected_new(NotificationsPart::Subjects).map_or("", |rejected| &rejected.id)
    }

    /// Whether a new keyword plays a sound, unless the user decided otherwise.
    fn adds_sound(&self) -> bool {
        self.rejected_new(NotificationsPart::Keywords).is_none_or(|rejected| rejected.sound)
    }

    fn adds_highlight(&self) -> bool {
        self.rejected_new(NotificationsPart::Keywords).is_none_or(|rejected| rejected.highlight)
    }

    /// Whether the choice was made for a new person or room.
    fn is_chosen(&self, choice: &str) -> bool {
        let rejected = self.rejected_new(NotificationsPart::Subjects);
        rejected.is_some_and(|rejected| rejected.choice == choice)
    }

    /// The rejected change of an entry of this part.
    fn rejected_change(&self, part: NotificationsPart) -> Option<&RejectedForm> {
        self.rejected_in(part).filter(|rejected| !rejected.is_new)
    }
}
