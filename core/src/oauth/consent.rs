//! The permissions that the consent page lists for requested scopes, one item per resource.

use super::scope::{Scope, Scopes};

#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum AccessLevel {
    Read,
    Write,
    /// Named `both` in the consent page's messages.
    #[strum(serialize = "both")]
    ReadWrite,
}

/// One item of the consent page's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsentItem {
    /// True if the permission is reserved for admins.
    pub is_admin: bool,
    /// The resource: `accounts`, `notifications`, …; `all` for all of them.
    pub resource: &'static str,
    pub access: AccessLevel,
}

impl ConsentItem {
    /// Returns whether this item allows the app to change data. `push` does not.
    pub fn allows_changes(&self) -> bool {
        self.access != AccessLevel::Read && self.resource != "push"
    }

    fn from_scope(scope: Scope) -> Self {
        let name = scope.as_str().trim_start_matches("admin:");
        let (verb, resource) = name.split_once(':').unwrap_or((name, "all"));
        let (resource, access) = match verb {
            "read" => (resource, AccessLevel::Read),
            "write" => (resource, AccessLevel::Write),
            "profile" => (verb, AccessLevel::Read),
            "urn" => ("matrix", AccessLevel::ReadWrite),
            // `follow` and `push` cannot be requested for reading or writing only.
            _ => (verb, AccessLevel::ReadWrite),
        };
        Self { is_admin: scope.is_admin(), resource, access }
    }
}

/// Returns the items for `scopes`, in the order of [`Scope::ALL`]. A scope that another one covers
/// is omitted, and scopes for reading and writing the same resource are merged.
pub fn consent_items(scopes: &Scopes) -> Vec<ConsentItem> {
    let mut items: Vec<ConsentItem> = Vec::new();
    let is_covered = |scope| match scope {
        // To users, the profile is part of the account, and reading and writing everything covers
        // follows.
        Scope::Profile => scopes.allows(Scope::ReadAccounts),
        Scope::Follow => scopes.contains(Scope::Read) && scopes.contains(Scope::Write),
        _ => {
            let other_scopes: Scopes = scopes.iter().filter(|other| *other != scope).collect();
            other_scopes.allows(scope)
        }
    };
    for &scope in Scope::ALL.iter().filter(|&&scope| scopes.contains(scope) && !is_covered(scope)) {
        let new_item = ConsentItem::from_scope(scope);
        let has_same_resource = |item: &&mut ConsentItem| {
            (item.is_admin, item.resource) == (new_item.is_admin, new_item.resource)
        };
        match items.iter_mut().find(has_same_resource) {
            Some(item) if item.access != new_item.access => item.access = AccessLevel::ReadWrite,
            Some(_) => {}
            None => items.push(new_item),
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn describe(item: &ConsentItem) -> String {
        let admin = if item.is_admin { "admin " } else { "" };
        format!("{admin}{} {:?}", item.resource, item.access)
    }

    /// Returns every item that any set of scopes can produce: pairs of scopes produce all of them.
    fn all_items() -> Vec<ConsentItem> {
        let pairs = Scope::ALL
            .iter()
            .flat_map(|&first| Scope::ALL.iter().map(move |&second| [first, second]));
        pairs.flat_map(|pair| consent_items(&pair.into_iter().collect())).collect()
    }

    fn describe_items(scopes: &str) -> Vec<String> {
        consent_items(&scopes.parse().unwrap()).iter().map(describe).collect()
    }

    #[test]
    fn scopes_are_grouped_by_resource() {
        for (scopes, expected) in [
            ("read", vec!["all Read"]),
            ("write", vec!["all Write"]),
            ("write read", vec!["all ReadWrite"]),
            ("read:accounts write:accounts", vec!["accounts ReadWrite"]),
            ("read write:media", vec!["all Read", "media Write"]),
            ("profile", vec!["profile Read"]),
            ("push follow", vec!["follow ReadWrite", "push ReadWrite"]),
            ("admin:read:ip_blocks", vec!["admin ip_blocks Read"]),
            ("admin:read admin:write read", vec!["all Read", "admin all ReadWrite"]),
            ("admin:write:accounts read:accounts", vec!["accounts Read", "admin accounts Write"]),
            ("", vec![]),
        ] {
            assert_eq!(describe_items(scopes), expected, "{scopes}");
        }
    }

    #[test]
    fn an_item_with_write_access_allows_changes_except_push() {
        for (scopes, allows_changes) in [
            ("read", false),
            ("write", true),
            ("read write", true),
            ("read:lists", false),
            ("write:lists", true),
            ("follow", true),
            ("push", false),
            ("profile", false),
            ("admin:read", false),
            ("admin:write:reports", true),
        ] {
            let items = consent_items(&scopes.parse().unwrap());
            assert!(items.iter().all(|item| item.allows_changes() == allows_changes), "{scopes}");
        }
    }

    #[test]
    fn a_covered_scope_is_omitted() {
        assert_eq!(describe_items("read:accounts read read:lists"), ["all Read"]);
        assert_eq!(
            describe_items("read read:accounts write:accounts"),
            ["all Read", "accounts Write"]
        );
        assert_eq!(describe_items("read profile"), ["all Read"]);
        assert_eq!(describe_items("read:accounts profile"), ["accounts Read"]);
        assert_eq!(describe_items("write profile"), ["all Write", "profile Read"]);
        assert_eq!(describe_items("read write follow"), ["all ReadWrite"]);
        assert_eq!(describe_items("read follow"), ["all Read", "follow ReadWrite"]);
        assert_eq!(describe_items("follow read:blocks write:mutes"), ["follow ReadWrite"]);
    }

    #[test]
    fn a_read_only_resource_has_no_item_for_writing() {
        let descriptions: Vec<String> = all_items().iter().map(describe).collect();
        assert!(descriptions.contains(&"search Read".to_owned()));
        assert!(!descriptions.contains(&"search ReadWrite".to_owned()));
        assert!(!descriptions.contains(&"profile ReadWrite".to_owned()));
    }

    proptest! {
        #[test]
        fn each_resource_has_at_most_one_item(
            scopes in prop::collection::vec(prop::sample::select(Scope::ALL), 0..45),
        ) {
            let all_items = all_items();
            let items = consent_items(&scopes.iter().copied().collect());
            prop_assert_eq!(items.is_empty(), scopes.is_empty());
            for (index, item) in items.iter().enumerate() {
                prop_assert!(all_items.contains(item));
                let has_same_resource =
                    |other: &ConsentItem| (other.is_admin, other.resource) == (item.is_admin, item.resource);
                prop_assert!(!items[index + 1..].iter().any(has_same_resource));
            }
        }
    }
}
