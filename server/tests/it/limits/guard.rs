//! Abuse limits, as handlers apply them.

use std::sync::Arc;
use std::time::Duration;

use belfry::auth::authentication::{Guess, GuessGuard};
use belfry::config::LimitMode;
use belfry::http::AbuseGuard;
use belfry_core::limits::CountMode;

use serde_json::json;

use crate::support::Service;
use crate::support::client::address;
use crate::support::service::config_with;

fn guard(service: &Service, last_octet: u8) -> AbuseGuard {
    AbuseGuard::new(Arc::clone(&service.state), address(last_octet))
}

async fn sign_in(guard: &AbuseGuard, name: &str) -> Result<(), Duration> {
    guard.count(CountMode::Check, Guess::SignIn(name)).await
}

async fn refund(guard: &AbuseGuard, name: &str) {
    guard.count(CountMode::Refund, Guess::SignIn(name)).await.unwrap();
}

#[tokio::test]
async fn an_address_has_25_sign_in_attempts_in_5_minutes() {
    let service = Service::start().await;
    let here = guard(&service, 1);
    for attempt in 0..25 {
        assert!(sign_in(&here, &format!("name-{attempt}")).await.is_ok(), "{attempt}");
    }
    let rejected = sign_in(&here, "another").await.unwrap_err();
    assert_eq!(rejected, Duration::from_mins(5));
    service.clock.advance(300);
    assert!(sign_in(&here, "another").await.is_ok());
}

#[tokio::test]
async fn failed_attempts_from_one_address_do_not_lock_out_another_address() {
    let service = Service::start().await;
    let (here, elsewhere) = (guard(&service, 1), guard(&service, 2));
    let mut attempts = 0;
    for _ in 0..20 {
        while sign_in(&elsewhere, "Alice").await.is_ok() {
            attempts += 1;
        }
        service.clock.advance(300);
    }
    assert!((25..100).contains(&attempts), "{attempts} guesses in 100 minutes");
    assert!(sign_in(&here, "alice").await.is_ok());
}

#[tokio::test]
async fn all_spellings_of_a_name_share_25_attempts_per_hour_and_address() {
    let service = Service::start().await;
    let here = guard(&service, 1);
    let mut attempts = 0;
    for round in 0..11 {
        for name in ["alice", "ALICE", " Alice "] {
            attempts += usize::from(sign_in(&here, name).await.is_ok());
        }
        service.clock.advance(if round < 10 { 300 } else { 0 });
    }
    assert_eq!(attempts, 25);
    assert!(sign_in(&here, "bob").await.is_ok(), "other names are admitted");
}

#[tokio::test]
async fn only_failed_sign_ins_use_up_the_limit() {
    let service = Service::start().await;
    let here = guard(&service, 1);
    for _ in 0..100 {
        assert!(sign_in(&here, "alice").await.is_ok());
        refund(&here, "alice").await;
    }
    let failures = async || {
        let mut failures = 0;
        while sign_in(&here, "alice").await.is_ok() {
            failures += 1;
        }
        failures
    };
    assert_eq!(failures().await, 25);
}

/// An attempt beyond the limit is admitted in shadow mode, but there is nothing to refund.
#[tokio::test]
async fn in_shadow_mode_only_attempts_that_were_counted_are_refunded() {
    let shadow = config_with(|config| {
        config.limits.mode = LimitMode::Shadow;
        config.limits.abuse = toml::from_str("sign_in_name = { requests = 2 }").unwrap();
    });
    let service = Service::start_with(shadow).await;
    let here = guard(&service, 1);
    let shadow_rejections = async || {
        sign_in(&here, "alice").await.unwrap();
        let metrics = service.operator_client().get("/metrics").await.text;
        let name =
            "belfry_rate_limit_decisions_total{limit=\"sign_in_name\",outcome=\"rejected\"} ";
        let line = metrics.lines().find_map(|line| line.strip_prefix(name));
        line.map_or(0, |count| count.parse().unwrap())
    };
    assert_eq!(shadow_rejections().await, 0);
    assert_eq!(shadow_rejections().await, 0);
    for rejected in 1..4 {
        assert_eq!(shadow_rejections().await, rejected);
        refund(&here, "alice").await;
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
    for _ in 0..25 {
        assert_eq!(login("wrong").await, 403);
    }
    assert_eq!(login("wrong").await, 429);
    assert_eq!(login("correct horse alice").await, 429, "a correct guess is rejected too");
}

#[tokio::test]
async fn only_wrong_client_secrets_are_counted() {
    let service = Service::start().await;
    let (here, elsewhere) = (guard(&service, 1), guard(&service, 2));
    for _ in 0..100 {
        assert!(here.check_client_secret("app", None).await.is_ok());
    }
    let mut wrong = 0;
    while here.check_client_secret("app", None).await.is_ok() {
        here.count_wrong_client_secret("app", None).await;
        wrong += 1;
        assert!(wrong < 1000);
    }
    assert_eq!(wrong, 25);
    assert!(elsewhere.check_client_secret("app", None).await.is_ok(), "the real client is served");
    assert!(here.check_client_secret("other", None).await.is_ok());
    service.clock.advance(300);
    assert!(here.check_client_secret("app", None).await.is_ok());
}

#[tokio::test]
async fn an_address_can_register_30_apps_in_10_minutes() {
    let service = Service::start().await;
    let (here, elsewhere) = (guard(&service, 1), guard(&service, 2));
    for _ in 0..30 {
        assert!(here.count_app_registration().await.is_ok());
    }
    assert!(here.count_app_registration().await.is_err());
    assert!(elsewhere.count_app_registration().await.is_ok());
}

#[tokio::test]
async fn mode_and_settings_apply_to_abuse_limits() {
    for mode in [LimitMode::Shadow, LimitMode::Off] {
        let service = Service::start_with(config_with(|config| config.limits.mode = mode)).await;
        for _ in 0..100 {
            assert!(sign_in(&guard(&service, 1), "alice").await.is_ok(), "{mode:?}");
        }
    }
    let settings = "sign_in_name = { requests = 2 }\napp_registration = false";
    let abuse = toml::from_str(settings).unwrap();
    let service = Service::start_with(config_with(|config| config.limits.abuse = abuse)).await;
    let here = guard(&service, 1);
    assert!(sign_in(&here, "alice").await.is_ok() && sign_in(&here, "alice").await.is_ok());
    assert!(sign_in(&here, "alice").await.is_err());
    for _ in 0..100 {
        assert!(here.count_app_registration().await.is_ok());
    }
}
