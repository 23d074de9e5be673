use proptest::prelude::*;

use super::*;

#[test]
fn a_name_is_1_to_30_small_letters_digits_and_underscores() {
    for (name, found) in [
        ("a", Ok(())),
        ("alice_2", Ok(())),
        ("_", Ok(())),
        ("0", Ok(())),
        ("abcdefghijklmnopqrstuvwxyz_123", Ok(())),
        ("abcdefghijklmnopqrstuvwxyz_1234", Err(FieldError::TooLong(30))),
        ("", Err(FieldError::Blank)),
        ("Alice", Err(FieldError::NameInvalid)),
        ("al ice", Err(FieldError::NameInvalid)),
        ("al-ice", Err(FieldError::NameInvalid)),
        ("al.ice", Err(FieldError::NameInvalid)),
        ("@alice", Err(FieldError::NameInvalid)),
        ("alice:a", Err(FieldError::NameInvalid)),
        ("alicé", Err(FieldError::NameInvalid)),
        ("аlice", Err(FieldError::NameInvalid)), // a Cyrillic letter
        ("alice\n", Err(FieldError::NameInvalid)),
        ("alice\0", Err(FieldError::NameInvalid)),
    ] {
        assert_eq!(check_name(name), found, "{name:?}");
    }
}

#[test]
fn a_reserved_name_is_for_those_who_run_the_server() {
    for name in ["admin", "root", "support", "webmaster"] {
        assert_eq!(check_name(name), Ok(()));
        assert_eq!(check_free_name(name), Err(FieldError::Reserved), "{name}");
    }
    assert_eq!(check_free_name("administer"), Ok(()));
    assert_eq!(check_free_name(""), Err(FieldError::Blank));
}

#[test]
fn every_reserved_name_could_be_asked_for() {
    for name in RESERVED.split_ascii_whitespace() {
        assert_eq!(check_name(name), Ok(()), "{name}");
    }
}

#[test]
fn an_address_has_two_sides() {
    for good in [
        "a@b",
        "a@localhost",
        "alice+list@mail.a.example",
        "a.b-c_d'e@x-y.example",
        "käse@münchen.example",
    ] {
        assert_eq!(check_email(good), Ok(()), "{good}");
    }
    for bad in [
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
        assert_eq!(check_email(bad), Err(FieldError::EmailInvalid), "{bad:?}");
    }
    assert_eq!(check_email(" "), Err(FieldError::Blank));
    let (longest, longer) = ("a".repeat(318) + "@b", "a".repeat(319) + "@b");
    assert_eq!(check_email(&longest), Ok(()));
    assert_eq!(check_email(&longer), Err(FieldError::TooLong(320)));
}

// Attack 114.
#[test]
fn a_password_has_8_to_128_characters_whatever_they_are() {
    for (password, found) in [
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
        assert_eq!(check_password(&Secret::new(password.as_str())), found, "{password:?}");
    }
}

// Attack 116.
#[test]
fn a_password_that_everybody_takes_is_refused() {
    for common in ["12345678", "password1", "PassWord1", "qwertyuiop", "aaaaaaaaaa", "ñññññññññ"]
    {
        let found = check_password(&Secret::new(common));
        assert_eq!(found, Err(FieldError::PasswordCommon), "{common}");
    }
    for uncommon in ["correct horse", "password1 of mine", "aaaaaaaab"] {
        assert_eq!(check_password(&Secret::new(uncommon)), Ok(()), "{uncommon}");
    }
}

#[test]
fn the_list_of_common_passwords_holds_what_could_be_chosen() {
    let listed: Vec<&str> = COMMON.lines().collect();
    assert!(listed.len() > 300);
    assert!(listed.is_sorted());
    for common in listed {
        assert_eq!(
            check_password(&Secret::new(common)),
            Err(FieldError::PasswordCommon),
            "{common}"
        );
    }
}

proptest! {
    #[test]
    fn an_address_that_is_taken_is_one_line(email in ".{0,5}@.{0,5}") {
        if check_email(&email).is_ok() {
            prop_assert!(!email.contains(char::is_control));
            prop_assert_eq!(email.matches('@').count(), 1);
        }
    }
}
