use proptest::prelude::*;

use super::*;

/// Salt and hash of `correct horse`, computed by libxcrypt's crypt(3) with cost 4.
const SALT_AND_HASH: &str = "abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e";

const ARGON2_HASH: &str =
    "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";

fn parse_bcrypt(text: &str) -> Bcrypt {
    let Ok(PasswordHash::Bcrypt(hash)) = PasswordHash::parse(text) else { panic!("{text}") };
    hash
}

#[test]
fn all_forms_of_bcrypt_are_parsed() {
    let hashes =
        ["2a", "2b", "2y"].map(|form| parse_bcrypt(&format!("${form}$04${SALT_AND_HASH}")));
    assert!(hashes.iter().all(|hash| *hash == hashes[0]));
    assert_eq!(hashes[0].cost, 4);
    assert_eq!(hashes[0].salt[..3], [0x71, 0xd7, 0x9f]);
    // The last character of this salt has unused bits.
    let hash_with_unused_bits =
        parse_bcrypt(&format!("$2b$04${}", SALT_AND_HASH.replace("tuuj", "tuvj")));
    assert_eq!(hash_with_unused_bits, hashes[0]);
}

#[test]
fn a_bcrypt_digest_is_compared_without_its_last_byte() {
    let hash = parse_bcrypt(&format!("$2b$04${SALT_AND_HASH}"));
    let mut computed = [0; 24];
    computed[..23].copy_from_slice(&hash.digest);
    assert!(hash.matches(&computed));
    computed[23] = 7;
    assert!(hash.matches(&computed), "the last byte is not stored");
    computed[22] ^= 1;
    assert!(!hash.matches(&computed));
}

#[test]
fn a_bcrypt_key_is_the_password_and_a_nul_up_to_72_bytes() {
    for (password, key) in [
        (String::new(), vec![0]),
        ("ab".to_owned(), b"ab\0".to_vec()),
        ("é".to_owned(), b"\xc3\xa9\0".to_vec()),
        ("x".repeat(71), [vec![b'x'; 71], vec![0]].concat()),
        ("x".repeat(72), vec![b'x'; 72]),
        ("x".repeat(100), vec![b'x'; 72]),
    ] {
        assert_eq!(Bcrypt::key(&password), key, "{password}");
    }
}

#[test]
fn a_bcrypt_hash_covers_passwords_of_at_most_72_bytes() {
    let hash = PasswordHash::Bcrypt(parse_bcrypt(&format!("$2b$04${SALT_AND_HASH}")));
    assert!(hash.covers_whole_password(&"x".repeat(72)));
    assert!(!hash.covers_whole_password(&"x".repeat(73)));
    assert!(!hash.covers_whole_password(&"é".repeat(37)));
    assert!(PasswordHash::Argon2.covers_whole_password(&"x".repeat(128)));
}

#[test]
fn a_password_with_a_nul_can_match_only_argon2() {
    let bcrypt = PasswordHash::Bcrypt(parse_bcrypt(&format!("$2b$04${SALT_AND_HASH}")));
    assert!(bcrypt.can_match("correct horse"));
    assert!(!bcrypt.can_match("correct\0horse"));
    assert!(PasswordHash::parse(ARGON2_HASH).unwrap().can_match("correct\0horse"));
}

#[test]
fn argon2_hashes_of_other_systems_are_accepted() {
    for text in [
        ARGON2_HASH.to_owned(),
        ARGON2_HASH.replace("argon2id", "argon2i"),
        ARGON2_HASH.replace("v=19", "v=16"),
        ARGON2_HASH.replace("m=65536,t=2,p=1", "m=102400,t=2,p=8"),
        ARGON2_HASH.replace("m=65536,t=2,p=1", "m=65536,t=4,p=1"),
    ] {
        assert_eq!(PasswordHash::parse(&text), Ok(PasswordHash::Argon2), "{text}");
    }
}

#[test]
fn expensive_parameters_are_rejected() {
    let argon2 = |parameters| ARGON2_HASH.replace("m=65536,t=2,p=1", parameters);
    for (text, parameter, max) in [
        (format!("$2b$15${SALT_AND_HASH}"), "bcrypt cost", 14),
        (format!("$2b$31${SALT_AND_HASH}"), "bcrypt cost", 14),
        (argon2("m=131073,t=1,p=1"), "memory in KiB", 131_072),
        (argon2("m=4294967296,t=1,p=1"), "memory in KiB", 131_072),
        (argon2("m=131072,t=5,p=1"), "product of memory (KiB) and passes", 524_288),
        (argon2("m=131072,t=4294967295,p=1"), "product of memory (KiB) and passes", 524_288),
        (argon2("m=65536,t=1,p=17"), "number of lanes", 16),
    ] {
        let expected = PasswordHashError::TooExpensive { parameter, max };
        assert_eq!(PasswordHash::parse(&text), Err(expected), "{text}");
    }
    for text in [format!("$2b$14${SALT_AND_HASH}"), argon2("m=131072,t=4,p=16")] {
        assert!(PasswordHash::parse(&text).is_ok(), "{text}");
    }
}

#[test]
fn an_unsupported_or_malformed_hash_is_rejected() {
    let unknown_format = PasswordHashError::UnknownFormat;
    for (text, error) in [
        (String::new(), unknown_format),
        ("!".to_owned(), unknown_format),
        ("correct horse".to_owned(), unknown_format),
        ("5f4dcc3b5aa765d61d8327deb882cf99".to_owned(), unknown_format),
        ("$1$salt$qJH7.N4xYta3aEG/dfqo/0".to_owned(), unknown_format),
        ("$6$salt$hash".to_owned(), unknown_format),
        ("$pbkdf2$1000$AAAA$AAAAAAAAAAAAAAAAAAAAAA".to_owned(), unknown_format),
        ("$scrypt$ln=16,r=8,p=1$AAAA$AAAA".to_owned(), unknown_format),
        (format!("$2x$04${SALT_AND_HASH}"), unknown_format),
        (format!("$2b$04${SALT_AND_HASH}\0"), unknown_format),
        (format!("$2b$04${SALT_AND_HASH}é"), unknown_format),
        (format!("$2b$04${SALT_AND_HASH}{}", "x".repeat(500)), unknown_format),
        (format!("$2b$04${}", &SALT_AND_HASH[1..]), MALFORMED_BCRYPT),
        (format!("$2b$04${SALT_AND_HASH}x"), MALFORMED_BCRYPT),
        (format!("$2b$03${SALT_AND_HASH}"), MALFORMED_BCRYPT),
        (format!("$2b$4${SALT_AND_HASH}"), MALFORMED_BCRYPT),
        (format!("$2b$+4${SALT_AND_HASH}"), MALFORMED_BCRYPT),
        ("$2b$04$short".to_owned(), MALFORMED_BCRYPT),
        ("$2b$04".to_owned(), MALFORMED_BCRYPT),
        (ARGON2_HASH.replace("v=19$", ""), MALFORMED_ARGON2),
        (ARGON2_HASH.replace("v=19", "v=18"), MALFORMED_ARGON2),
        (ARGON2_HASH.replace("m=65536,t=2", "t=2,m=65536"), MALFORMED_ARGON2),
        (ARGON2_HASH.replace("p=1", "p=1,data=AAAA"), MALFORMED_ARGON2),
        (ARGON2_HASH.replace("p=1", "p=1,2"), MALFORMED_ARGON2),
        (ARGON2_HASH.replace("t=2", "t=0"), MALFORMED_ARGON2),
        (ARGON2_HASH.replace("p=1", "p=0"), MALFORMED_ARGON2),
        (ARGON2_HASH.replace("m=65536", "m=7"), MALFORMED_ARGON2),
        (ARGON2_HASH.replace("c29tZXNhbHQ", "c29t"), MALFORMED_ARGON2),
        (ARGON2_HASH.replace("RPPc", "RPP"), MALFORMED_ARGON2),
        (ARGON2_HASH.replace("CTFhFdXPJO1aFaMaO6Mm5c8y7", ""), MALFORMED_ARGON2),
    ] {
        assert_eq!(PasswordHash::parse(&text), Err(error), "{text}");
    }
}

#[test]
fn an_error_names_the_expected_format_and_does_not_repeat_the_hash() {
    for (text, message) in [
        ("md5$x", "must be a hash by Argon2 or bcrypt: $argon2id$… or $2b$…"),
        (
            "$2b$04$x",
            "is malformed; expected $2b$12$ followed by 53 characters: the salt and the hash",
        ),
        (
            "$argon2id$v=19$m=131073,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
            "is too expensive to verify at each sign-in: its memory in KiB is above 131072",
        ),
    ] {
        assert_eq!(PasswordHash::parse(text).unwrap_err().to_string(), message);
    }
}

proptest! {
    #[test]
    fn parsing_never_panics(text in "(\\$|argon2id|2b|[mtp]=|[0-9.,/A-z$]){0,12}") {
        let _ = PasswordHash::parse(&text);
    }

    #[test]
    fn accepted_hashes_have_a_bounded_cost(
        cost in 0_u32..100,
        memory: u32,
        passes: u32,
    ) {
        let bcrypt = PasswordHash::parse(&format!("$2b${cost:02}${SALT_AND_HASH}"));
        prop_assert_eq!(bcrypt.is_ok(), (4..=MAX_BCRYPT_COST).contains(&cost));
        let memory = memory % (2 * MAX_ARGON2_MEMORY_KIB);
        let passes = passes % 10;
        let argon2 = PasswordHash::parse(&ARGON2_HASH.replace("m=65536,t=2", &format!("m={memory},t={passes}")));
        let is_cheap =
            memory <= MAX_ARGON2_MEMORY_KIB && memory * passes <= MAX_ARGON2_MEMORY_PASSES;
        prop_assert_eq!(argon2.is_ok(), is_cheap && memory >= 8 && passes > 0);
    }
}
