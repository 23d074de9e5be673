//! Abuse limits, as handlers apply them.

use std::time::Duration;

use belfry::auth::authentication::{Guess, GuessGuard};
use belfry::config::RateLimitMode;
use belfry::http::AbuseGuard;
use belfry_core::audit::AuditOutcome;
use belfry_core::limits::CountMode;
use belfry_store::AuditFilter;
use serde_json::json;
use tokio::time::timeout;

use crate::support::client::documentation_address;
use crate::support::service::config_with;
use crate::support::{Service, recorded_events};

fn guard_for_address(service: &Service, last_octet: u8) -> AbuseGuard {
    AbuseGuard::new(service.state.clone(), documentation_address(last_octet))
}

async fn count_sign_in(guard: &AbuseGuard, name: &str) -> Result<(), Duration> {
    guard.count_guess(CountMode::Check, &Guess::SignIn(name.to_owned())).await
}

async fn refund_sign_in(guard: &AbuseGuard, name: &str) {
    guard.count_guess(CountMode::Refund, &Guess::SignIn(name.to_owned())).await.unwrap();
}

#[tokio::test]
async fn an_address_has_25_sign_in_attempts_in_5_minutes() {
    let service = Service::start().await;
    let guard = guard_for_address(&service, 1);
    for attempt in 0..25 {
        assert!(count_sign_in(&guard, &format!("name-{attempt}")).await.is_ok(), "{attempt}");
    }
    let retry_after = count_sign_in(&guard, "another").await.unwrap_err();
    assert_eq!(retry_after, Duration::from_mins(5));
    service.clock.advance(300);
    assert!(count_sign_in(&guard, "another").await.is_ok());
}

#[tokio::test]
async fn failed_attempts_from_one_address_do_not_lock_out_another_address() {
    let service = Service::start().await;
    let guard = guard_for_address(&service, 1);
    let other_guard = guard_for_address(&service, 2);
    let mut attempts = 0;
    for _ in 0..20 {
        while count_sign_in(&other_guard, "Alice").await.is_ok() {
            attempts += 1;
        }
        service.clock.advance(300);
    }
    assert!((25..100).contains(&attempts), "{attempts} guesses in 100 minutes");
    assert!(count_sign_in(&guard, "alice").await.is_ok());
}

#[tokio::test]
async fn all_spellings_of_a_name_share_25_attempts_per_hour_and_address() {
    let service = Service::start().await;
    let guard = guard_for_address(&service, 1);
    let mut attempts = 0;
    for round in 0..11 {
        for name in ["alice", "ALICE", " Alice "] {
            attempts += usize::from(count_sign_in(&guard, name).await.is_ok());
        }
        service.clock.advance(if round < 10 { 300 } else { 0 });
    }
    assert_eq!(attempts, 25);
    assert!(count_sign_in(&guard, "bob").await.is_ok(), "other names are admitted");
}

/// An attempt beyond the limit is admitted in shadow mode, but there is nothing to refund.
#[tokio::test]
async fn in_shadow_mode_only_attempts_that_were_counted_are_refunded() {
    let config = config_with(|config| {
        config.limits.mode = RateLimitMode::Shadow;
        config.limits.abuse = toml::from_str("sign_in_name = { requests = 2 }").unwrap();
    });
    let service = Service::start_with(config).await;
    let guard = guard_for_address(&service, 1);
    let shadow_rejections = async || {
        count_sign_in(&guard, "alice").await.unwrap();
        let metrics = service.operator_client().get("/metrics").await.text;
        let series =
            "belfry_rate_limit_decisions_total{limit=\"sign_in_name\",outcome=\"rejected\"} ";
        let line = metrics.lines().find_map(|line| line.strip_prefix(series));
        line.map_or(0, |count| count.parse().unwrap())
    };
    assert_eq!(shadow_rejections().await, 0);
    assert_eq!(shadow_rejections().await, 0);
    for rejections in 1..4 {
        assert_eq!(shadow_rejections().await, rejections);
        refund_sign_in(&guard, "alice").await;
    }
}

#[tokio::test]
async fn only_wrong_passwords_use_up_the_limit() {
    let service = Service::start().await;
    service.user_client("alice").await;
    let login = async |password: &str| {
        let user = json!({ "type": "m.id.user", "user": "alice" });
        let body = json!({ "type": "m.login.password", "identifier": user, "password": password });
        let client = service.anonymous_client();
        client.send("POST /_matrix/client/v3/login", body.to_string()).await.status
    };
    for _ in 0..30 {
        assert_eq!(login("correct horse alice").await, 200);
    }
    service.execute_sql("alter table accounts rename to unavailable");
    for _ in 0..30 {
        assert!(login("wrong").await >= 500);
    }
    service.execute_sql("alter table unavailable rename to accounts");
    for _ in 0..25 {
        assert_eq!(login("wrong").await, 403);
    }
    assert_eq!(login("wrong").await, 429);
    assert_eq!(login("correct horse alice").await, 429, "a correct guess is rejected too");
}

/// A person submits twice, and the browser cancels the first request. A guess is not forgotten.
#[tokio::test]
async fn the_outcome_of_a_guess_counts_even_if_its_client_disconnects() {
    let config = config_with(|config| {
        config.limits.abuse = toml::from_str("sign_in_name = { requests = 1 }").unwrap();
    });
    let service = Service::start_with(config).await;
    service.add_account("alice").await;
    let login = async |password: &str| {
        let user = json!({ "type": "m.id.user", "user": "alice" });
        let body = json!({ "type": "m.login.password", "identifier": user, "password": password });
        let client = service.anonymous_client();
        client.send("POST /_matrix/client/v3/login", body.to_string()).await.status
    };
    let passwords = &service.state.passwords;
    let disconnect_during = async |password: &str| {
        let is_hashing = async {
            while passwords.queue_length() == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            status = login(password) => panic!("{status} before the client disconnected"),
            () = is_hashing => {}
        }
    };
    disconnect_during("correct horse alice").await;
    // A rejected attempt is not counted, so the test can wait for the refund.
    let is_refunded = async {
        while login("correct horse alice").await == 429 {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_mins(1), is_refunded).await.unwrap();
    disconnect_during("wrong").await;
    assert_eq!(login("correct horse alice").await, 429);
    let is_recorded = async {
        let failures = AuditFilter { outcome: Some(AuditOutcome::Failure), ..recorded_events() };
        loop {
            service.state.flush_audit().await;
            let events = service.store().audit_events(failures, 10).await.unwrap();
            if events.iter().any(|event| event.kind == "sign_in") {
                break;
            }
        }
    };
    timeout(Duration::from_mins(1), is_recorded).await.unwrap();
    assert_eq!(login("correct horse alice").await, 429);
}

#[tokio::test]
async fn only_wrong_client_secrets_are_counted() {
    let service = Service::start().await;
    let guard = guard_for_address(&service, 1);
    let other_guard = guard_for_address(&service, 2);
    for _ in 0..100 {
        assert!(guard.check_client_secret("app", None).await.is_ok());
    }
    let mut wrong_secrets = 0;
    while guard.check_client_secret("app", None).await.is_ok() {
        guard.count_wrong_client_secret("app", None).await;
        wrong_secrets += 1;
        assert!(wrong_secrets < 1000);
    }
    assert_eq!(wrong_secrets, 25);
    assert!(
        other_guard.check_client_secret("app", None).await.is_ok(),
        "the real client is served"
    );
    assert!(guard.check_client_secret("other", None).await.is_ok());
    service.clock.advance(300);
    assert!(guard.check_client_secret("app", None).await.is_ok());
}

#[tokio::test]
async fn an_address_can_register_30_apps_in_10_minutes() {
    let service = Service::start().await;
    let guard = guard_for_address(&service, 1);
    let other_guard = guard_for_address(&service, 2);
    for _ in 0..30 {
        assert!(guard.count_app_registration().await.is_ok());
    }
    assert!(guard.count_app_registration().await.is_err());
    assert!(other_guard.count_app_registration().await.is_ok());
}

#[tokio::test]
async fn mode_and_settings_apply_to_abuse_limits() {
    for mode in [RateLimitMode::Shadow, RateLimitMode::Off] {
        let service = Service::start_with(config_with(|config| config.limits.mode = mode)).await;
        for _ in 0..100 {
            assert!(
                count_sign_in(&guard_for_address(&service, 1), "alice").await.is_ok(),
                "{mode:?}"
            );
        }
    }
    let settings = "sign_in_name = { requests = 2 }\napp_registration = false";
    let abuse = toml::from_str(settings).unwrap();
    let service = Service::start_with(config_with(|config| config.limits.abuse = abuse)).await;
    let guard = guard_for_address(&service, 1);
    assert!(
        count_sign_in(&guard, "alice").await.is_ok()
            && count_sign_in(&guard, "alice").await.is_ok()
    );
    assert!(count_sign_in(&guard, "alice").await.is_err());
    for _ in 0..100 {
        assert!(guard.count_app_registration().await.is_ok());
    }
}
