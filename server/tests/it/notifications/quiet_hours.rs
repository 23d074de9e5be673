//! Quiet hours on the page, and the rules that clients read.

use axum::http::StatusCode;
use serde_json::json;

use super::{Alice, PAGE_PATH};
use crate::support::browser::visible_text;

const HOUR_SECONDS: i64 = 3600;

/// Returns the form fields for the nights of two days. `seen` is the setting that the page showed;
/// the form is rejected if the setting has changed since. The clock starts on Friday, 15 January
/// 2027, at 08:00 UTC.
fn form_fields<'a>(level: &'a str, seen: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("change", "quiet-hours"),
        ("seen", seen),
        ("friday", "on"),
        ("sunday", "on"),
        ("from", "22:00"),
        ("to", "07:00"),
        ("timezone", "Europe/Berlin"),
        ("level", level),
    ]
}

#[tokio::test]
async fn quiet_hours_are_set_changed_and_switched_off() {
    let mut alice = Alice::new().await;
    let text = visible_text(&alice.get_page().await);
    assert!(text.contains("Quiet hours|Off|"), "{text}");
    assert!(text.contains("|Quiet hours are off.|"), "{text}");
    let response = alice.post(&form_fields("important", "")).await;
    let location = format!("{PAGE_PATH}?part=quiet-hours&notice=saved#quiet-hours");
    assert_eq!(response.header("location"), location);
    let condition = json!({
        "kind": "time_and_day", "timezone": "Europe/Berlin",
        "intervals": [
            { "time_of_day": ["22:00", "23:59"], "day_of_week": [5, 7] },
            { "time_of_day": ["00:00", "06:59"], "day_of_week": [1, 6] },
        ],
    });
    let rule = json!({
        "rule_id": "quiet-hours", "default": false, "enabled": true, "actions": [],
        "conditions": [condition],
    });
    assert_eq!(alice.get_rules("global/underride/quiet-hours").await, rule);
    let text = visible_text(&alice.browser.follow(&response).await);
    assert!(text.contains("Quiet hours|On|Saved.|"), "{text}");
    assert!(text.contains("Quiet hours are on. Right now it is not quiet."), "{text}");

    // It is 22:00 in Berlin.
    alice.service.clock.advance(13 * HOUR_SECONDS);
    let text = visible_text(&alice.get_page().await);
    assert!(text.contains("It is quiet until|2027-01-16 06:00 UTC|."), "{text}");
    assert!(text.contains("You are still notified of mentions, keywords and invitations"));

    // Friday and Sunday, the times, the time zone and the level.
    let seen = "57-22:00-07:00-Europe/Berlin-important";
    let text = visible_text(&alice.submit(&form_fields("total", seen)).await);
    assert!(text.contains("|Nothing notifies you, not even mentions.|"), "{text}");
    assert_eq!(alice.get_rules("global/override/quiet-hours").await, rule);
    assert_eq!(alice.app.user_rule_ids("global/underride/").await, [""; 0]);

    let text = visible_text(&alice.submit(&[("change", "quiet-hours-off")]).await);
    assert!(text.contains("Quiet hours|Off|Saved.|Times of the week"), "{text}");
    assert_eq!(alice.get_rules("global/override/quiet-hours/enabled").await["enabled"], false);
}

#[tokio::test]
async fn invalid_and_outdated_forms_are_shown_again() {
    let mut alice = Alice::new().await;
    let mut fields = form_fields("total", "");
    fields.retain(|(name, _)| *name != "timezone");
    fields.push(("timezone", "Europe/Atlantis"));
    let response = alice.post(&fields).await;
    assert_eq!(response.status, StatusCode::UNPROCESSABLE_ENTITY);
    let text = visible_text(&response);
    assert!(text.contains("This server does not know this time zone."), "{text}");
    for entered in [
        r#"name="timezone" value="Europe/Atlantis""#,
        r#"name="friday" checked"#,
        r#"value="total" required checked"#,
    ] {
        assert!(response.text.contains(entered), "{entered}");
    }
    assert!(!response.text.contains(r#"name="monday" checked"#));
    assert_eq!(alice.app.user_rule_ids("global/override/").await, [""; 0]);

    alice.submit(&form_fields("total", "")).await;
    let response = alice.post(&form_fields("important", "")).await;
    assert_eq!(response.status, StatusCode::CONFLICT);
    let text = visible_text(&response);
    assert!(text.contains("The quiet hours were changed in the meantime"), "{text}");
    assert!(response.text.contains(r#"value="total" required checked"#));
    assert_eq!(alice.app.user_rule_ids("global/underride/").await, [""; 0]);
}

/// The switch of the page changes only the page's own rule.
#[tokio::test]
async fn quiet_hours_of_an_app_are_named_as_such() {
    let mut alice = Alice::new().await;
    let always = json!({ "kind": "time_and_day", "intervals": [{}] });
    let rule = json!({ "actions": [], "conditions": [always] });
    alice.app.put_rule_ok("global/override/nights", &rule).await;
    let note = "It is quiet now because of times that an app has set.";
    let text = visible_text(&alice.get_page().await);
    assert!(text.contains("It is always quiet.") && text.contains(note), "{text}");
    alice.app.delete_rule("global/override/nights").await.expect_json(StatusCode::OK);
    alice.submit(&form_fields("important", "")).await;
    alice.service.clock.advance(13 * HOUR_SECONDS);
    let text = visible_text(&alice.get_page().await);
    assert!(text.contains("It is quiet until") && !text.contains(note), "{text}");
}
