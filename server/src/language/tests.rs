//! The files of texts: none is missing, none is idle, none disagrees with the English one.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use belfry_core::oauth::account::FieldError;
use belfry_core::oauth::app::{AppError, Registration};
use belfry_core::oauth::consent::ConsentItem;
use belfry_core::oauth::error::OAuthError;
use belfry_core::oauth::parameter::Parameter;
use belfry_core::oauth::redirect::RedirectUriError;
use belfry_core::oauth::sign_up::{AccountError, Field, SignUp};
use belfry_core::oauth::validation::ValidationErrors;
use belfry_core::secret::Secret;
use fluent_syntax::ast::{Entry, Expression, InlineExpression, Pattern, PatternElement};
use fluent_syntax::parser;

use super::{Language, Localize, Value, messages};
use crate::pages::samples;

thread_local! {
    static ASKED: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

/// Keeps the keys that this thread asks for.
pub(super) fn note(key: &str) {
    ASKED.with_borrow_mut(|asked| asked.insert(key.to_owned()));
}

/// Every value of an enum of the core, and a match that does not compile when one is missing.
macro_rules! every {
    ($type:ty: $($pattern:pat => $value:expr),+ $(,)?) => {{
        let _ = |value: $type| match value { $($pattern => (),)+ };
        [$($value),+]
    }};
}

fn refusals() -> [OAuthError; 16] {
    use OAuthError::*;
    every![OAuthError:
        Missing(_) => Missing(Parameter::ClientId),
        Repeated(_) => Repeated(Parameter::Scope),
        NotOneValue(_) => NotOneValue(Parameter::State),
        StateTooLong => StateTooLong,
        InvalidClient => InvalidClient,
        TwoAuthentications => TwoAuthentications,
        InvalidRedirectUri => InvalidRedirectUri,
        UnsupportedResponseType => UnsupportedResponseType,
        UnsupportedResponseMode => UnsupportedResponseMode,
        InvalidScope => InvalidScope,
        InvalidChallengeMethod => InvalidChallengeMethod,
        InvalidChallenge => InvalidChallenge,
        AccessDenied => AccessDenied,
        UnsupportedGrantType => UnsupportedGrantType,
        InvalidGrant => InvalidGrant,
        UnauthorizedRevocation => UnauthorizedRevocation,
    ]
}

fn app_errors() -> [AppError; 15] {
    use RedirectUriError::{Forbidden, Fragment, Invalid, Opaque, Relative, UserInfo, Wildcard};
    every![AppError:
        AppError::NameBlank => AppError::NameBlank,
        AppError::RedirectUriBlank => AppError::RedirectUriBlank,
        AppError::RedirectUri(Forbidden) => AppError::RedirectUri(Forbidden),
        AppError::RedirectUri(Invalid) => AppError::RedirectUri(Invalid),
        AppError::RedirectUri(Relative) => AppError::RedirectUri(Relative),
        AppError::RedirectUri(Opaque) => AppError::RedirectUri(Opaque),
        AppError::RedirectUri(Fragment) => AppError::RedirectUri(Fragment),
        AppError::RedirectUri(UserInfo) => AppError::RedirectUri(UserInfo),
        AppError::RedirectUri(Wildcard) => AppError::RedirectUri(Wildcard),
        AppError::Scopes => AppError::Scopes,
        AppError::NameInvalid => AppError::NameInvalid,
        AppError::NameTooLong => AppError::NameTooLong,
        AppError::WebsiteInvalid => AppError::WebsiteInvalid,
        AppError::WebsiteTooLong => AppError::WebsiteTooLong,
        AppError::RedirectUriTooLong => AppError::RedirectUriTooLong,
    ]
}

fn problems() -> [FieldError; 9] {
    every![FieldError:
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
    every![Field:
        Field::Username => Field::Username,
        Field::Email => Field::Email,
        Field::Password => Field::Password,
        Field::Agreement => Field::Agreement,
    ]
}

fn account_errors() -> impl Iterator<Item = AccountError> {
    fields().into_iter().flat_map(|field| problems().map(|error| AccountError { field, error }))
}

/// Two forms with several mistakes each.
fn invalid() -> (ValidationErrors<AppError>, ValidationErrors<AccountError>) {
    let registration = Registration { website: "no".into(), ..Registration::default() };
    let sign_up = SignUp {
        username: "Alice".into(),
        email: String::new(),
        password: Secret::new("short"),
        agreement: String::new(),
    };
    (registration.validate().unwrap_err(), sign_up.validate().unwrap_err())
}

/// The texts of a language: their keys, and the gaps in each.
fn texts(language: Language) -> BTreeMap<String, BTreeSet<String>> {
    let file = parser::parse(language.source()).unwrap_or_else(|(_, errors)| {
        panic!("{}: {errors:?}", language.code());
    });
    let mut texts = BTreeMap::new();
    for entry in file.body {
        match entry {
            Entry::Message(message) => {
                let mut gaps = BTreeSet::new();
                gather(&message.value.expect("a message has a text"), &mut gaps);
                let key = message.id.name.to_owned();
                assert!(texts.insert(key, gaps).is_none(), "{} twice", message.id.name);
            }
            Entry::Term(_) | Entry::Junk { .. } => panic!("{}: {entry:?}", language.code()),
            Entry::Comment(_) | Entry::GroupComment(_) | Entry::ResourceComment(_) => {}
        }
    }
    texts
}

fn gather(pattern: &Pattern<&str>, gaps: &mut BTreeSet<String>) {
    for element in &pattern.elements {
        let PatternElement::Placeable { expression } = element else { continue };
        let (Expression::Inline(inline) | Expression::Select { selector: inline, .. }) = expression;
        let InlineExpression::VariableReference { id } = inline else {
            panic!("only plain gaps are used: {inline:?}");
        };
        gaps.insert(id.name.to_owned());
        if let Expression::Select { variants, .. } = expression {
            for variant in variants {
                gather(&variant.value, gaps);
            }
        }
    }
}

#[test]
fn every_language_has_the_texts_of_english_with_the_same_gaps() {
    let english = texts(Language::English);
    for language in Language::ALL {
        let own = texts(language);
        for (key, gaps) in &english {
            assert_eq!(own.get(key), Some(gaps), "{}: {key}", language.code());
        }
        for key in own.keys() {
            assert!(english.contains_key(key), "{}: {key} is not in English", language.code());
        }
    }
}

#[test]
fn what_is_asked_for_is_what_there_is() {
    ASKED.take();
    samples::all(Language::English, "Tusky").unwrap();
    for line in ConsentItem::all() {
        let _ = Language::English.text(&messages::consent_item(&line));
    }
    let _ = refusals().map(|error| error.localize(Language::English));
    let _ = app_errors().map(|error| error.localize(Language::English));
    let _: Vec<String> = account_errors().map(|error| error.localize(Language::English)).collect();
    let _ = invalid().0.localize(Language::English);

    let asked = ASKED.take();
    let there: BTreeSet<String> = texts(Language::English).into_keys().collect();
    let missing: Vec<&String> = asked.difference(&there).collect();
    let idle: Vec<&String> = there.difference(&asked).collect();
    assert!(missing.is_empty(), "missing: {missing:?}");
    assert!(idle.is_empty(), "never shown: {idle:?}");
}

#[test]
fn english_says_what_the_api_says() {
    let english = Language::English;
    for error in refusals() {
        assert_eq!(error.localize(english), error.to_string());
    }
    for error in app_errors() {
        assert_eq!(error.localize(english), error.to_string());
    }
    for error in problems() {
        assert_eq!(error.localize(english), error.to_string());
    }
    for field in fields() {
        assert_eq!(english.text(messages::field(field)), field.to_string());
    }
    for error in account_errors() {
        assert_eq!(error.localize(english), error.to_string());
    }
    let (app, account) = invalid();
    assert_eq!(app.localize(english), app.to_string());
    assert_eq!(account.localize(english), account.to_string());
}

#[test]
fn errors_are_whole_in_every_language() {
    for language in Language::ALL {
        let (app, account) = invalid();
        let refusals = refusals().map(|it| it.localize(language));
        let forms = [app.localize(language), account.localize(language)];
        for text in refusals.into_iter().chain(forms) {
            assert!(!text.contains(['{', '$']) && !text.is_empty(), "{text}");
        }
        let missing = OAuthError::Missing(Parameter::GrantType).localize(language);
        assert!(missing.contains("grant_type"), "{missing}");
        let too_long = AppError::WebsiteTooLong.localize(language);
        assert!(too_long.contains("2000"), "{too_long}");
    }
}

#[test]
fn numbers_follow_the_grammar_of_the_language() {
    let said = |language: Language, minutes: usize| {
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
        let text = said(language, minutes);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn only_what_is_foreign_is_set_apart() {
    let text = |value: Value<'_>| Language::English.text_with("consent-allow", "app", value);
    assert_eq!(text(Value::Foreign("Tusky")), "Let \u{2068}Tusky\u{2069} in");
    assert_eq!(text(Value::Own("Tusky")), "Let Tusky in");
    // Attack 99: a name that would end its isolation, or turn the rest of the sentence.
    for name in ["\u{2069}\u{202e}Tusky", "Tus\u{202a}ky\u{2066}", "\u{2067}Tusky\u{202c}"] {
        assert_eq!(text(Value::Foreign(name)), text(Value::Foreign("Tusky")), "{name:?}");
    }
}

#[test]
fn a_key_that_is_nowhere_is_shown_as_it_is() {
    assert_eq!(Language::Arabic.text("no-such-key"), "no-such-key");
}
