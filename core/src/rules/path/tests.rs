//! Tests of paths below `/pushrules/`.

use proptest::prelude::*;

use super::*;

fn phone() -> RuleScope {
    "device/phone".parse().unwrap()
}

fn rule(scope: RuleScope, kind: RuleKind, id: &str) -> RuleRef {
    RuleRef { scope, kind, id: id.to_owned() }
}

#[test]
fn a_path_is_parsed() {
    use RuleScope::Global;
    for (path, expected) in [
        ("", RulePath::All),
        ("device/", RulePath::Devices),
        ("global/", RulePath::Ruleset(Global)),
        ("device/phone/", RulePath::Ruleset(phone())),
        ("device%2Fphone/", RulePath::Ruleset(phone())),
        ("device%2fphone/room/", RulePath::Kind(phone(), RuleKind::Room)),
        ("device/override/", RulePath::Ruleset("device/override".parse().unwrap())),
        ("global/override/", RulePath::Kind(Global, RuleKind::Override)),
        ("global/%6fverride/", RulePath::Kind(Global, RuleKind::Override)),
        ("device/phone/underride/", RulePath::Kind(phone(), RuleKind::Underride)),
        ("global/content/cake", RulePath::Rule(rule(Global, RuleKind::Content, "cake"))),
        ("global/override/.m.rule.master", {
            RulePath::Rule(rule(Global, RuleKind::Override, ".m.rule.master"))
        }),
        ("global/room/!a%3Ax.org", RulePath::Rule(rule(Global, RuleKind::Room, "!a:x.org"))),
        ("global/room/%23spam:x", RulePath::Rule(rule(Global, RuleKind::Room, "#spam:x"))),
        ("global/sender/a+b%20c", RulePath::Rule(rule(Global, RuleKind::Sender, "a+b c"))),
        ("global/content/..", RulePath::Rule(rule(Global, RuleKind::Content, ".."))),
        ("global/content/%E2%98%83", RulePath::Rule(rule(Global, RuleKind::Content, "☃"))),
        ("global/content/enabled", RulePath::Rule(rule(Global, RuleKind::Content, "enabled"))),
        ("device/phone/content/a", RulePath::Rule(rule(phone(), RuleKind::Content, "a"))),
        ("global/content/a/enabled", RulePath::Enabled(rule(Global, RuleKind::Content, "a"))),
        ("device/phone/room/a/actions", RulePath::Actions(rule(phone(), RuleKind::Room, "a"))),
    ] {
        assert_eq!(RulePath::read(path), Ok(expected), "{path}");
    }
}

#[test]
fn an_invalid_path_is_rejected_with_its_reason() {
    let long = format!("global/content/{}", "a".repeat(256));
    for (path, error, unrecognized) in [
        ("global", PathError::NoSlash, true),
        ("device", PathError::NoSlash, true),
        ("device/phone", PathError::NoSlash, true),
        ("global/override", PathError::NoSlash, true),
        ("device/phone/override", PathError::NoSlash, true),
        ("/", PathError::Scope(UnknownScope::Malformed), true),
        ("Global/", PathError::Scope(UnknownScope::Malformed), true),
        ("other/override/a", PathError::Scope(UnknownScope::Malformed), true),
        ("../global/", PathError::Scope(UnknownScope::Malformed), true),
        ("global/postcontent/", PathError::Kind(UnknownKind), true),
        ("global/postcontent", PathError::Kind(UnknownKind), true),
        ("global//a", PathError::Kind(UnknownKind), true),
        ("global//", PathError::Kind(UnknownKind), true),
        ("global/content/a/", PathError::Attribute, true),
        ("global/content/a/pattern", PathError::Attribute, true),
        ("global/content/a/enabled/", PathError::Attribute, true),
        ("global/content/a/enabled/b", PathError::Attribute, true),
        ("device//", PathError::Id(IdError::Empty), false),
        ("device/a%2Fb/", PathError::Id(IdError::Character('/')), false),
        ("device%2F/", PathError::Id(IdError::Empty), false),
        ("device%2Fa%2Fb/", PathError::Id(IdError::Character('/')), false),
        ("global/content//enabled", PathError::Id(IdError::Empty), false),
        ("global/content/a%2Fb", PathError::Id(IdError::Character('/')), false),
        ("global/content/a%5cb", PathError::Id(IdError::Character('\\')), false),
        ("global/content/a\\b", PathError::Id(IdError::Character('\\')), false),
        ("global/content/%00", PathError::Id(IdError::Character('\0')), false),
        (&long, PathError::Id(IdError::TooLong(256)), false),
        ("global/content/%", PathError::Percent(PercentError::InvalidEscape), false),
        ("global/content/%zz", PathError::Percent(PercentError::InvalidEscape), false),
        ("global/content/%ff", PathError::Percent(PercentError::NotUtf8), false),
        ("%ff/", PathError::Percent(PercentError::NotUtf8), false),
        ("global/%f/a", PathError::Percent(PercentError::InvalidEscape), false),
        ("device/%c3/", PathError::Percent(PercentError::NotUtf8), false),
    ] {
        let result = RulePath::read(path);
        assert_eq!(result, Err(error), "{path}");
        assert_eq!(error.is_unrecognized(), unrecognized, "{path}");
    }
}

proptest! {
    #[test]
    fn parsing_does_not_panic(path in "[a-z%0-9/\\\\.é]{0,60}") {
        let _ = RulePath::read(&path);
    }

    #[test]
    fn every_valid_id_is_decoded(id in any::<String>()) {
        prop_assume!(id.parse::<crate::rules::RuleId>().is_ok());
        let escapes: Vec<String> = id.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let encoded = escapes.concat();
        let path = RulePath::read(&format!("global/content/{encoded}/enabled")).unwrap();
        prop_assert_eq!(path, RulePath::Enabled(rule(RuleScope::Global, RuleKind::Content, &id)));
    }
}

#[test]
fn the_path_of_a_rule_is_parsed_to_the_same_rule() {
    for scope in ["global", "device/phone", "device/a%b c\u{202e}"] {
        for id in [
            "cake",
            "a b",
            "!r:x.org",
            "a\r\nb\tc",
            "<b>&amp;",
            "100%",
            "\u{202e}тест",
            ".m.rule.call",
        ] {
            let rule =
                RuleRef { scope: scope.parse().unwrap(), kind: RuleKind::Room, id: id.to_owned() };
            let path = rule.path();
            assert!(path.bytes().all(|byte| byte.is_ascii_graphic()), "{path}");
            assert_eq!(RuleRef::from_path(&path), Ok(rule), "{path}");
        }
    }
    for path in ["", "global/", "global/room/", "global/room/a/enabled"] {
        assert!(RuleRef::from_path(path).is_err(), "{path}");
    }
}
