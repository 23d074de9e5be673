//! The quiet hours on the notifications page.

use std::borrow::Cow;

use belfry_core::form::{Pairs, last_value};
use belfry_core::rules::preferences::{
    DAY_FIELDS, Preferences, QuietHours, QuietHoursPreference, QuietLevel,
};

use super::{NotificationsPage, NotificationsPart};
use crate::pages::timed_text::{TimeFormat, TimedText};

#[derive(Clone)]
pub(super) struct QuietHoursFields {
    pub(super) checked_days: [bool; DAY_FIELDS.len()],
    pub(super) from: String,
    pub(super) to: String,
    pub(super) time_zone: String,
    /// True if the user has not chosen a time zone, so that a script fills in the browser's.
    pub(super) is_zone_open: bool,
    pub(super) level: &'static str,
}

/// A check box for a day of the week.
pub(super) struct DayRow {
    pub(super) name: &'static str,
    pub(super) text: Cow<'static, str>,
    pub(super) is_checked: bool,
}

pub(super) struct LevelRow {
    pub(super) value: &'static str,
    pub(super) text: Cow<'static, str>,
    pub(super) hint: Cow<'static, str>,
    pub(super) is_checked: bool,
}

impl QuietHoursFields {
    pub(super) fn from_form(pairs: &Pairs) -> Self {
        let value = |name: &str| last_value(pairs, name).to_owned();
        Self {
            checked_days: DAY_FIELDS.map(|(_, name)| !last_value(pairs, name).is_empty()),
            from: value("from"),
            to: value("to"),
            time_zone: value("timezone"),
            is_zone_open: false,
            level: QuietLevel::from_name(last_value(pairs, "level")).map_or("", QuietLevel::as_str),
        }
    }

    fn from_quiet_hours(quiet_hours: &QuietHours) -> Self {
        Self {
            checked_days: DAY_FIELDS.map(|(day, _)| quiet_hours.days.contains(day)),
            from: quiet_hours.start.to_string(),
            to: quiet_hours.end.to_string(),
            time_zone: quiet_hours.time_zone.clone(),
            is_zone_open: false,
            level: quiet_hours.level.as_str(),
        }
    }

    /// Returns the fields of a form for new quiet hours: every night.
    fn suggested() -> Self {
        Self {
            checked_days: [true; DAY_FIELDS.len()],
            from: "22:00".to_owned(),
            to: "07:00".to_owned(),
            time_zone: "UTC".to_owned(),
            is_zone_open: true,
            level: QuietLevel::ExceptImportant.as_str(),
        }
    }
}

impl NotificationsPage<'_> {
    /// Returns whether there are quiet hours, even if it is not quiet at the moment.
    pub(super) fn has_quiet_hours(&self) -> bool {
        let Preferences { quiet_hours, .. } = self.preferences;
        self.quiet_period.is_some() || quiet_hours.as_ref().is_some_and(|rule| rule.enabled)
    }

    /// Returns whether the page's own quiet hours can be switched off.
    pub(super) fn can_switch_off_quiet_hours(&self) -> bool {
        self.preferences.quiet_hours.as_ref().is_some_and(|rule| rule.enabled)
    }

    /// Returns the setting that the page shows, to detect a conflicting change.
    pub(super) fn seen_quiet_hours(&self) -> String {
        self.preferences.quiet_hours.as_ref().map(ToString::to_string).unwrap_or_default()
    }

    /// Returns the sentence about the current state.
    pub(super) fn quiet_state(&self) -> TimedText {
        let text = |key: &str| TimedText::plain(self.layout.text(key));
        match self.quiet_period.map(|period| period.until) {
            Some(Some(until)) => {
                let format = TimeFormat::Short(self.now);
                TimedText::new(&self.layout, "notifications-quiet-until", until, format)
            }
            Some(None) => text("notifications-quiet-always"),
            None if self.has_quiet_hours() => text("notifications-quiet-later"),
            None => text("notifications-quiet-off"),
        }
    }

    /// Returns the sentence about what still notifies, while it is quiet.
    pub(super) fn quiet_effect(&self) -> Option<Cow<'static, str>> {
        let level = self.quiet_period?.level;
        Some(self.layout.text(&format!("notifications-quiet-{level}-hint")))
    }

    /// Returns whether it is quiet because of a rule that the form neither shows nor changes.
    pub(super) fn is_quiet_by_other_rule(&self) -> bool {
        self.quiet_period.is_some_and(|period| !period.is_own)
    }

    /// Returns the note about quiet hours that the form cannot show.
    pub(super) fn custom_quiet_hours_note(&self) -> Option<Cow<'static, str>> {
        let rule = self.preferences.quiet_hours.as_ref();
        let is_custom = rule.is_some_and(|rule| rule.quiet_hours.is_none());
        is_custom.then(|| self.layout.text("notifications-quiet-custom"))
    }

    /// Returns the fields of the form: as entered, as stored, or as suggested.
    pub(super) fn quiet_fields(&self) -> QuietHoursFields {
        let rejected_form = self.rejected_form_in(NotificationsPart::QuietHours, true);
        if let Some(entered_fields) = rejected_form.and_then(|form| form.fields.quiet_hours.clone())
        {
            return entered_fields;
        }
        match &self.preferences.quiet_hours {
            Some(QuietHoursPreference { quiet_hours: Some(quiet_hours), .. }) => {
                QuietHoursFields::from_quiet_hours(quiet_hours)
            }
            _ => QuietHoursFields::suggested(),
        }
    }

    pub(super) fn day_rows(&self, fields: &QuietHoursFields) -> Vec<DayRow> {
        let days = DAY_FIELDS.into_iter().zip(fields.checked_days);
        let row = |((_, name), is_checked): ((_, &'static str), bool)| DayRow {
            name,
            text: self.layout.text(&format!("notifications-quiet-{name}")),
            is_checked,
        };
        days.map(row).collect()
    }

    pub(super) fn level_rows(&self, fields: &QuietHoursFields) -> Vec<LevelRow> {
        let row = |level: QuietLevel| LevelRow {
            value: level.as_str(),
            text: self.layout.text(&format!("notifications-quiet-{level}")),
            hint: self.layout.text(&format!("notifications-quiet-{level}-hint")),
            is_checked: fields.level == level.as_str(),
        };
        QuietLevel::ALL.iter().copied().map(row).collect()
    }
}
