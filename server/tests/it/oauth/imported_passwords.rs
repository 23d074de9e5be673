//! Sign-in with password hashes that were imported from other systems.

use std::collections::HashMap;

use belfry_core::import::{AccountFileReader, ImportLimits};
use belfry_core::rules::{NewRuleLimits, RuleLimits};
use serde_json::json;

use crate::support::service::unlimited_config;
use crate::support::{Service, TestResponse, any_events};

/// Hashes of `correct horse`, computed by libxcrypt's crypt(3).
const HASHES: [&str; 3] = [
    "$2a$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e",
    "$2b$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e",
    "$2y$05$abcdefghijklmnopqrstuuHNbAKRhpaujgo33bRWs.NLUTJO3lOy2",
];

/// The bcrypt hash of 72 `x`s. It also verifies longer passwords of `x`s, because bcrypt ignores
/// the bytes after the 72nd.
const LONG_PASSWORD_HASH: &str = "$2b$04$abcdefghijklmnopqrstuubzadhGtS2zEF.gu0yd0opP6cVzb.e0i";

/// Creates a service with the accounts `n0`, `n1` … that have the given hashes.
async fn start_with_hashes(hashes: &[&str]) -> Service {
    let service = Service::start_with(unlimited_config()).await;
    let rules = RuleLimits { rules: 0, bytes: 0 };
    let limits = ImportLimits { rules, rule: NewRuleLimits::default() };
    let mut reader = AccountFileReader::new(limits, HashMap::new(), service.now());
    let imported_account = |(number, hash): (usize, &&str)| {
        let name = format!("n{number}");
        let email = format!("n{number}@example.org");
        let line = json!({ "name": name, "email": email }).to_string();
        let mut account = reader.parse_line(line.as_bytes()).unwrap().unwrap();
        // Set directly, because the file format rejects damaged hashes.
        account.password_hash = Some((*hash).to_owned());
        account
    };
    let imports = hashes.iter().enumerate().map(imported_account).collect();
    service.store().import_accounts(&any_events(), service.now(), imports).await.unwrap();
    service
}

async fn log_in(service: &Service, name: &str, password: &str) -> TestResponse {
    let body = json!({ "type": "m.login.password", "user": name, "password": password });
    service.anonymous_client().send("POST /_matrix/client/v3/login", body.to_string()).await
}

async fn sign_in(service: &Service, name: &str, password: &str) -> TestResponse {
    let mut browser = service.browser();
    let page = browser.get("/oauth/sign_in").await;
    let fields = [("username", name), ("password", password)];
    browser.submit(&page, "/oauth/sign_in", &fields).await
}

async fn stored_hash(service: &Service, name: &str) -> String {
    service.store().account_by_name(name).await.unwrap().unwrap().password_hash
}

#[tokio::test]
async fn an_imported_hash_verifies_the_password_and_is_replaced_at_the_first_sign_in() {
    let service = start_with_hashes(&HASHES).await;
    for (number, hash) in HASHES.into_iter().enumerate() {
        let name = format!("n{number}");
        for wrong_password in ["wrong horse", "correct horse ", "correct horse\0", ""] {
            assert_eq!(
                log_in(&service, &name, wrong_password).await.status,
                403,
                "{hash} {wrong_password:?}"
            );
        }
        assert_eq!(sign_in(&service, &name, "wrong horse").await.status, 401, "{hash}");
        assert_eq!(stored_hash(&service, &name).await, hash);
        // By name in a client, or by e-mail address in a browser.
        if number % 2 == 0 {
            assert_eq!(log_in(&service, &name, "correct horse").await.status, 200, "{hash}");
        } else {
            let email = format!("{name}@example.org");
            assert_eq!(sign_in(&service, &email, "correct horse").await.status, 303, "{hash}");
        }
        let new_hash = stored_hash(&service, &name).await;
        assert!(new_hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{new_hash}");
        assert_eq!(log_in(&service, &name, "correct horse").await.status, 200, "{hash}");
        assert_eq!(log_in(&service, &name, "wrong horse").await.status, 403, "{hash}");
        assert_eq!(stored_hash(&service, &name).await, new_hash, "it is replaced once");
    }
}

/// bcrypt ignores all bytes after the 72nd. If a new hash included them, a typing error in them
/// would become part of the password.
#[tokio::test]
async fn a_password_longer_than_72_bytes_verifies_with_bcrypt_and_is_not_rehashed() {
    let service = start_with_hashes(&[LONG_PASSWORD_HASH]).await;
    for length in [73, 100, 128] {
        assert_eq!(log_in(&service, "n0", &"x".repeat(length)).await.status, 200, "{length}");
        assert_eq!(stored_hash(&service, "n0").await, LONG_PASSWORD_HASH, "{length}");
    }
    assert_eq!(log_in(&service, "n0", &"x".repeat(71)).await.status, 403);
    assert_eq!(log_in(&service, "n0", &"x".repeat(129)).await.status, 403);
    assert_eq!(log_in(&service, "n0", &"x".repeat(72)).await.status, 200);
    assert!(stored_hash(&service, "n0").await.starts_with("$argon2id$"));
    assert_eq!(log_in(&service, "n0", &"x".repeat(73)).await.status, 403);
}

/// The stored hash is checked again, because it may not come from an import.
#[tokio::test]
async fn a_stored_hash_that_is_damaged_or_too_expensive_verifies_nothing() {
    let expensive = "$2b$31$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e";
    let service = start_with_hashes(&["damaged", expensive, "$2b$04$short"]).await;
    for name in ["n0", "n1", "n2"] {
        assert_eq!(log_in(&service, name, "correct horse").await.status, 403, "{name}");
    }
}
