//! Tests of scopes.

use proptest::prelude::*;

use super::*;

/// All scopes, in the order of the metadata.
const LISTED: &str = "read write write:accounts write:blocks write:bookmarks write:conversations \
    write:favourites write:filters write:follows write:lists write:media write:mutes \
    write:notifications write:reports write:statuses read:accounts read:blocks read:bookmarks \
    read:favourites read:filters read:follows read:lists read:mutes read:notifications \
    read:search read:statuses follow push profile admin:read admin:read:accounts \
    admin:read:reports admin:read:domain_allows admin:read:domain_blocks admin:read:ip_blocks \
    admin:read:email_domain_blocks admin:read:canonical_email_blocks admin:write \
    admin:write:accounts admin:write:reports admin:write:domain_allows \
    admin:write:domain_blocks admin:write:ip_blocks admin:write:email_domain_blocks \
    admin:write:canonical_email_blocks";

fn scopes(text: &str) -> Scopes {
    text.parse().unwrap()
}

#[test]
fn all_scopes_are_listed_in_the_order_of_the_metadata() {
    let listed: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    assert_eq!(listed.join(" "), LISTED);
    assert_eq!(listed.len(), 45);
}

#[test]
fn a_scope_covers_itself_and_its_children() {
    for (own, other, covered) in [
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
        let (own, other): (Scope, Scope) = (own.parse().unwrap(), other.parse().unwrap());
        assert_eq!(own.covers(other), covered, "{own} covers {other}");
    }
}

#[test]
fn an_app_may_request_only_scopes_that_its_declared_ones_cover() {
    for (declared, requested, not_covered) in [
        ("read write", "read", None),
        ("read write", "write:statuses read:accounts", None),
        ("read write", "", None),
        ("read", "read write push", Some("write")),
        ("read", "push", Some("push")),
        ("write:statuses", "write", Some("write")),
        ("", "read", Some("read")),
    ] {
        assert_eq!(
            scopes(declared).first_not_covered(&scopes(requested)).as_deref(),
            not_covered,
            "{declared} for {requested}"
        );
    }
}

#[test]
fn follow_allows_follows_blocks_and_mutes_only() {
    let allowed: Vec<&str> = Scope::ALL
        .iter()
        .filter(|&&needed| scopes("follow").allows(needed))
        .map(|scope| scope.as_str())
        .collect();
    assert_eq!(
        allowed.join(" "),
        "write:blocks write:follows write:mutes read:blocks read:follows read:mutes follow"
    );
}

#[test]
fn a_token_allows_what_its_scopes_cover() {
    for (granted, needed, allowed) in [
        ("read", Scope::ReadAccounts, true),
        ("profile", Scope::ReadAccounts, false),
        ("read", Scope::Profile, false),
        ("write push", Scope::WriteMedia, true),
        ("write", Scope::AdminWrite, false),
        ("", Scope::Read, false),
    ] {
        assert_eq!(scopes(granted).allows(needed), allowed, "{granted} for {needed}");
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
fn a_list_of_strings_is_parsed_like_one_string() {
    assert_eq!(Scopes::parse_all(["read", "write"]), Ok(scopes("read write")));
    assert_eq!(Scopes::parse_all(["read push", "", "read"]), Ok(scopes("read push")));
    assert_eq!(Scopes::parse_all(Vec::<String>::new()), Ok(Scopes::default()));
    assert_eq!(Scopes::parse_all(["read", "a b"]), Err(ScopeError::Unknown("a".into())));
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
        let unknown = Err(ScopeError::Unknown(text.to_owned()));
        assert_eq!(text.parse::<Scopes>(), unknown, "{text}");
    }
    assert_eq!("read nope".parse::<Scopes>(), Err(ScopeError::Unknown("nope".into())));
}

const DEVICE: &str = "urn:matrix:client:device:ABC";

#[test]
fn stored_scopes_that_are_not_listed_are_preserved() {
    // Stored text, stored again, names with an effect, number of unknown ones.
    for (stored, again, names, unknown) in [
        ("", "", "", 0),
        ("write read", "write read", "write read", 0),
        ("bells:ring read", "read bells:ring", "read", 1),
        ("a read b a read", "read a b", "read", 2),
        (DEVICE, DEVICE, DEVICE, 0),
        ("urn:matrix:client:device:", "urn:matrix:client:device:", "", 1),
        ("READ \"read\"", "READ \"read\"", "", 2),
    ] {
        let scopes = Scopes::from_stored(stored);
        assert_eq!(scopes.to_stored(), again, "{stored}");
        assert_eq!(scopes.to_string(), names, "{stored}");
        assert_eq!(scopes.unknown_count(), unknown, "{stored}");
        assert_eq!(scopes, Scopes::from_stored(again));
        let listed = scopes.iter().collect::<Scopes>();
        for &needed in Scope::ALL {
            assert_eq!(scopes.allows(needed), listed.allows(needed), "{stored} for {needed}");
        }
        assert_eq!(scopes.clone().effective(None), scopes, "{stored}");
    }
}

#[test]
fn unlisted_scopes_cannot_be_requested_but_count_in_comparisons() {
    assert_eq!(DEVICE.parse::<Scopes>(), Err(ScopeError::Unknown(DEVICE.to_owned())));
    for other in [DEVICE, "bells:ring"] {
        let with_other = Scopes::from_stored(&format!("read {other}"));
        assert_ne!(with_other, scopes("read"));
        assert_eq!(with_other.first_not_covered(&scopes("read")), None);
        assert_eq!(scopes("read").first_not_covered(&with_other).as_deref(), Some(other));
        assert_eq!(Scopes::from_stored(other).or_read(), Scopes::from_stored(other));
        let mut sum = scopes("write");
        sum.add_all(with_other.clone());
        sum.add_all(with_other);
        assert_eq!(sum.to_stored(), format!("write read {other}"));
    }
}

proptest! {
    #[test]
    fn parsing_never_panics(text in any::<String>()) {
        let _ = text.parse::<Scopes>();
        let stored = Scopes::from_stored(&text);
        prop_assert_eq!(Scopes::from_stored(&stored.to_stored()), stored);
    }

    #[test]
    fn a_displayed_set_is_parsed_to_itself(
        chosen in prop::collection::vec(prop::sample::select(Scope::ALL), 0..60),
    ) {
        let set: Scopes = chosen.into_iter().collect();
        let again: Scopes = set.to_string().parse().unwrap();
        prop_assert!(again.iter().eq(set.iter()));
        prop_assert_eq!(set.first_not_covered(&set), None);
    }
}

#[test]
fn admin_scopes_have_an_effect_only_for_admins() {
    for (granted, effective) in [
        ("read write", "read write"),
        ("read admin:read write admin:write:accounts", "read write"),
        ("admin:read", ""),
        ("", ""),
    ] {
        let granted: Scopes = granted.parse().unwrap();
        let is_unchanged = granted.to_string() == effective;
        for role in [None, Some(Role::User)] {
            assert_eq!(granted.clone().effective(role).to_string(), effective, "{role:?}");
            assert_eq!(granted.are_allowed_for(role), is_unchanged, "{granted} {role:?}");
        }
        let admin = Some(Role::Admin);
        assert_eq!(granted.clone().effective(admin).to_string(), granted.to_string());
        assert!(granted.are_allowed_for(admin));
    }
}
