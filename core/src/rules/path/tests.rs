//! Tests of paths below `/pushrules/`.

use proptest::prelude::*;

use super::*;

fn phone_scope() -> RuleScope {
    "device/phone".parse().unwrap()
}

fn rule_ref(scope: RuleScope, kind: RuleKind, id: &str) -> RuleRef {
    RuleRef { scope, kind, id: id.to_owned() }
}

#[test]
fn every_form_of_path_is_parsed() {
    use RuleScope::Global;
    for (path, expected) in [
        ("", RulePath::All),
        ("device/", RulePath::Devices),
        ("global/", RulePath::Ruleset(Global)),
        ("device/phone/", RulePath::Ruleset(phone_scope())),
        ("device%2Fphone/", RulePath::Ruleset(phone_scope())),
        ("device%2fphone/room/", RulePath::Kind(phone_scope(), RuleKind::Room)),
        ("device/override/", RulePath::Ruleset("device/override".parse().unwrap())),
        ("global/override/", RulePath::Kind(Global, RuleKind::Override)),
        ("global/%6fverride/", RulePath::Kind(Global, RuleKind::Override)),
        ("device/phone/underride/", RulePath::Kind(phone_scope(), RuleKind::Underride)),
        ("global/content/cake", RulePath::Rule(rule_ref(Global, RuleKind::Content, "cake"))),
        ("global/override/.m.rule.master", {
            RulePath::Rule(rule_ref(Global, RuleKind::Override, ".m.rule.master"))
        }),
        ("global/room/!a%3Ax.org", RulePath::Rule(rule_ref(Global, RuleKind::Room, "!a:x.org"))),
        ("global/room/%23spam:x", RulePath::Rule(rule_ref(Global, RuleKind::Room, "#spam:x"))),
        ("global/sender/a+b%20c", RulePath::Rule(rule_ref(Global, RuleKind::Sender, "a+b c"))),
        ("global/content/..", RulePath::Rule(rule_ref(Global, RuleKind::Content, ".."))),
        ("global/content/%E2%98%83", RulePath::Rule(rule_ref(Global, RuleKind::Content, "☃"))),
        ("global/content/enabled", RulePath::Rule(rule_ref(Global, RuleKind::Content, "enabled"))),
        ("device/phone/content/a", RulePath::Rule(rule_ref(phone_scope(), RuleKind::Content, "a"))),
        ("global/content/a/enabled", RulePath::Enabled(rule_ref(Global, RuleKind::Content, "a"))),
        (
            "device/phone/room/a/actions",
            RulePath::Actions(rule_ref(phone_scope(), RuleKind::Room, "a")),
        ),
    ] {
        assert_eq!(RulePath::parse(path), Ok(expected), "{path}");
    }
}

#[test]
fn an_invalid_path_is_rejected_with_its_reason() {
    let path_with_long_id = format!("global/content/{}", "a".repeat(256));
    for (path, error, is_unrecognized) in [
        ("global", PathError::MissingSlash, true),
        ("device", PathError::MissingSlash, true),
        ("device/phone", PathError::MissingSlash, true),
        ("global/override", PathError::MissingSlash, true),
        ("device/phone/override", PathError::MissingSlash, true),
        ("/", PathError::Scope(UnknownScope::Malformed), true),
        ("Global/", PathError::Scope(UnknownScope::Malformed), true),
        ("other/override/a", PathError::Scope(UnknownScope::Malformed), true),
        ("../global/", PathError::Scope(UnknownScope::Malformed), true),
        ("global/postcontent/", PathError::Kind, true),
        ("global/postcontent", PathError::Kind, true),
        ("global//a", PathError::Kind, true),
        ("global//", PathError::Kind, true),
        ("global/content/a/", PathError::UnknownAttribute, true),
        ("global/content/a/pattern", PathError::UnknownAttribute, true),
        ("global/content/a/enabled/", PathError::UnknownAttribute, true),
        ("global/content/a/enabled/b", PathError::UnknownAttribute, true),
        ("device//", PathError::Id(IdError::Empty), false),
        ("device/a%2Fb/", PathError::Id(IdError::ForbiddenCharacter('/')), false),
        ("device%2F/", PathError::Id(IdError::Empty), false),
        ("device%2Fa%2Fb/", PathError::Id(IdError::ForbiddenCharacter('/')), false),
        ("global/content//enabled", PathError::Id(IdError::Empty), false),
        ("global/content/a%2Fb", PathError::Id(IdError::ForbiddenCharacter('/')), false),
        ("global/content/a%5cb", PathError::Id(IdError::ForbiddenCharacter('\\')), false),
        ("global/content/a\\b", PathError::Id(IdError::ForbiddenCharacter('\\')), false),
        ("global/content/%00", PathError::Id(IdError::ForbiddenCharacter('\0')), false),
        (&path_with_long_id, PathError::Id(IdError::TooLong(256)), false),
        ("global/content/%", PathError::Percent(PercentError::InvalidEscape), false),
        ("global/content/%zz", PathError::Percent(PercentError::InvalidEscape), false),
        ("global/content/%ff", PathError::Percent(PercentError::NotUtf8), false),
        ("%ff/", PathError::Percent(PercentError::NotUtf8), false),
        ("global/%f/a", PathError::Percent(PercentError::InvalidEscape), false),
        ("device/%c3/", PathError::Percent(PercentError::NotUtf8), false),
    ] {
        let result = RulePath::parse(path);
        assert_eq!(result, Err(error), "{path}");
        assert_eq!(error.is_unrecognized(), is_unrecognized, "{path}");
    }
}

proptest! {
    #[test]
    fn parsing_does_not_panic(path in "[a-z%0-9/\\\\.é]{0,60}") {
        let _ = RulePath::parse(&path);
    }

    #[test]
    fn every_valid_id_is_decoded(id in any::<String>()) {
        prop_assume!(id.parse::<crate::rules::RuleId>().is_ok());
        let escapes: Vec<String> = id.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let encoded = escapes.concat();
        let path = RulePath::parse(&format!("global/content/{encoded}/enabled")).unwrap();
        let rule = rule_ref(RuleScope::Global, RuleKind::Content, &id);
        prop_assert_eq!(path, RulePath::Enabled(rule));
    }
}

#[test]
fn a_rule_path_is_parsed_to_the_same_rule() {
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
