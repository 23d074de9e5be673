//! Changes on the page, and how clients see them right after.

use serde_json::json;

use super::{Alice, PAGE, seen};
use crate::support::browser::visible_text;
use crate::support::service::START;

#[tokio::test]
async fn a_keyword_is_added_changed_and_removed() {
    let mut alice = Alice::new().await;
    let page = alice.page().await;
    page.page(200, "You have no keywords.");
    let response = alice
        .post(&[("change", "keyword"), ("word", " cake "), ("sound", "on"), ("highlight", "on")])
        .await;
    assert_eq!(response.header("location"), format!("{PAGE}?part=keywords&notice=saved#keywords"));
    let sound = json!({"set_tweak": "sound", "value": "default"});
    let highlight = json!({"set_tweak": "highlight"});
    assert_eq!(
        alice.rules("global/content/cake").await,
        json!({"rule_id": "cake", "default": false, "enabled": true, "pattern": "cake",
            "actions": ["notify", sound, highlight]})
    );
    let page = alice.browser.follow(&response).await;
    let text = visible_text(&page);
    assert!(text.contains("Keywords|Saved.|"), "{text}");
    assert!(text.contains("|cake|Sound|Highlight|"), "{text}");
    assert!(!text.contains("You have no keywords."));

    let seen = seen(&page, "cake");
    let change = [("change", "keyword"), ("rule", "cake"), ("seen", &seen), ("highlight", "on")];
    let page = alice.change(&change).await;
    assert_eq!(
        alice.rules("global/content/cake/actions").await["actions"],
        json!(["notify", highlight])
    );
    assert!(visible_text(&page).contains("|cake|Highlight|"));

    let page = alice.change(&[("change", "remove-keyword"), ("rule", "cake")]).await;
    let text = visible_text(&page);
    assert!(
        text.contains("Keywords|Removed.|") && text.contains("You have no keywords."),
        "{text}"
    );
    assert_eq!(alice.app.user_rule_ids("global/content/").await, [""; 0]);
}

#[tokio::test]
async fn people_and_rooms_are_muted_and_always_notified_of() {
    let mut alice = Alice::new().await;
    alice.page().await.page(200, "You have no settings for people or rooms.");
    for (id, choice) in [("@bob:x", "notify"), ("!tea:x", "mute"), ("@eve:x", "mute")] {
        alice.change(&[("change", "subject"), ("id", id), ("choice", choice)]).await.page(200, id);
    }
    let sound = json!({"set_tweak": "sound", "value": "default"});
    let rule = |id: &str, actions| json!({"rule_id": id, "default": false, "enabled": true, "actions": actions});
    assert_eq!(
        alice.rules("global/sender/").await,
        json!([rule("@eve:x", json!([])), rule("@bob:x", json!(["notify", sound]))])
    );
    assert_eq!(alice.rules("global/room/").await, json!([rule("!tea:x", json!([]))]));
    let text = visible_text(&alice.page().await);
    assert!(text.contains("People|@bob:x|Always notifies|"), "{text}");
    assert!(text.contains("|@eve:x|Muted|") && text.contains("Rooms|!tea:x|Muted|"), "{text}");

    let page = alice.change(&[("change", "remove-subject"), ("rule", "%40eve%3Ax")]).await;
    let text = visible_text(&page);
    assert!(text.contains("People and rooms|Removed.|") && !text.contains("@eve:x"), "{text}");
    assert_eq!(alice.app.user_rule_ids("global/sender/").await, ["@bob:x"]);
}

#[tokio::test]
async fn a_room_that_element_muted_is_recognised_and_can_be_changed() {
    let mut alice = Alice::new().await;
    let room = json!({"kind": "event_match", "key": "room_id", "pattern": "!tea:x"});
    let mute = json!({"actions": ["dont_notify"], "conditions": [room]});
    alice.put_rule("global/override/!tea:x", &mute).await;
    alice.put_rule("global/room/!cake:x", &json!({"actions": ["dont_notify"]})).await;
    let page = alice.page().await;
    let text = visible_text(&page);
    assert!(text.contains("!cake:x|Muted|"), "{text}");
    assert!(text.contains("!tea:x|Muted, also mentions|"), "{text}");
    let seen = seen(&page, "%21tea%3Ax");
    let change =
        [("change", "subject"), ("rule", "%21tea%3Ax"), ("seen", &seen), ("choice", "notify")];
    let text = visible_text(&alice.change(&change).await);
    assert!(text.contains("!tea:x|Always notifies|"), "{text}");
    assert_eq!(alice.app.user_rule_ids("global/override/").await, [""; 0]);
}

#[tokio::test]
async fn everything_is_paused_and_switched_on_again() {
    let mut alice = Alice::new().await;
    alice.page().await.page(200, "Notifications are on.");
    let page = alice.change(&[("change", "pause"), ("for", "open")]).await;
    page.page(200, "Everything is paused until you switch it on again.");
    assert!(!page.text.contains("value=\"hour\"") && page.text.contains("Switch on again"));
    assert_eq!(
        alice.rules("global/override/.m.rule.master/enabled").await,
        json!({"enabled": true})
    );
    let page = alice.change(&[("change", "resume")]).await;
    page.page(200, "Notifications are on.");
    assert_eq!(
        alice.rules("global/override/.m.rule.master/enabled").await,
        json!({"enabled": false})
    );
}

#[tokio::test]
async fn a_pause_ends_by_itself() {
    let mut alice = Alice::new().await;
    let enabled = "global/override/.m.rule.master/enabled";
    // The clock of the tests starts at 2027-01-15 08:00 UTC.
    for (length, morning, shown, seconds) in [
        ("hour", "", "until|09:00 UTC|.", 3600),
        ("8-hours", "", "until|16:00 UTC|.", 8 * 3600),
        ("morning", "", "until|2027-01-16 08:00 UTC|.", 86_400),
        // 8:00 in New York, as its browsers say.
        ("morning", "1800018000000", "until|13:00 UTC|.", 5 * 3600),
        ("morning", "junk", "until|2027-01-16 08:00 UTC|.", 86_400),
    ] {
        let now = alice.service.now().as_second();
        alice.service.clock.advance(START - now);
        let page =
            alice.change(&[("change", "pause"), ("for", length), ("morning", morning)]).await;
        let text = visible_text(&page);
        assert!(text.contains(&format!("Everything is paused {shown}")), "{length}: {text}");
        let end = format!(
            "datetime=\"{}\"",
            alice.service.now().checked_add(jiff::Span::new().seconds(seconds)).unwrap()
        );
        assert!(page.text.contains(&end), "{end}: {}", page.text);
        assert_eq!(alice.rules(enabled).await["enabled"], true);
        alice.service.clock.advance(seconds - 1);
        assert_eq!(alice.rules(enabled).await["enabled"], true, "{length}");
        alice.service.clock.advance(1);
        assert_eq!(alice.rules(enabled).await["enabled"], false, "{length}");
        alice.page().await.page(200, "Notifications are on.");
    }
}

#[tokio::test]
async fn a_mute_for_a_while_ends_by_itself() {
    let mut alice = Alice::new().await;
    for (choice, seconds) in [
        ("mute-hour", 3600),
        ("mute-8-hours", 8 * 3600),
        ("mute-day", 86_400),
        ("mute-week", 604_800),
    ] {
        let page =
            alice.change(&[("change", "subject"), ("id", "@bob:x"), ("choice", choice)]).await;
        let text = visible_text(&page);
        assert!(text.contains("|@bob:x|Muted|Until|"), "{choice}: {text}");
        let until = (alice.service.now().as_second() + seconds) * 1000;
        assert_eq!(alice.rules("global/sender/@bob:x").await["until"], until);
        alice.service.clock.advance(seconds - 1);
        assert_eq!(alice.app.user_rule_ids("global/sender/").await, ["@bob:x"]);
        alice.service.clock.advance(1);
        assert_eq!(alice.app.user_rule_ids("global/sender/").await, [""; 0]);
        let text = visible_text(&alice.page().await);
        assert!(text.contains("You have no settings for people or rooms."), "{text}");
    }
}

#[tokio::test]
async fn every_switch_turns_its_rules_off_and_on() {
    let mut alice = Alice::new().await;
    let page = alice.page().await;
    let names: Vec<String> = page
        .text
        .split("id=\"switch-")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect();
    assert_eq!(names.len(), 14);
    assert_eq!(page.text.matches("aria-checked=\"true\"").count(), 14);
    let defaults = alice.rules("global/").await;
    for name in &names {
        let off = format!("{name}-off");
        page.page(200, &format!("name=\"switch\" value=\"{off}\""));
        let response = alice.post(&[("change", "switch"), ("switch", &off)]).await;
        assert_eq!(
            response.header("location"),
            format!("{PAGE}?part=switches&notice=saved#switch-{name}")
        );
        let page = alice.browser.follow(&response).await;
        let button = format!(
            "id=\"switch-{name}\"><button class=\"toggle\" role=\"switch\" aria-checked=\"false\" name=\"switch\" value=\"{name}-on\""
        );
        page.page(200, &button);
        assert_ne!(alice.rules("global/").await, defaults, "{name}");
        alice.change(&[("change", "switch"), ("switch", &format!("{name}-on"))]).await;
        assert_eq!(alice.rules("global/").await, defaults, "{name}");
    }
}

/// Element turns a rule off by changing its actions.
#[tokio::test]
async fn a_switch_shows_what_clients_changed() {
    let mut alice = Alice::new().await;
    let silent = json!({"actions": ["dont_notify"]});
    alice.put_rule("global/underride/.m.rule.call/actions", &silent).await;
    alice.put_rule("global/underride/.m.rule.encrypted/enabled", &json!(false)).await;
    let page = alice.page().await;
    page.page(
        200,
        "id=\"switch-call\"><button class=\"toggle\" role=\"switch\" aria-checked=\"false\"",
    );
    page.page(
        200,
        "id=\"switch-group\"><button class=\"toggle\" role=\"switch\" aria-checked=\"false\"",
    );
    assert!(visible_text(&page).contains("|Notify me of messages in all other rooms.|Partly on|"));
    alice.change(&[("change", "switch"), ("switch", "call-on")]).await;
    let rule = alice.rules("global/underride/.m.rule.call").await;
    assert_eq!(rule["actions"], json!(["notify", {"set_tweak": "sound", "value": "ring"}]));
}
