//! What the consent page says of the scopes that an app asks for: one line per thing, not per
//! scope.

use super::scope::{Scope, Scopes};

/// What may be done with a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It may be seen.
    Read,
    /// It may be changed.
    Write,
    /// It may be seen and changed.
    Both,
}

/// One line of the consent page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Whether it is about what only those who run the server see.
    pub admin: bool,
    /// What it is about: `accounts`, `notifications`, …; `all` for everything at once.
    pub thing: &'static str,
    /// What may be done with it.
    pub access: Access,
}

impl Line {
    /// The line for one scope alone.
    fn of(scope: Scope) -> Self {
        let text = scope.as_str();
        let (admin, text) = match text.strip_prefix("admin:") {
            Some(text) => (true, text),
            None => (false, text),
        };
        let (verb, thing) = text.split_once(':').unwrap_or((text, "all"));
        let (thing, access) = match verb {
            "read" => (thing, Access::Read),
            "write" => (thing, Access::Write),
            "profile" => (verb, Access::Read),
            // `follow` and `push`: no half of them can be asked for.
            _ => (verb, Access::Both),
        };
        Self { admin, thing, access }
    }

    /// The key of its text in the reader's language.
    #[must_use]
    pub fn key(&self) -> String {
        let admin = if self.admin { "admin-" } else { "" };
        let access = match self.access {
            Access::Read => "read",
            Access::Write => "write",
            Access::Both => "both",
        };
        format!("consent-{admin}{}-{access}", self.thing)
    }

    /// Every line that can ever be shown.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut all: Vec<Self> = Scope::ALL.iter().copied().map(Self::of).collect();
        let mut merged = Vec::new();
        for &scope in Scope::ALL {
            add(&mut merged, Self::of(scope));
        }
        all.extend(merged.into_iter().filter(|line| line.access == Access::Both));
        all.sort_by_key(Self::key);
        all.dedup();
        all
    }
}

/// The lines for these scopes, in the order of the server's list of scopes. What another of the
/// scopes covers is not said twice.
#[must_use]
pub fn lines(scopes: &Scopes) -> Vec<Line> {
    let mut lines = Vec::new();
    for &scope in Scope::ALL.iter().filter(|&&scope| scopes.contains(scope)) {
        if !scopes.iter().any(|other| other != scope && other.covers(scope)) {
            add(&mut lines, Line::of(scope));
        }
    }
    lines
}

fn add(lines: &mut Vec<Line>, new: Line) {
    match lines.iter_mut().find(|line| (line.admin, line.thing) == (new.admin, new.thing)) {
        Some(line) if line.access != new.access => line.access = Access::Both,
        Some(_) => {}
        None => lines.push(new),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(scopes: &str) -> Vec<String> {
        lines(&scopes.parse().unwrap()).iter().map(Line::key).collect()
    }

    #[test]
    fn scopes_are_grouped_by_what_they_are_about() {
        for (scopes, expected) in [
            ("read", vec!["consent-all-read"]),
            ("write", vec!["consent-all-write"]),
            ("write read", vec!["consent-all-both"]),
            ("read:accounts write:accounts", vec!["consent-accounts-both"]),
            ("read write:media", vec!["consent-all-read", "consent-media-write"]),
            ("profile", vec!["consent-profile-read"]),
            ("push follow", vec!["consent-follow-both", "consent-push-both"]),
            ("admin:read:ip_blocks", vec!["consent-admin-ip_blocks-read"]),
            ("admin:read admin:write read", vec!["consent-all-read", "consent-admin-all-both"]),
            (
                "admin:write:accounts read:accounts",
                vec!["consent-accounts-read", "consent-admin-accounts-write"],
            ),
            ("", vec![]),
        ] {
            assert_eq!(keys(scopes), expected, "{scopes}");
        }
    }

    #[test]
    fn what_is_covered_is_not_said_twice() {
        assert_eq!(keys("read:accounts read read:lists"), ["consent-all-read"]);
        assert_eq!(
            keys("read read:accounts write:accounts"),
            ["consent-all-read", "consent-accounts-write"]
        );
    }

    #[test]
    fn what_can_only_be_read_is_never_shown_as_written() {
        let all: Vec<String> = Line::all().iter().map(Line::key).collect();
        assert!(all.contains(&"consent-search-read".to_owned()));
        assert!(!all.contains(&"consent-search-both".to_owned()));
        assert!(!all.contains(&"consent-profile-both".to_owned()));
    }

    proptest! {
        #[test]
        fn every_line_is_one_of_all_and_each_thing_has_one(
            chosen in prop::collection::vec(prop::sample::select(Scope::ALL), 0..45),
        ) {
            let all = Line::all();
            let shown = lines(&chosen.iter().copied().collect());
            prop_assert_eq!(shown.is_empty(), chosen.is_empty());
            for (place, line) in shown.iter().enumerate() {
                prop_assert!(all.contains(line));
                let same = |other: &Line| (other.admin, other.thing) == (line.admin, line.thing);
                prop_assert!(!shown[place + 1..].iter().any(same));
            }
        }
    }
}
