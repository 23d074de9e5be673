use super::*;

fn network(last_octet: u8) -> Network {
    Network::from_address([192, 0, 2, last_octet].into())
}

fn secret(text: &str) -> Secret {
    Secret::new(text)
}

#[tokio::test]
async fn only_the_correct_password_is_accepted() {
    let passwords = Passwords::new(None);
    let hash = passwords.hash(secret("correct horse")).await.unwrap();
    assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");

    let verify = async |text, hash| passwords.verify(secret(text), hash, network(1)).await;
    assert_eq!(verify("correct horse", Some(hash.clone())).await, Ok(true));
    assert_eq!(verify("correct horse ", Some(hash.clone())).await, Ok(false));
    assert_eq!(verify("", Some(hash)).await, Ok(false));
    assert_eq!(verify("correct horse", Some("damaged".to_owned())).await, Ok(false));
}

/// If the parameters are raised, old hashes are still accepted, and are replaced at sign-in.
#[tokio::test]
async fn a_hash_with_weaker_parameters_is_verified_and_needs_a_rehash() {
    let hash_with = |algorithm, version, memory, passes| {
        let params = Params::new(memory, passes, 1, None).unwrap();
        let password_hash: PasswordHash = Argon2::new(algorithm, version, params)
            .hash_password_with_salt(b"correct horse", b"a salt of its own")
            .unwrap();
        password_hash.to_string()
    };
    let passwords = Passwords::new(None);
    let argon2id = Algorithm::Argon2id;
    let version = Version::V0x13;
    for (hash, is_weak) in [
        (hash_with(argon2id, version, 19 * 1024, 2), false),
        (hash_with(argon2id, version, 20 * 1024, 3), false),
        (hash_with(argon2id, version, 8 * 1024, 2), true),
        (hash_with(argon2id, version, 19 * 1024, 1), true),
        (hash_with(Algorithm::Argon2i, version, 19 * 1024, 2), true),
        (hash_with(Algorithm::Argon2d, version, 19 * 1024, 2), true),
        (hash_with(argon2id, Version::V0x10, 19 * 1024, 2), true),
    ] {
        assert_eq!(needs_rehash(&hash, "correct horse"), is_weak, "{hash}");
        let result =
            passwords.verify(secret("correct horse"), Some(hash.clone()), network(1)).await;
        assert_eq!(result, Ok(true), "{hash}");
        assert_eq!(passwords.verify(secret("wrong"), Some(hash), network(1)).await, Ok(false));
    }
    assert!(!needs_rehash("damaged", "correct horse"), "no password can match it");
}

#[tokio::test]
async fn two_hashes_of_one_password_differ() {
    let passwords = Passwords::new(None);
    let (hash, other_hash) = tokio::join!(passwords.hash(secret("a")), passwords.hash(secret("a")));
    assert_ne!(hash.unwrap(), other_hash.unwrap());
}

#[tokio::test]
async fn a_hash_is_computed_even_for_an_unknown_account() {
    PasswordHash::new(DUMMY_HASH).expect("an invalid hash would be rejected without hashing");
    let passwords = Passwords::new(None);
    assert_eq!(passwords.verify(secret(""), None, network(1)).await, Ok(false));
    assert_eq!(passwords.hash_count.get(), 1);
}

#[tokio::test]
async fn requests_beyond_the_queue_length_are_rejected_immediately() {
    let passwords = Passwords::new(NonZeroUsize::new(1));
    let permits = passwords.queue_places.clone().acquire_many_owned(33).await.unwrap();
    assert_eq!(passwords.hash(secret("a")).await.unwrap_err(), HashQueueFull);
    assert_eq!(passwords.verify(secret("a"), None, network(1)).await, Err(HashQueueFull));
    // A password that is too long needs no place in the queue.
    assert_eq!(passwords.verify(secret(&"a".repeat(129)), None, network(1)).await, Ok(false));
    drop(permits);
    assert!(passwords.hash(secret("a")).await.is_ok());
}

#[tokio::test]
async fn networks_with_a_sign_in_have_reserved_places_in_the_queue() {
    let passwords = Passwords::new(NonZeroUsize::new(1));
    let hash = passwords.hash(secret("correct horse")).await.unwrap();
    let verify =
        async |text, network| passwords.verify(secret(text), Some(hash.clone()), network).await;
    assert_eq!(verify("correct horse", network(1)).await, Ok(true));
    assert_eq!(verify("wrong", network(2)).await, Ok(false));
    // Others fill the queue.
    let _permits = passwords.queue_places.clone().acquire_many_owned(33).await.unwrap();
    assert_eq!(verify("correct horse", network(2)).await, Err(HashQueueFull));
    assert_eq!(verify("correct horse", network(1)).await, Ok(true));
    assert_eq!(verify("wrong", network(1)).await, Ok(false));
    let _reserved_permits = passwords.reserved_places.clone().acquire_many_owned(8).await.unwrap();
    assert_eq!(verify("correct horse", network(1)).await, Err(HashQueueFull));
}

/// Hashes from other programs: crypt(3) of libxcrypt, and the reference implementation of Argon2.
const HASHES_FROM_OTHER_SYSTEMS: [(&str, &str); 5] = [
    ("correct horse", "$2a$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e"),
    ("correct horse", "$2b$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e"),
    ("correct horse", "$2y$05$abcdefghijklmnopqrstuuHNbAKRhpaujgo33bRWs.NLUTJO3lOy2"),
    ("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
    (
        "password",
        "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
    ),
];

#[tokio::test]
async fn hashes_from_other_systems_are_verified() {
    let passwords = Passwords::new(None);
    for (password, hash) in HASHES_FROM_OTHER_SYSTEMS {
        let verify = async |text: &str| {
            passwords.verify(secret(text), Some(hash.to_owned()), network(1)).await
        };
        assert_eq!(verify(password).await, Ok(true), "{hash}");
        let wrong_passwords = [format!("{password} "), format!("{password}\0"), String::new()];
        for wrong_password in &wrong_passwords {
            assert_eq!(verify(wrong_password).await, Ok(false), "{hash} {wrong_password:?}");
        }
        let is_argon2 = hash.starts_with("$argon2id$");
        assert_eq!(needs_rehash(hash, password), !is_argon2, "{hash}");
    }
}

/// bcrypt repeats its key, so `U*U` and this password would have the same hash.
#[tokio::test]
async fn a_password_with_a_nul_never_matches_a_bcrypt_hash() {
    let passwords = Passwords::new(None);
    let hash = "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";
    let result = passwords.verify(secret("U*U\0U*U"), Some(hash.to_owned()), network(1)).await;
    assert_eq!(result, Ok(false));
    assert_eq!(passwords.hash_count.get(), 1, "it takes the same time");
}

/// The hash is from crypt(3) of libxcrypt.
#[tokio::test]
async fn a_password_that_bcrypt_truncates_to_72_bytes_is_not_rehashed() {
    let passwords = Passwords::new(None);
    let hash = "$2b$04$abcdefghijklmnopqrstuubzadhGtS2zEF.gu0yd0opP6cVzb.e0i";
    for (length, is_match, needs_new_hash) in
        [(71, false, true), (72, true, true), (100, true, false)]
    {
        let password = "x".repeat(length);
        let result = passwords.verify(secret(&password), Some(hash.to_owned()), network(1)).await;
        assert_eq!(result, Ok(is_match), "{length}");
        assert_eq!(needs_rehash(hash, &password), needs_new_hash, "{length}");
    }
}

#[tokio::test]
async fn a_hash_that_is_too_expensive_is_not_computed() {
    let passwords = Passwords::new(None);
    let expensive_hash = "$2a$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";
    let result = passwords.verify(secret("U*U"), Some(expensive_hash.to_owned()), network(1)).await;
    assert_eq!(result, Ok(false));
}
