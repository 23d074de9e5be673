//! What the consent page says of the scopes that an app asks for: one line per resource, not per
//! scope.

use super::scope::{Scope, Scopes};

/// What may be done with a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessLevel {
    /// It may be seen.
    Read,
    /// It may be changed.
    Write,
    /// It may be seen and changed.
    Both,
}

/// One line of the consent page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsentItem {
    /// Whether it is about what only those who run the server see.
    pub admin: bool,
    /// What it is about: `accounts`, `notifications`, …; `all` for everything at once.
    pub resource: &'static str,
    /// What may be done with it.
    pub access: AccessLevel,
}

impl ConsentItem {
    /// The line for one scope alone.
    fn from_scope(scope: Scope) -> Self {
        let text = scope.as_str();
        let (admin, text) = match text.strip_prefix("admin:") {
            Some(text) => (true, text),
            None => (false, text),
        };
        let (verb, resource) = text.split_once(':').unwrap_or((text, "all"));
        let (resource, access) = match verb {
            "read" => (resource, AccessLevel::Read),
            "write" => (resource, AccessLevel::Write),
            "profile" => (verb, AccessLevel::Read),
            // `follow` and `push`: no half of them can be asked for.
            _ => (verb, AccessLevel::Both),
        };
        Self { admin, resource, access }
    }

    /// The key of its text in the reader's language.
    #[must_use]
    pub fn key(&self) -> String {
        let admin = if self.admin { "admin-" } else { "" };
        let access = match self.access {
            AccessLevel::Read => "read",
            AccessLevel::Write => "write",
            AccessLevel::Both => "both",
        };
        format!("consent-{admin}{}-{access}", self.resource)
    }

    /// Every line that can ever be shown.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut all: Vec<Self> = Scope::ALL.iter().copied().map(Self::from_scope).collect();
        let mut merged = Vec::new();
        for &scope in Scope::ALL {
            add(&mut merged, Self::from_scope(scope));
        }
        all.extend(merged.into_iter().filter(|line| line.access == AccessLevel::Both));
        all.sort_by_key(Self::key);
        all.dedup();
        all
    }
}

/// The lines for these scopes, in the order of the server's list of scopes. What another of the
/// scopes covers is not said twice.
#[must_use]
pub fn items(scopes: &Scopes) -> Vec<ConsentItem> {
    let mut lines = Vec::new();
    for &scope in Scope::ALL.iter().filter(|&&scope| scopes.contains(scope)) {
        if !scopes.iter().any(|other| other != scope && other.covers(scope)) {
            add(&mut lines, ConsentItem::from_scope(scope));
        }
    }
    lines
}

fn add(lines: &mut Vec<ConsentItem>, new: ConsentItem) {
    match lines.iter_mut().find(|line| (line.admin, line.resource) == (new.admin, new.resource)) {
        Some(line) if line.access != new.access => line.access = AccessLevel::Both,
        Some(_) => {}
        None => lines.push(new),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(scopes: &str) -> Vec<String> {
        items(&scopes.parse().unwrap()).iter().map(ConsentItem::key).collect()
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
        let all: Vec<String> = ConsentItem::all().iter().map(ConsentItem::key).collect();
        assert!(all.contains(&"consent-search-read".to_owned()));
        assert!(!all.contains(&"consent-search-both".to_owned()));
        assert!(!all.contains(&"consent-profile-both".to_owned()));
    }

    proptest! {
        #[test]
        fn every_line_is_one_of_all_and_each_thing_has_one(
            chosen in prop::collection::vec(prop::sample::select(Scope::ALL), 0..45),
        ) {
            let all = ConsentItem::all();
            let shown = items(&chosen.iter().copied().collect());
            prop_assert_eq!(shown.is_empty(), chosen.is_empty());
            for (place, line) in shown.iter().enumerate() {
                prop_assert!(all.contains(line));
                let same = |other: &ConsentItem| (other.admin, other.resource) == (line.admin, line.resource);
                prop_assert!(!shown[place + 1..].iter().any(same));
            }
        }
    }
}
