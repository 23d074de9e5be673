//! The part of the preferences that the page shows, in the query of its path.

use belfry_core::oauth::form::{Pairs, last_value};
use belfry_core::percent;
use belfry_core::rules::preferences::{KeywordTarget, PreferenceChange, Preferences, Subject};
use belfry_core::rules::{ProfileTag, RuleScope, pattern};
use strum::{EnumString, IntoStaticStr};

use super::super::Layout;
use crate::language::{Argument, Language};
use crate::paths::{ACCOUNT_NOTIFICATIONS, with_language, with_parameters};

/// The number of entries on a page of a list.
const PAGE_LENGTH: usize = 25;

/// A device profile, and a page of each list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NotificationsView {
    /// The language in the query.
    pub lang: Option<Language>,
    /// The profile whose rules are shown; otherwise those of all devices.
    pub profile: Option<ProfileTag>,
    /// The part that was changed, which shows the notice.
    pub part: Option<NotificationsPart>,
    /// The page of each list, beginning with 0.
    pages: [usize; 3],
}

/// A list of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreferenceList {
    /// Keywords.
    Keywords,
    /// People.
    People,
    /// Rooms.
    Rooms,
}

impl PreferenceList {
    const ALL: [Self; 3] = [Self::Keywords, Self::People, Self::Rooms];

    /// The parameter with the number of its page.
    const fn parameter(self) -> &'static str {
        match self {
            Self::Keywords => "keywords",
            Self::People => "people",
            Self::Rooms => "rooms",
        }
    }
}

/// A part of the page. Its name in a query is also its id in the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum NotificationsPart {
    /// The pause.
    Pause,
    /// The keywords.
    Keywords,
    /// People and rooms.
    Subjects,
    /// The switches.
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

/// One page of a list.
pub(super) struct ListPage<R> {
    pub(super) rows: Vec<R>,
    /// The number of this page, beginning with 1, and of all pages.
    number: usize,
    pub(super) count: usize,
    /// The paths of the pages before and after it.
    pub(super) previous: Option<String>,
    pub(super) next: Option<String>,
}

impl<R> ListPage<R> {
    /// The number of this page and of all pages.
    pub(super) fn position(&self, layout: &Layout<'_>) -> String {
        let [number, count] = [self.number, self.count].map(|number| number.to_string());
        let arguments =
            [("number", Argument::Trusted(&number)), ("count", Argument::Trusted(&count))];
        layout.language.text_with_all("notifications-page", arguments)
    }
}

impl NotificationsView {
    /// Reads the parameters of a query. Those that are invalid are ignored.
    pub fn from_query(query: &Pairs, lang: Option<Language>) -> Self {
        let page = |list: PreferenceList| {
            let number: usize = last_value(query, list.parameter()).parse().unwrap_or(1);
            number.saturating_sub(1)
        };
        Self {
            lang,
            profile: last_value(query, "profile").parse().ok(),
            part: last_value(query, "part").parse().ok(),
            pages: PreferenceList::ALL.map(page),
        }
    }

    /// The scope of the rules that are shown.
    pub fn scope(&self) -> RuleScope {
        self.profile.clone().map_or(RuleScope::Global, RuleScope::Device)
    }

    /// The path of the page with this view.
    pub fn path(&self) -> String {
        let profile = self.profile.as_ref().map(|tag| ("profile", percent::encode(tag.as_str())));
        let pages = PreferenceList::ALL.into_iter().zip(self.pages).filter(|(_, page)| *page > 0);
        let pages = pages.map(|(list, page)| (list.parameter(), (page + 1).to_string()));
        let path = with_language(ACCOUNT_NOTIFICATIONS, self.lang);
        with_parameters(&path, profile.into_iter().chain(pages))
    }

    /// The path of the page after a change: it shows the notice in the part that was changed, and
    /// scrolls there.
    pub fn path_after(&self, change: &PreferenceChange, notice: &str) -> String {
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
        let path = with_parameters(&self.path(), [("part", part.id()), ("notice", notice)]);
        format!("{path}#{fragment}")
    }

    /// The first page of the lists of another profile.
    pub(super) fn with_profile(&self, profile: Option<ProfileTag>) -> Self {
        Self { lang: self.lang, profile, ..Self::default() }
    }

    fn with_page(&self, list: PreferenceList, page: usize) -> Self {
        let mut view = self.clone();
        view.pages[list as usize] = page;
        view
    }

    /// Shows the page of the list that contains the changed entry.
    pub fn show_changed(&mut self, change: &PreferenceChange, preferences: &Preferences<'_>) {
        let found = match change {
            PreferenceChange::SetKeyword { target, .. } => {
                let is_changed = |pattern: &str, id: &str| match target {
                    KeywordTarget::Word(word) => pattern::lower(pattern) == pattern::lower(word),
                    KeywordTarget::Rule { id: changed, .. } => id == changed,
                };
                let index =
                    preferences.keywords.iter().position(|it| is_changed(it.pattern, it.id));
                index.map(|index| (PreferenceList::Keywords, index))
            }
            PreferenceChange::SetSubject { subject, .. } => {
                let (list, all) = match subject {
                    Subject::Person(_) => (PreferenceList::People, &preferences.people),
                    Subject::Room(_) => (PreferenceList::Rooms, &preferences.rooms),
                };
                all.iter().position(|it| it.id == subject.id()).map(|index| (list, index))
            }
            _ => None,
        };
        if let Some((list, index)) = found {
            self.pages[list as usize] = index / PAGE_LENGTH;
        }
    }

    /// The page of this list; the last one if the view names a later page.
    pub(super) fn page_of<T, R>(
        &self,
        list: PreferenceList,
        all: &[T],
        row: impl Fn(&T) -> R,
    ) -> ListPage<R> {
        let count = all.len().div_ceil(PAGE_LENGTH).max(1);
        let page = self.pages[list as usize].min(count - 1);
        let link =
            |page: usize| format!("{}#{}", self.with_page(list, page).path(), list.parameter());
        ListPage {
            rows: all.iter().skip(page * PAGE_LENGTH).take(PAGE_LENGTH).map(row).collect(),
            number: page + 1,
            count,
            previous: page.checked_sub(1).map(link),
            next: Some(page + 1).filter(|next| *next < count).map(link),
        }
    }
}
