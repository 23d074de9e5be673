//! Tests of scopes.

use proptest::prelude::*;

use super::*;

fn scopes(text: &str) -> Scopes {
    text.parse().unwrap()
}

#[test]
fn a_scope_covers_itself_and_its_children() {
    for (scope, other_scope, is_covered) in [
        ("read", "read", true),
        ("read", "read:accounts", true),
        ("write", "write:statuses", true),
        ("admin:read", "admin:read:accounts", true),
        ("push", "push", true),
        // A child does not include its parent.
        ("write:statuses", "write", false),
        ("read", "write:accounts", false),
        ("read", "admin:read", false),
        ("read", "profile", false),
        ("write", "admin:write:accounts", false),
        ("admin:read", "admin:write", false),
        ("admin:read", "read", false),
        ("follow", "write:follows", false),
        ("write", "follow", false),
        ("push", "profile", false),
    ] {
        let (scope, other_scope): (Scope, Scope) =
            (scope.parse().unwrap(), other_scope.parse().unwrap());
        assert_eq!(scope.covers(other_scope), is_covered, "{scope} covers {other_scope}");
    }
}

#[test]
fn an_app_may_request_only_scopes_that_its_registered_scopes_cover() {
    for (registered, requested, not_covered) in [
        ("read write", "read", None),
        ("read write", "write:statuses read:accounts", None),
        ("read write", "", None),
        ("read", "read write push", Some("write")),
        ("read", "push", Some("push")),
        ("write:statuses", "write", Some("write")),
        ("", "read", Some("read")),
    ] {
        assert_eq!(
            scopes(registered).first_not_covered(&scopes(requested)),
            not_covered,
            "{registered} for {requested}"
        );
    }
}

#[test]
fn follow_allows_follows_blocks_and_mutes_only() {
    let allowed_names: Vec<&str> = Scope::ALL
        .iter()
        .filter(|&&needed| scopes("follow").allows(needed))
        .map(|scope| scope.as_str())
        .collect();
    assert_eq!(
        allowed_names.join(" "),
        "write:blocks write:follows write:mutes read:blocks read:follows read:mutes follow"
    );
}

#[test]
fn a_token_allows_what_its_scopes_cover() {
    for (granted, needed, is_allowed) in [
        ("read", Scope::ReadAccounts, true),
        ("profile", Scope::ReadAccounts, false),
        ("read", Scope::Profile, false),
        ("write push", Scope::WriteMedia, true),
        ("write", Scope::AdminWrite, false),
        ("", Scope::Read, false),
    ] {
        assert_eq!(scopes(granted).allows(needed), is_allowed, "{granted} for {needed}");
    }
}

#[test]
fn duplicates_are_removed_and_the_order_is_preserved() {
    assert_eq!(scopes("write read write").to_string(), "write read");
    assert_eq!(scopes("read:accounts write:statuses").to_string(), "read:accounts write:statuses");
}

#[test]
fn equality_ignores_the_order() {
    assert_eq!(scopes("read write"), scopes("write read"));
    assert_ne!(scopes("read write"), scopes("read"));
    assert_ne!(scopes("read write"), scopes("read push"));
}

#[test]
fn an_empty_set_defaults_to_read() {
    assert_eq!(scopes("").or_read().to_string(), "read");
    assert_eq!(scopes("push").or_read().to_string(), "push");
}

// RFC 6749, section 3.3.
#[test]
fn a_string_that_violates_the_grammar_is_malformed() {
    for text in [
        " ",
        " read",
        "read ",
        "read  write",
        "read\twrite",
        "read\nwrite",
        "read\r\n",
        "\0",
        "read\0",
        "\"read\"",
        "read\\",
        "read\u{a0}write",
        "rеad", // a Cyrillic letter
        "\u{7f}",
    ] {
        assert_eq!(text.parse::<Scopes>(), Err(ScopeError::Malformed), "{text:?}");
    }
}

#[test]
fn an_unlisted_scope_is_unknown() {
    for text in ["READ", "Read", "read:", ":read", "read:account", "admin", "crypto", "read+write"]
    {
        let expected = Err(ScopeError::Unknown(text.to_owned()));
        assert_eq!(text.parse::<Scopes>(), expected, "{text}");
    }
    assert_eq!("read nope".parse::<Scopes>(), Err(ScopeError::Unknown("nope".into())));
}

const DEVICE: &str = "urn:matrix:client:device:ABC";

#[test]
fn stored_scopes_that_are_not_listed_are_preserved() {
    // Stored text, stored again, names with an effect, number of unknown ones.
    for (stored, restored, names, unknown_count) in [
        ("", "", "", 0),
        ("write read", "write read", "write read", 0),
        ("bells:ring read", "read bells:ring", "read", 1),
        ("a read b a read", "read a b", "read", 2),
        (DEVICE, DEVICE, DEVICE, 0),
        ("urn:matrix:client:device:", "urn:matrix:client:device:", "", 1),
        ("READ \"read\"", "READ \"read\"", "", 2),
    ] {
        let scopes = Scopes::from_stored(stored);
        assert_eq!(scopes.to_stored(), restored, "{stored}");
        assert_eq!(scopes.to_string(), names, "{stored}");
        assert_eq!(scopes.unknown_count(), unknown_count, "{stored}");
        assert_eq!(scopes, Scopes::from_stored(restored));
        let catalogue_scopes = scopes.iter().collect::<Scopes>();
        for &needed in Scope::ALL {
            assert_eq!(
                scopes.allows(needed),
                catalogue_scopes.allows(needed),
                "{stored} for {needed}"
            );
        }
        assert_eq!(scopes.clone().effective_for_role(None), scopes, "{stored}");
    }
}

#[test]
fn scopes_outside_the_catalogue_cannot_be_requested_but_are_compared() {
    assert_eq!(DEVICE.parse::<Scopes>(), Err(ScopeError::Unknown(DEVICE.to_owned())));
    for unlisted_scope in [DEVICE, "bells:ring"] {
        let with_unlisted = Scopes::from_stored(&format!("read {unlisted_scope}"));
        assert_ne!(with_unlisted, scopes("read"));
        assert_eq!(with_unlisted.first_not_covered(&scopes("read")), None);
        assert_eq!(scopes("read").first_not_covered(&with_unlisted), Some(unlisted_scope));
        assert_eq!(
            Scopes::from_stored(unlisted_scope).or_read(),
            Scopes::from_stored(unlisted_scope)
        );
        let mut union = scopes("write");
        union.add_all(with_unlisted.clone());
        union.add_all(with_unlisted);
        assert_eq!(union.to_stored(), format!("write read {unlisted_scope}"));
    }
}

proptest! {
    #[test]
    fn parsing_never_panics(text in any::<String>()) {
        let _ = text.parse::<Scopes>();
        let scopes = Scopes::from_stored(&text);
        prop_assert_eq!(Scopes::from_stored(&scopes.to_stored()), scopes);
    }

    #[test]
    fn a_displayed_set_is_parsed_back_unchanged(
        scopes in prop::collection::vec(prop::sample::select(Scope::ALL), 0..60),
    ) {
        let set: Scopes = scopes.into_iter().collect();
        let parsed_set: Scopes = set.to_string().parse().unwrap();
        prop_assert!(parsed_set.iter().eq(set.iter()));
        prop_assert_eq!(set.first_not_covered(&set), None);
    }
}

#[test]
fn admin_scopes_have_an_effect_only_for_admins() {
    for (granted_scopes, effective_scopes) in [
        ("read write", "read write"),
        ("read admin:read write admin:write:accounts", "read write"),
        ("admin:read", ""),
        ("", ""),
    ] {
        let granted_scopes = scopes(granted_scopes);
        let is_unchanged = granted_scopes.to_string() == effective_scopes;
        for role in [None, Some(Role::User)] {
            let actual = granted_scopes.clone().effective_for_role(role);
            assert_eq!(actual.to_string(), effective_scopes, "{role:?}");
            let is_allowed = granted_scopes.are_allowed_for(role);
            assert_eq!(is_allowed, is_unchanged, "{granted_scopes} {role:?}");
        }
        let admin = Some(Role::Admin);
        let actual = granted_scopes.clone().effective_for_role(admin);
        assert_eq!(actual.to_string(), granted_scopes.to_string());
        assert!(granted_scopes.are_allowed_for(admin));
    }
}
