//! Changes on the page, and their effect on the rules that clients read.

use serde_json::json;

use super::{Alice, PAGE_PATH, seen_field};
use crate::support::browser::visible_text;
use crate::support::service::START_SECONDS;

#[tokio::test]
async fn a_keyword_is_added_changed_and_removed() {
    let mut alice = Alice::new().await;
    let page = alice.get_page().await;
    page.assert_page(200, "You have no keywords.");
    let response = alice
        .post(&[("change", "keyword"), ("word", " cake "), ("sound", "on"), ("highlight", "on")])
        .await;
    assert_eq!(
        response.header("location"),
        format!("{PAGE_PATH}?part=keywords&notice=saved#keywords")
    );
    let sound = json!({"set_tweak": "sound", "value": "default"});
    let highlight = json!({"set_tweak": "highlight"});
    assert_eq!(
        alice.get_rules("global/content/cake").await,
        json!({"rule_id": "cake", "default": false, "enabled": true, "pattern": "cake",
            "actions": ["notify", sound, highlight]})
    );
    let page = alice.browser.follow(&response).await;
    let text = visible_text(&page);
    assert!(text.contains("Keywords|1|Saved.|"), "{text}");
    assert!(text.contains("|cake|Sound|Highlight|"), "{text}");
    assert!(!text.contains("You have no keywords."));

    let seen = seen_field(&page, "cake");
    let fields = [("change", "keyword"), ("rule", "cake"), ("seen", &seen), ("highlight", "on")];
    let page = alice.submit(&fields).await;
    assert_eq!(
        alice.get_rules("global/content/cake/actions").await["actions"],
        json!(["notify", highlight])
    );
    assert!(visible_text(&page).contains("|cake|Highlight|"));

    let page = alice.submit(&[("change", "remove-keyword"), ("rule", "cake")]).await;
    let text = visible_text(&page);
    assert!(
        text.contains("Keywords|0|Removed.|") && text.contains("You have no keywords."),
        "{text}"
    );
    assert_eq!(alice.app.user_rule_ids("global/content/").await, [""; 0]);
}

#[tokio::test]
async fn a_word_is_muted_and_removed() {
    let mut alice = Alice::new().await;
    alice.get_page().await.assert_page(200, "You have no muted words.");
    let response = alice.post(&[("change", "mute-word"), ("word", " spam ")]).await;
    let location = format!("{PAGE_PATH}?part=muted-words&notice=saved#muted-words");
    assert_eq!(response.header("location"), location);
    assert_eq!(
        alice.get_rules("global/content/spam").await,
        json!({"rule_id": "spam", "default": false, "enabled": true, "pattern": "spam",
            "actions": []})
    );
    let text = visible_text(&alice.browser.follow(&response).await);
    assert!(text.contains("Muted words|1|Saved.|") && text.contains("|spam|Remove|"), "{text}");
    assert!(text.contains("You have no keywords.") && !text.contains("no muted words"), "{text}");

    // A word is either a keyword or muted, whatever its case.
    let page = alice.submit(&[("change", "keyword"), ("word", "Spam"), ("sound", "on")]).await;
    let text = visible_text(&page);
    assert!(text.contains("|spam|Sound|") && text.contains("You have no muted words."), "{text}");
    let notice = "Keywords|1|Saved. This word was muted. It is now a keyword instead.|";
    assert!(text.contains(notice), "{text}");
    let page = alice.submit(&[("change", "mute-word"), ("word", "SPAM")]).await;
    let text = visible_text(&page);
    let notice =
        "Muted words|1|Saved. This word was one of your keywords. It is now muted instead.|";
    assert!(text.contains(notice), "{text}");
    assert_eq!(alice.get_rules("global/content/spam/actions").await, json!({"actions": []}));

    let page = alice.submit(&[("change", "remove-muted-word"), ("rule", "spam")]).await;
    let text = visible_text(&page);
    assert!(text.contains("Muted words|0|Removed.|") && text.contains("no muted words"), "{text}");
    assert_eq!(alice.app.user_rule_ids("global/content/").await, [""; 0]);
}

#[tokio::test]
async fn a_word_that_an_app_muted_is_listed_with_its_end_time() {
    let mut alice = Alice::new().await;
    let until = (START_SECONDS + 3600) * 1000;
    let muted_word = json!({"pattern": "spam", "actions": ["dont_notify"], "until": until});
    alice.put_rule("global/content/x", &muted_word).await;
    alice.put_rule("global/content/y", &json!({"pattern": "tea", "actions": []})).await;
    alice.put_rule("global/content/y/enabled", &json!(false)).await;
    let text = visible_text(&alice.get_page().await);
    assert!(text.contains("|spam|Until|09:00 UTC|Remove|tea|Off|Remove|"), "{text}");
}

#[tokio::test]
async fn a_person_or_room_can_be_muted_or_always_notify() {
    let mut alice = Alice::new().await;
    alice.get_page().await.assert_page(200, "You have no settings for people or rooms.");
    for (id, choice) in [("@bob:x", "notify"), ("!tea:x", "mute"), ("@eve:x", "mute")] {
        alice
            .submit(&[("change", "subject"), ("id", id), ("choice", choice)])
            .await
            .assert_page(200, id);
    }
    let sound = json!({"set_tweak": "sound", "value": "default"});
    let expected_rule = |id: &str, actions| json!({"rule_id": id, "default": false, "enabled": true, "actions": actions});
    assert_eq!(
        alice.get_rules("global/sender/").await,
        json!([
            expected_rule("@eve:x", json!([])),
            expected_rule("@bob:x", json!(["notify", sound]))
        ])
    );
    assert_eq!(alice.get_rules("global/room/").await, json!([expected_rule("!tea:x", json!([]))]));
    let text = visible_text(&alice.get_page().await);
    assert!(text.contains("People|@bob:x|Always notifies|"), "{text}");
    assert!(text.contains("|@eve:x|Muted|") && text.contains("Rooms|!tea:x|Muted|"), "{text}");

    let page = alice.submit(&[("change", "remove-subject"), ("rule", "%40eve%3Ax")]).await;
    let text = visible_text(&page);
    assert!(text.contains("People and rooms|2|Removed.|") && !text.contains("@eve:x"), "{text}");
    assert_eq!(alice.app.user_rule_ids("global/sender/").await, ["@bob:x"]);
}

#[tokio::test]
async fn a_room_that_element_muted_is_recognised_and_can_be_changed() {
    let mut alice = Alice::new().await;
    let room_condition = json!({"kind": "event_match", "key": "room_id", "pattern": "!tea:x"});
    let mute_rule = json!({"actions": ["dont_notify"], "conditions": [room_condition]});
    alice.put_rule("global/override/!tea:x", &mute_rule).await;
    alice.put_rule("global/room/!cake:x", &json!({"actions": ["dont_notify"]})).await;
    let page = alice.get_page().await;
    let text = visible_text(&page);
    assert!(text.contains("!cake:x|Muted|"), "{text}");
    assert!(text.contains("!tea:x|Muted, also mentions|"), "{text}");
    let seen = seen_field(&page, "%21tea%3Ax");
    let fields =
        [("change", "subject"), ("rule", "%21tea%3Ax"), ("seen", &seen), ("choice", "notify")];
    let text = visible_text(&alice.submit(&fields).await);
    assert!(text.contains("!tea:x|Always notifies|"), "{text}");
    assert_eq!(alice.app.user_rule_ids("global/override/").await, [""; 0]);
}

#[tokio::test]
async fn everything_is_paused_and_switched_on_again() {
    let mut alice = Alice::new().await;
    alice.get_page().await.assert_page(200, "Notifications are on.");
    let page = alice.submit(&[("change", "pause"), ("for", "open")]).await;
    page.assert_page(200, "Everything is paused until you switch it on again.");
    assert!(!page.text.contains("value=\"hour\"") && page.text.contains("Switch on again"));
    assert_eq!(
        alice.get_rules("global/override/.m.rule.master/enabled").await,
        json!({"enabled": true})
    );
    let page = alice.submit(&[("change", "resume")]).await;
    page.assert_page(200, "Notifications are on.");
    assert_eq!(
        alice.get_rules("global/override/.m.rule.master/enabled").await,
        json!({"enabled": false})
    );
}

#[tokio::test]
async fn a_pause_ends_by_itself() {
    let mut alice = Alice::new().await;
    let enabled_path = "global/override/.m.rule.master/enabled";
    // The clock of the tests starts at 2027-01-15 08:00 UTC.
    for (length, morning, end_text, seconds) in [
        ("hour", "", "until|09:00 UTC|.", 3600),
        // 8:00 in New York, as a browser there sends it.
        ("morning", "1800018000000", "until|13:00 UTC|.", 5 * 3600),
        ("morning", "junk", "until|2027-01-16 08:00 UTC|.", 86_400),
    ] {
        let now = alice.service.now().as_second();
        alice.service.clock.advance(START_SECONDS - now);
        let page =
            alice.submit(&[("change", "pause"), ("for", length), ("morning", morning)]).await;
        let text = visible_text(&page);
        assert!(text.contains(&format!("Everything is paused {end_text}")), "{length}: {text}");
        let end_attribute = format!(
            "datetime=\"{}\"",
            alice.service.now().checked_add(jiff::Span::new().seconds(seconds)).unwrap()
        );
        assert!(page.text.contains(&end_attribute), "{end_attribute}: {}", page.text);
        assert_eq!(alice.get_rules(enabled_path).await["enabled"], true);
        alice.service.clock.advance(seconds - 1);
        assert_eq!(alice.get_rules(enabled_path).await["enabled"], true, "{length}");
        alice.service.clock.advance(1);
        assert_eq!(alice.get_rules(enabled_path).await["enabled"], false, "{length}");
        alice.get_page().await.assert_page(200, "Notifications are on.");
    }
}

#[tokio::test]
async fn the_overview_shows_a_pause_with_its_end_and_a_link() {
    let mut alice = Alice::new().await;
    let get_overview = async |alice: &mut Alice| alice.browser.get("/oauth/account?lang=en").await;
    assert!(!get_overview(&mut alice).await.text.contains("Everything is paused"));
    alice.submit(&[("change", "pause"), ("for", "hour")]).await;
    let page = get_overview(&mut alice).await;
    let text = visible_text(&page);
    let expected = "|Everything is paused until|09:00 UTC|.|Notifications|";
    assert!(text.contains(expected), "{text}");
    let link = format!(" <a href=\"{PAGE_PATH}?lang=en\">Notifications</a></p>");
    assert!(page.text.contains(&link), "{page:?}");
    alice.service.clock.advance(3600);
    assert!(!get_overview(&mut alice).await.text.contains("Everything is paused"));
    alice.submit(&[("change", "pause"), ("for", "open")]).await;
    let expected = "Everything is paused until you switch it on again. <a href=";
    get_overview(&mut alice).await.assert_page(200, expected);
}

#[tokio::test]
async fn a_timed_mute_ends_by_itself() {
    let mut alice = Alice::new().await;
    for (choice, seconds) in [("mute-hour", 3600), ("mute-week", 604_800)] {
        let page =
            alice.submit(&[("change", "subject"), ("id", "@bob:x"), ("choice", choice)]).await;
        let text = visible_text(&page);
        assert!(text.contains("|@bob:x|Muted|Until|"), "{choice}: {text}");
        // Saving the form without a choice would make the mute permanent.
        page.assert_page(
            200,
            "<select name=\"choice\" required>\n<option value=\"\" selected disabled>Until <",
        );
        let until = (alice.service.now().as_second() + seconds) * 1000;
        assert_eq!(alice.get_rules("global/sender/@bob:x").await["until"], until);
        alice.service.clock.advance(seconds - 1);
        assert_eq!(alice.app.user_rule_ids("global/sender/").await, ["@bob:x"]);
        alice.service.clock.advance(1);
        assert_eq!(alice.app.user_rule_ids("global/sender/").await, [""; 0]);
        let text = visible_text(&alice.get_page().await);
        assert!(text.contains("You have no settings for people or rooms."), "{text}");
    }
}

#[tokio::test]
async fn every_switch_turns_its_rules_off_and_on() {
    let mut alice = Alice::new().await;
    let page = alice.get_page().await;
    assert_eq!(visible_text(&page).matches("|Notify me ").count(), 14);
    let names: Vec<String> = page
        .text
        .split("<div id=\"switch-")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect();
    assert_eq!(names.len(), 14);
    let defaults = alice.get_rules("global/").await;
    for name in &names {
        // These switches are off by default.
        let is_on = !["bots", "edits", "reactions", "members", "servers"].contains(&name.as_str());
        let [default_state, other_state] = if is_on { ["on", "off"] } else { ["off", "on"] };
        page.assert_page(200, &switch_html(name, is_on));
        let button = format!("{name}-{other_state}");
        let response = alice.post(&[("change", "switch"), ("switch", &button)]).await;
        assert_eq!(
            response.header("location"),
            format!("{PAGE_PATH}?part=switch-{name}&notice=saved#switch-{name}")
        );
        let page = alice.browser.follow(&response).await;
        page.assert_page(200, &switch_html(name, !is_on));
        // The notice is next to the switch, where the user sees it.
        let notice =
            format!("<div id=\"switch-{name}\">\n<p class=\"notice\" role=\"status\">Saved.");
        page.assert_page(200, &notice);
        assert_eq!(page.text.matches("Saved.").count(), 1, "{name}");
        assert_ne!(alice.get_rules("global/").await, defaults, "{name}");
        alice.submit(&[("change", "switch"), ("switch", &format!("{name}-{default_state}"))]).await;
        assert_eq!(alice.get_rules("global/").await, defaults, "{name}");
    }
}

/// Returns part of the HTML of a switch in this state.
fn switch_html(name: &str, is_on: bool) -> String {
    let other_state = if is_on { "off" } else { "on" };
    format!(
        "role=\"switch\" aria-checked=\"{is_on}\" name=\"switch\" value=\"{name}-{other_state}\">"
    )
}

/// On a phone, the page is short until there is something to show.
#[tokio::test]
async fn a_section_without_entries_is_folded_until_it_is_used() {
    let mut alice = Alice::new().await;
    let page = alice.get_page().await;
    for part in ["keywords", "muted-words", "subjects"] {
        page.assert_page(200, &format!("<details class=\"part\" id=\"{part}\">"));
    }
    let open_section = "<details class=\"part\" id=\"muted-words\" open>";
    let page = alice.submit(&[("change", "mute-word"), ("word", "spam")]).await;
    // The form for the next word needs no further click.
    page.assert_page(200, open_section);
    assert!(!page.text.contains("<details class=\"add\""));
    alice.get_page().await.assert_page(200, open_section);
    // The notice is visible after the last entry was removed, and so is an error.
    let page = alice.submit(&[("change", "remove-muted-word"), ("rule", "spam")]).await;
    page.assert_page(200, open_section);
    alice.post(&[("change", "mute-word"), ("word", "")]).await.assert_page(422, open_section);
}

#[tokio::test]
async fn everyday_switches_come_first_and_rare_ones_are_folded() {
    let mut alice = Alice::new().await;
    let page = alice.get_page().await;
    let text = visible_text(&page);
    let position = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    let expected_order = [
        "Pause for an hour",
        "Notify me of messages in all other rooms",
        "Notify me when somebody calls me",
        "Notify me of reactions",
        "You have no keywords.",
        "You have no muted words.",
        "You have no settings for people or rooms.",
        "Try a message",
    ];
    assert!(expected_order.map(position).is_sorted(), "{text}");
    let (_, after_details) = page.text.split_once("<details>").unwrap();
    let folded_switches = after_details.split_once("</details>").unwrap().0;
    assert_eq!(folded_switches.matches("role=\"switch\"").count(), 6);
    // The rare switches are unfolded after one of them was changed.
    let page = alice.submit(&[("change", "switch"), ("switch", "edits-on")]).await;
    let (_, after_open_details) = page.text.split_once("<details open>").unwrap();
    assert!(
        after_open_details.split_once("</details>").unwrap().0.contains("Saved."),
        "{}",
        page.text
    );
}

/// Element turns a rule off by changing its actions.
#[tokio::test]
async fn a_switch_reflects_changes_by_clients() {
    let mut alice = Alice::new().await;
    let silent_actions = json!({"actions": ["dont_notify"]});
    alice.put_rule("global/underride/.m.rule.call/actions", &silent_actions).await;
    alice.put_rule("global/underride/.m.rule.encrypted/enabled", &json!(false)).await;
    let page = alice.get_page().await;
    page.assert_page(200, &switch_html("call", false));
    page.assert_page(200, &switch_html("group", false));
    assert!(visible_text(&page).contains("|Notify me of messages in all other rooms|Partly on|"));
    alice.submit(&[("change", "switch"), ("switch", "call-on")]).await;
    let rule = alice.get_rules("global/underride/.m.rule.call").await;
    assert_eq!(rule["actions"], json!(["notify", {"set_tweak": "sound", "value": "ring"}]));
}
