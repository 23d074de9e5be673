//! Tests of the message files, which must be complete and without unused messages, and of the
//! messages formatted from them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use belfry_core::account::FieldError;
use belfry_core::account::sign_up::{Field, InvalidField, SignUp};
use belfry_core::oauth::app::{AppRegistration, AppRegistrationError};
use belfry_core::oauth::consent::consent_items;
use belfry_core::oauth::issuer_policy::MASTODON;
use belfry_core::oauth::redirect::RedirectUriError;
use belfry_core::oauth::scope::Scope;
use belfry_core::secret::Secret;
use belfry_core::validation::ValidationErrors;
use fluent_syntax::ast::{Entry, Expression, InlineExpression, Pattern, PatternElement};
use fluent_syntax::parser;
use regex_lite::Regex;

use super::{Argument, Language, Localize};
use crate::pages::tests::templates;

/// Lists every variant of an enum in `belfry-core`; fails to compile if one is missing.
macro_rules! every_variant {
    ($type:ty: $($pattern:pat => $value:expr),+ $(,)?) => {{
        let _ = |value: $type| match value { $($pattern => (),)+ };
        [$($value),+]
    }};
}

fn app_errors() -> [AppRegistrationError; 18] {
    use RedirectUriError::{
        Forbidden, Fragment, Insecure, Invalid, Opaque, Relative, UserInfo, Wildcard,
    };
    every_variant![AppRegistrationError:
        AppRegistrationError::NameBlank => AppRegistrationError::NameBlank,
        AppRegistrationError::RedirectUriBlank => AppRegistrationError::RedirectUriBlank,
        AppRegistrationError::RedirectUri(Forbidden) => AppRegistrationError::RedirectUri(Forbidden),
        AppRegistrationError::RedirectUri(Invalid) => AppRegistrationError::RedirectUri(Invalid),
        AppRegistrationError::RedirectUri(Relative) => AppRegistrationError::RedirectUri(Relative),
        AppRegistrationError::RedirectUri(Opaque) => AppRegistrationError::RedirectUri(Opaque),
        AppRegistrationError::RedirectUri(Fragment) => AppRegistrationError::RedirectUri(Fragment),
        AppRegistrationError::RedirectUri(UserInfo) => AppRegistrationError::RedirectUri(UserInfo),
        AppRegistrationError::RedirectUri(Wildcard) => AppRegistrationError::RedirectUri(Wildcard),
        AppRegistrationError::RedirectUri(Insecure) => AppRegistrationError::RedirectUri(Insecure),
        AppRegistrationError::Scopes => AppRegistrationError::Scopes,
        AppRegistrationError::UnknownScope(_) => AppRegistrationError::UnknownScope("fly".into()),
        AppRegistrationError::NameInvalid => AppRegistrationError::NameInvalid,
        AppRegistrationError::NameTooLong => AppRegistrationError::NameTooLong,
        AppRegistrationError::WebsiteInvalid => AppRegistrationError::WebsiteInvalid,
        AppRegistrationError::WebsiteTooLong => AppRegistrationError::WebsiteTooLong,
        AppRegistrationError::RedirectUriTooLong => AppRegistrationError::RedirectUriTooLong,
        AppRegistrationError::AuthMethod => AppRegistrationError::AuthMethod,
    ]
}

fn field_errors() -> [FieldError; 9] {
    every_variant![FieldError:
        FieldError::Blank => FieldError::Blank,
        FieldError::NameInvalid => FieldError::NameInvalid,
        FieldError::EmailInvalid => FieldError::EmailInvalid,
        FieldError::TooLong(_) => FieldError::TooLong(30),
        FieldError::TooShort(_) => FieldError::TooShort(8),
        FieldError::PasswordCommon => FieldError::PasswordCommon,
        FieldError::Reserved => FieldError::Reserved,
        FieldError::Taken => FieldError::Taken,
        FieldError::NotAccepted => FieldError::NotAccepted,
    ]
}

fn fields() -> [Field; 4] {
    every_variant![Field:
        Field::Username => Field::Username,
        Field::Email => Field::Email,
        Field::Password => Field::Password,
        Field::Agreement => Field::Agreement,
    ]
}

fn account_errors() -> impl Iterator<Item = InvalidField> {
    fields().into_iter().flat_map(|field| field_errors().map(|error| InvalidField { field, error }))
}

/// Returns the errors of two forms with several mistakes each.
fn validation_errors() -> (ValidationErrors<AppRegistrationError>, ValidationErrors<InvalidField>) {
    let registration = AppRegistration { website: "no".into(), ..AppRegistration::default() };
    let sign_up = SignUp {
        username: "Alice".into(),
        email: Some(String::new()),
        password: Secret::new("short"),
        agreement: String::new(),
    };
    (registration.validate(&MASTODON).unwrap_err(), sign_up.validate(|_| false).unwrap_err())
}

/// Returns the keys of a language's messages, with the variables of each message.
fn message_variables(language: Language) -> BTreeMap<String, BTreeSet<String>> {
    let file = parser::parse(language.locale().1).unwrap_or_else(|(_, errors)| {
        panic!("{}: {errors:?}", language.code());
    });
    let mut messages = BTreeMap::new();
    for entry in file.body {
        match entry {
            Entry::Message(message) => {
                let mut variables = BTreeSet::new();
                collect_variables(&message.value.expect("a message has a value"), &mut variables);
                let key = message.id.name.to_owned();
                assert!(
                    messages.insert(key, variables).is_none(),
                    "{} is defined twice",
                    message.id.name
                );
            }
            Entry::Term(_) | Entry::Junk { .. } => panic!("{}: {entry:?}", language.code()),
            Entry::Comment(_) | Entry::GroupComment(_) | Entry::ResourceComment(_) => {}
        }
    }
    messages
}

fn collect_variables(pattern: &Pattern<&str>, variables: &mut BTreeSet<String>) {
    for element in &pattern.elements {
        let PatternElement::Placeable { expression } = element else { continue };
        let (Expression::Inline(inline) | Expression::Select { selector: inline, .. }) = expression;
        let InlineExpression::VariableReference { id } = inline else {
            panic!("only plain variables are supported: {inline:?}");
        };
        variables.insert(id.name.to_owned());
        if let Expression::Select { variants, .. } = expression {
            for variant in variants {
                collect_variables(&variant.value, variables);
            }
        }
    }
}

#[test]
fn every_language_has_all_english_messages_with_the_same_variables() {
    let english = message_variables(Language::English);
    for &language in Language::ALL {
        let messages = message_variables(language);
        for (key, variables) in &english {
            assert_eq!(messages.get(key), Some(variables), "{}: {key}", language.code());
        }
        for key in messages.keys() {
            assert!(english.contains_key(key), "{}: {key} is not in English", language.code());
        }
    }
}

/// Returns the source of a crate's files with code, without that of tests.
fn read_sources(dir: &Path, sources: &mut String) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_sources(&path, sources);
        } else if !path.ends_with("tests.rs") {
            sources.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_message_is_used_and_every_used_message_exists() {
    let mut sources = String::new();
    read_sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut sources);
    sources.extend(templates().into_iter().map(|(_, template)| template));
    let captures = |pattern: &str| -> BTreeSet<&str> {
        let pattern = Regex::new(pattern).unwrap();
        pattern.captures_iter(&sources).map(|text| text.get(1).unwrap().as_str()).collect()
    };
    let words = captures(r#""([a-z][a-z0-9-]+)""#);
    let placeholder = Regex::new(r"\{[a-z_]*\}").unwrap();
    // Keys with a variable part, such as `nav-{}`.
    let derived_keys = captures(r#"format!\("([a-z{][a-z_{}-]*-[a-z_{}-]*)""#)
        .into_iter()
        .filter(|pattern| placeholder.replace_all(pattern, "").len() > 3)
        .map(|pattern| placeholder.replace_all(pattern, "[a-z0-9_-]*"))
        .map(|pattern| Regex::new(&format!("^{pattern}$")).unwrap())
        .collect::<Vec<_>>();
    let messages = message_variables(Language::English);
    for key in messages.keys() {
        let is_used = words.contains(&**key) || derived_keys.iter().any(|keys| keys.is_match(key));
        assert!(is_used, "{key} is not used");
    }
    for key in captures(r#"text(?:_with|_with_all|_for_app)?\(\s*"([^"]+)"[,)]"#) {
        assert!(messages.contains_key(key), "{key} is missing");
    }
    // Pairs of scopes produce every item of the consent page. A missing message panics.
    for (scope, other_scope) in Scope::ALL
        .iter()
        .flat_map(|scope| Scope::ALL.iter().map(move |other_scope| (scope, other_scope)))
    {
        for item in consent_items(&[*scope, *other_scope].into_iter().collect()) {
            item.localize(Language::English);
        }
    }
}

#[test]
fn english_messages_are_the_same_as_in_the_api() {
    let english = Language::English;
    for error in app_errors() {
        assert_eq!(error.localize(english), error.to_string());
    }
    for error in field_errors() {
        assert_eq!(error.localize(english), error.to_string());
    }
    for field in fields() {
        assert_eq!(field.localize(english), field.label());
    }
    for error in account_errors() {
        assert_eq!(error.localize(english), error.to_string());
    }
    let (app_errors, account_errors) = validation_errors();
    assert_eq!(app_errors.localize(english), app_errors.to_string());
    assert_eq!(account_errors.localize(english), account_errors.to_string());
}

#[test]
fn placeholders_in_error_messages_are_replaced_in_every_language() {
    for &language in Language::ALL {
        let (app_errors, account_errors) = validation_errors();
        for text in [app_errors.localize(language), account_errors.localize(language)] {
            assert!(!text.contains(['{', '$']) && !text.is_empty(), "{text}");
        }
        let too_long = AppRegistrationError::WebsiteTooLong.localize(language);
        assert!(too_long.contains("2000"), "{too_long}");
    }
}

#[test]
fn numbers_follow_the_grammar_of_the_language() {
    let format_message = |language: Language, minutes: usize| {
        language.text_with("sign-in-too-many", "minutes", minutes)
    };
    for (language, minutes, expected) in [
        (Language::English, 1, "in one minute."),
        (Language::English, 2, "in 2 minutes."),
        (Language::Polish, 1, "za minutę."),
        (Language::Polish, 3, "za 3 minuty."),
        (Language::Polish, 5, "za 5 minut."),
        (Language::Polish, 22, "za 22 minuty."),
        (Language::Arabic, 2, "بعد دقيقتين."),
        (Language::Arabic, 5, "بعد 5 دقائق."),
        (Language::Arabic, 15, "بعد 15 دقيقة."),
        (Language::Japanese, 1, "1 分後に"),
    ] {
        let text = format_message(language, minutes);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn only_untrusted_text_is_isolated() {
    let format_app =
        |value: Argument<'_>| Language::English.text_with("consent-allow", "app", value);
    assert_eq!(format_app(Argument::Untrusted("Tusky")), "Allow \u{2068}Tusky\u{2069}");
    assert_eq!(format_app(Argument::Trusted("Tusky")), "Allow Tusky");
    // Names that would end their isolation or change the direction of the sentence.
    for name in ["\u{2069}\u{202e}Tusky", "Tus\u{202a}ky\u{2066}", "\u{2067}Tusky\u{202c}"] {
        assert_eq!(
            format_app(Argument::Untrusted(name)),
            format_app(Argument::Untrusted("Tusky")),
            "{name:?}"
        );
    }
}
