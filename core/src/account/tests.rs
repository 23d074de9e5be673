//! Tests of name, e-mail address and password validation.

use proptest::prelude::*;

use super::*;

#[test]
fn a_chosen_name_is_1_to_30_letters_digits_and_underscores_with_dots_and_hyphens_inside() {
    for (name, expected) in [
        ("a", Ok(())),
        ("alice_2", Ok(())),
        ("_", Ok(())),
        ("0", Ok(())),
        ("abcdefghijklmnopqrstuvwxyz_123", Ok(())),
        ("abcdefghijklmnopqrstuvwxyz_1234", Err(FieldError::TooLong(30))),
        ("", Err(FieldError::Blank)),
        ("Alice", Err(FieldError::NameInvalid)),
        ("al ice", Err(FieldError::NameInvalid)),
        ("al-ice", Ok(())),
        ("al.ice", Ok(())),
        ("a.-.b", Ok(())),
        ("_.-_", Ok(())),
        (".alice", Err(FieldError::NameInvalid)),
        ("alice.", Err(FieldError::NameInvalid)),
        ("-alice", Err(FieldError::NameInvalid)),
        ("alice-", Err(FieldError::NameInvalid)),
        (".", Err(FieldError::NameInvalid)),
        ("al/ice", Err(FieldError::NameInvalid)),
        ("al=ice", Err(FieldError::NameInvalid)),
        ("@alice", Err(FieldError::NameInvalid)),
        ("alice:a", Err(FieldError::NameInvalid)),
        ("alicé", Err(FieldError::NameInvalid)),
        ("аlice", Err(FieldError::NameInvalid)), // a Cyrillic letter
        ("alice\n", Err(FieldError::NameInvalid)),
        ("alice\0", Err(FieldError::NameInvalid)),
    ] {
        assert_eq!(check_sign_up_name(name), expected, "{name:?}");
    }
}

#[test]
fn a_name_follows_matrix_grammar_and_capitals_are_converted() {
    let longest_name = "a".repeat(64);
    for (text, expected) in [
        ("alice", Ok("alice")),
        ("Alice", Ok("alice")),
        ("-a.b_c=d-e/f.", Ok("-a.b_c=d-e/f.")),
        ("/", Ok("/")),
        (&*longest_name, Ok(&*longest_name)),
        (&format!("{longest_name}a"), Err(NameError::TooLong)),
        ("", Err(NameError::Blank)),
        ("al ice", Err(NameError::Invalid)),
        ("@alice", Err(NameError::Invalid)),
        ("alice:a", Err(NameError::Invalid)),
        ("a+b", Err(NameError::Invalid)),
        ("alicé", Err(NameError::Invalid)),
        // The Kelvin sign, whose lower case is the letter k.
        ("\u{212a}im", Err(NameError::Invalid)),
        ("alice\n", Err(NameError::Invalid)),
        ("alice\0", Err(NameError::Invalid)),
    ] {
        assert_eq!(parse_name(text), expected.map(str::to_owned), "{text:?}");
    }
}

#[test]
fn only_operators_may_use_a_reserved_name() {
    for name in RESERVED_NAMES.split_ascii_whitespace() {
        assert_eq!(check_name(name), Ok(()), "{name}");
        assert_eq!(check_sign_up_name(name), Err(FieldError::Reserved), "{name}");
    }
    assert_eq!(check_sign_up_name("administer"), Ok(()));
}

#[test]
fn an_email_address_has_a_local_part_and_a_domain() {
    for email in [
        "a@b",
        "a@localhost",
        "alice+list@mail.a.example",
        "a.b-c_d'e@x-y.example",
        "käse@münchen.example",
    ] {
        assert_eq!(check_email(email), Ok(()), "{email}");
    }
    for email in [
        "alice",
        "@a.example",
        "alice@",
        "a@b@c",
        "a b@c",
        "a@b c",
        "a@b..c",
        "a@.b",
        "a@b.",
        "a@-b",
        "a@b-",
        "a@b\n",
        "a\0@b",
        "Alice <a@b>",
        "a,b@c",
        "a@b/c",
        "a@b\r\nBcc: c@d",
    ] {
        assert_eq!(check_email(email), Err(FieldError::EmailInvalid), "{email:?}");
    }
    assert_eq!(check_email(" "), Err(FieldError::Blank));
    let longest_email = "a".repeat(318) + "@b";
    let too_long_email = "a".repeat(319) + "@b";
    assert_eq!(check_email(&longest_email), Ok(()));
    assert_eq!(check_email(&too_long_email), Err(FieldError::TooLong(320)));
}

#[test]
fn a_password_is_8_to_128_arbitrary_characters() {
    for (password, expected) in [
        (String::new(), Err(FieldError::Blank)),
        (" ".repeat(10), Err(FieldError::Blank)),
        ("1234567".into(), Err(FieldError::TooShort(8))),
        ("1234567x".into(), Ok(())),
        (" 1234567 ".into(), Ok(())),
        ("1234567\0".into(), Ok(())),
        ("né".repeat(64), Ok(())),
        ("é".repeat(129), Err(FieldError::TooLong(128))),
        ("a".repeat(65_536), Err(FieldError::TooLong(128))),
    ] {
        assert_eq!(check_password(&Secret::new(password.as_str()), []), expected, "{password:?}");
    }
}

#[test]
fn a_common_password_is_rejected() {
    for password in ["12345678", "password1", "PassWord1", "qwertyuiop", "aaaaaaaaaa", "ñññññññññ"]
    {
        let result = check_password(&Secret::new(password), []);
        assert_eq!(result, Err(FieldError::PasswordCommon), "{password}");
    }
    for password in ["correct horse", "password1 of mine", "aaaaaaaab"] {
        assert_eq!(check_password(&Secret::new(password), []), Ok(()), "{password}");
    }
}

#[test]
fn a_password_that_resembles_the_name_or_email_is_rejected() {
    let check_for_alice =
        |password| check_password(&Secret::new(password), ["alice_1999", "é@a.example"]);
    for password in [
        "alice_1999",
        "Alice_1999",
        " alice_1999 ",
        "é@a.example",
        "É@A.Example",
        "Alice2026",
        "@alice_1999!",
        "é@a.example1",
    ] {
        assert_eq!(check_for_alice(password), Err(FieldError::PasswordCommon), "{password}");
    }
    for password in ["alice_bob", "alice's cat", "2026-11-18", "alice_1999 and bob"] {
        assert_eq!(check_for_alice(password), Ok(()), "{password}");
    }
    let digits = check_password(&Secret::new("1999-2026"), ["1999"]);
    assert_eq!(digits, Ok(()), "a name without letters matches only itself");
}

#[test]
fn every_listed_password_is_rejected_as_common() {
    let passwords: Vec<&str> = COMMON_PASSWORDS.lines().collect();
    assert!(passwords.len() > 300);
    assert!(passwords.is_sorted());
    for password in passwords {
        assert_eq!(
            check_password(&Secret::new(password), []),
            Err(FieldError::PasswordCommon),
            "{password}"
        );
    }
}

proptest! {
    #[test]
    fn a_valid_email_address_has_one_at_sign_and_no_control_character(email in ".{0,5}@.{0,5}") {
        if check_email(&email).is_ok() {
            prop_assert!(!email.contains(char::is_control));
            prop_assert_eq!(email.matches('@').count(), 1);
        }
    }
}
