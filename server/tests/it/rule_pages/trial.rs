//! Trying the rules with a message: the result, its reason, and the rules that were checked.

use serde_json::json;

use super::{
    Alice, PageForm, TRY_PATH, alice_with_a_thousand_profiles, long_escaped_tag, notifying_rule,
    parse_forms, rule_path, unescape,
};
use crate::oauth::assert_security_headers;
use crate::rules::pushrules_path;
use crate::support::TestResponse;
use crate::support::browser::visible_text;
use crate::support::service::START_SECONDS;

/// Returns the form on the page, with `Hello` as the message if it has none.
pub(super) fn trial_form(page: &TestResponse) -> PageForm {
    let form = parse_forms(page).into_iter().find(|form| form.field("text").is_some()).unwrap();
    if form.field("text") == Some("") { form.with_field("text", "Hello") } else { form }
}

/// Returns the sentence with the result, without tags and bidirectional isolates.
pub(super) fn result_sentence(page: &TestResponse) -> String {
    assert_eq!(page.status, 200, "{page:?}");
    let (_, rest) = page.text.split_once("class=\"sentence\">").unwrap();
    let parts = rest.split_once("</p>").unwrap().0.split('<');
    let text: String =
        parts.map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect();
    unescape(&text).replace(['\u{2068}', '\u{2069}'], "")
}

#[tokio::test]
async fn the_result_is_a_sentence_with_the_reason() {
    let mut alice = Alice::new().await;
    let page = alice.browser.get(TRY_PATH).await;
    page.assert_page(200, "<h1>Try a message</h1>");
    assert_security_headers(&page, "'self'");
    let form = trial_form(&page);
    assert_eq!(form.field("name"), Some("alice"));
    let sound_actions = json!(["notify", { "set_tweak": "sound" }]);
    for (path, body) in [
        ("global/content/sweets", json!({ "pattern": "cake", "actions": sound_actions })),
        ("global/room/!quiet:x", json!({ "actions": [] })),
        ("global/room/!loud:x", notifying_rule()),
        ("global/sender/@bob:x", json!({ "actions": [] })),
        ("global/sender/@boss:x", json!({ "actions": sound_actions })),
    ] {
        alice.client.put_rule_ok(path, &body).await;
    }
    let default_reason = "because of the built-in rule for all other messages";
    for (text, sender, room, members, expected) in [
        ("Hello", "@x:x", "!r:x", "3", &*format!("You would be notified, {default_reason}.")),
        ("Hello", "@x:x", "!r:x", "", &*format!("You would be notified, {default_reason}.")),
        (
            "There is cake",
            "@x:x",
            "!r:x",
            "3",
            "You would be notified with a sound, because of your keyword cake.",
        ),
        (
            "Hello",
            "@x:x",
            "!quiet:x",
            "3",
            "You would not be notified, because you muted this room.",
        ),
        (
            "Hello",
            "@x:x",
            "!loud:x",
            "3",
            "You would be notified, because of your rule for this room.",
        ),
        ("Hello", "@bob:x", "", "3", "You would not be notified, because you muted @bob:x."),
        (
            "Hello",
            "@boss:x",
            "",
            "3",
            "You would be notified with a sound, because of your rule for @boss:x.",
        ),
        (
            "Hello",
            "@x:x",
            "!r:x",
            "2",
            "You would be notified with a sound, because there are only two people in the room.",
        ),
        (
            "Hi Alice B!",
            "@x:x",
            "!r:x",
            "3",
            "You would be notified with a sound and a highlight, because it contains your display name.",
        ),
        (
            "Hi",
            "@alice:ring.example",
            "!r:x",
            "3",
            "You would not be notified, because it is your own message.",
        ),
    ] {
        let form = form
            .clone()
            .with_field("text", text)
            .with_field("sender", sender)
            .with_field("room", room);
        let form = form.with_field("members", members).with_field("name", "Alice B");
        let page = form.submit(&mut alice.browser).await;
        assert_eq!(result_sentence(&page), expected, "{text} {sender} {room}");
        // No rule is checked for the user's own message.
        let has_list = page.text.contains("The rules that were checked");
        assert_eq!(has_list, sender != "@alice:ring.example", "{sender}");
        // The form is filled in.
        for field in ["text", "sender", "room", "members", "name"] {
            assert_eq!(trial_form(&page).field(field), form.field(field), "{field}");
        }
    }
    alice.client.put_rule_ok("global/override/.m.rule.master/enabled", &json!(true)).await;
    let page = form.submit(&mut alice.browser).await;
    assert_eq!(result_sentence(&page), "You would not be notified, because everything is paused.");
}

#[tokio::test]
async fn the_switch_or_the_muted_word_that_silences_a_message_is_named() {
    let mut alice = Alice::new().await;
    let muted_word = json!({ "pattern": "spam", "actions": [] });
    alice.client.put_rule_ok("global/content/spam", &muted_word).await;
    let form = trial_form(&alice.browser.get(TRY_PATH).await);
    let page = form.clone().with_field("text", "More spam").submit(&mut alice.browser).await;
    assert_eq!(
        result_sentence(&page),
        "You would not be notified, because you muted the word spam."
    );
    for change in ["enabled", "actions"] {
        let body = if change == "enabled" { json!(false) } else { json!({ "actions": [] }) };
        let rule = "global/underride/.m.rule.message";
        alice.client.put_rule_ok(&format!("{rule}/{change}"), &body).await;
        let page = form.clone().with_field("text", "Hello").submit(&mut alice.browser).await;
        let expected = "You would not be notified, because you switched off “Notify me of \
                        messages in all other rooms”.";
        assert_eq!(result_sentence(&page), expected, "{change}");
        alice.client.put_rule_ok(&format!("{rule}/enabled"), &json!(true)).await;
    }
}

#[tokio::test]
async fn notified_and_silent_results_differ_in_icon_text_and_class() {
    let mut alice = Alice::new().await;
    let form = trial_form(&alice.browser.get(TRY_PATH).await).with_field("text", "Hello");
    let notified_page = form.submit(&mut alice.browser).await;
    alice.client.put_rule_ok("global/override/.m.rule.master/enabled", &json!(true)).await;
    let silent_page = form.submit(&mut alice.browser).await;
    let result_class_and_icon = |page: &TestResponse| {
        let (class, rest) =
            page.text.split_once("<div class=\"result").unwrap().1.split_once("\">").unwrap();
        let icon = rest.split_once("</svg>").unwrap().0;
        (class.to_owned(), icon.to_owned())
    };
    let ((notified_class, bell), (silent_class, crossed_bell)) =
        (result_class_and_icon(&notified_page), result_class_and_icon(&silent_page));
    assert_eq!((&*notified_class, &*silent_class), ("", " silent"));
    assert_ne!(bell, crossed_bell);
    let text = visible_text(&notified_page);
    assert!(text.contains("Result|Notified|You would be notified,"), "{text}");
    let text = visible_text(&silent_page);
    assert!(text.contains("Result|Silent|You would not be notified,"), "{text}");
}

#[tokio::test]
async fn a_timed_rules_expiry_is_displayed() {
    let mut alice = Alice::new().await;
    let until = (START_SECONDS + 3600) * 1000;
    alice.client.put_rule_ok("global/room/!r:x", &json!({ "actions": [], "until": until })).await;
    let form = trial_form(&alice.browser.get(TRY_PATH).await)
        .with_field("text", "Hello")
        .with_field("room", "!r:x");
    let page = form.submit(&mut alice.browser).await;
    assert_eq!(result_sentence(&page), "You would not be notified, because you muted this room.");
    let expiry = "That rule ends on|2027-01-15 09:00 UTC|.";
    assert!(visible_text(&page).contains(expiry), "{}", page.text);
    // A script shows the time in the browser's time zone.
    let time_element = "<time datetime=\"2027-01-15T09:00:00Z\" data-format=\"full\">";
    assert!(page.text.contains(time_element), "{}", page.text);
    let pause_body = json!({ "enabled": true, "until": until });
    alice.client.put_rule_ok("global/override/.m.rule.master/enabled", &pause_body).await;
    let page = form.submit(&mut alice.browser).await;
    let expected =
        "You would not be notified, because everything is paused until 2027-01-15 09:00 UTC.";
    assert_eq!(result_sentence(&page), expected);
    assert!(!page.text.contains("That rule ends"));
    let list = alice.browser.get(super::RULES_PATH).await;
    assert_eq!(visible_text(&list).matches("|Until|2027-01-15 09:00 UTC|").count(), 2);

    alice.service.clock.advance(3600);
    let page = form.submit(&mut alice.browser).await;
    assert!(
        result_sentence(&page).starts_with("You would be notified, because of the built-in rule")
    );
    let list = alice.browser.get(super::RULES_PATH).await;
    assert!(!list.text.contains("2027") && !list.text.contains("!r:x"));
}

#[tokio::test]
async fn the_trace_shows_every_rule_with_the_condition_and_the_value() {
    let mut alice = Alice::new().await;
    let conditions = json!([
        { "kind": "event_property_is", "key": "content.a", "value": true },
    ]);
    let poll = json!({ "kind": "event_match", "key": "type", "pattern": "m.poll" });
    for (path, body) in [
        ("global/content/sweets", json!({ "pattern": "cake", "actions": [] })),
        ("global/room/!r:x", json!({ "actions": [] })),
        ("global/room/!r:x/enabled", json!(false)),
        ("global/override/a", json!({ "actions": [], "conditions": conditions })),
        ("global/override/b", json!({ "actions": [], "conditions": [poll] })),
        ("global/room/!s:x", json!({ "actions": [] })),
        ("global/sender/@bob:x", json!({ "actions": [] })),
        ("global/underride/moon", json!({ "actions": [], "conditions": [{ "kind": "moon" }] })),
    ] {
        alice.client.put_rule_ok(path, &body).await;
    }
    let form = trial_form(&alice.browser.get(TRY_PATH).await)
        .with_field("text", "Hello @room")
        .with_field("room", "!r:x");
    let page = form.submit(&mut alice.browser).await;
    let text = unescape(&visible_text(&page));
    for line in [
        "|Pause everything|Before everything else · On all devices ·|.m.rule.master|It is disabled.|",
        "|a|Above all others · On all devices|The message does not meet a condition of this rule.|\
         The message has no content.a, and the rule looks for true.|",
        "|b|Above all others · On all devices|The message does not meet a condition of this rule.|\
         type is \"m.room.message\", and the rule looks for \"m.poll\".|",
        "|Messages that mention you|Above all others · On all devices ·|.m.rule.is_user_mention|\
         The message is not of this kind.|Messages with your display name|",
        "The text does not contain your display name \"alice\".|",
        "It needs a sender who may notify everyone in the room.|",
        "sweets|Words · On all devices|The text does not contain cake.|",
        "!s:x|Rooms · On all devices|The message is in a different room.|",
        "@bob:x|People · On all devices|The message is from somebody else.|",
        "!r:x|Rooms · On all devices|It is disabled.|",
        "moon|When nothing else fits · On all devices|This server does not know the condition moon.|",
        "The number of people in the room is 3, and the rule asks for 2.|",
        "|Messages in all other rooms|When nothing else fits · On all devices ·|.m.rule.message|\
         It fits and decides.|",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("m.mentions"), "no keys of built-in rules: {text}");
}

#[tokio::test]
async fn a_profile_can_be_chosen_if_profiles_exist() {
    let mut alice = Alice::new().await;
    assert!(!alice.browser.get(TRY_PATH).await.text.contains("<select"));
    let tag = "a\n\u{202e}<b>";
    alice
        .client
        .put_rule_ok(
            &rule_path(&format!("device/{tag}"), "override", "work"),
            &json!({ "actions": [] }),
        )
        .await;
    let page = alice.browser.get(TRY_PATH).await;
    let option = "<option value=\"a%0A%E2%80%AE%3Cb%3E\">a\\u000a\\u202e&#60;b&#62;</option>";
    assert!(page.text.contains(option), "{}", page.text);
    let page = trial_form(&page)
        .with_field("profile", "a%0A%E2%80%AE%3Cb%3E")
        .submit(&mut alice.browser)
        .await;
    assert_eq!(result_sentence(&page), "You would not be notified, because of your rule work.");
    assert!(page.text.contains("%3Cb%3E\" selected>"));
    let page = trial_form(&page).with_field("profile", "").submit(&mut alice.browser).await;
    assert!(result_sentence(&page).starts_with("You would be notified, "));
}

#[tokio::test]
async fn the_first_profiles_and_the_chosen_profile_are_listed() {
    let mut alice = alice_with_a_thousand_profiles().await;
    let page = alice.browser.get(TRY_PATH).await;
    assert!(page.text.len() < 200_000, "{} bytes", page.text.len());
    assert_eq!(page.text.matches("<option").count(), 1 + 30);
    let text = visible_text(&page);
    assert!(text.contains("More device profiles, which are not shown here: 970."), "{text}");
    let tag = long_escaped_tag(999);
    let form = trial_form(&page).with_field("profile", &belfry_core::percent::encode(&tag));
    let page = form.submit(&mut alice.browser).await;
    let expected = format!("You would not be notified, because of your rule {}", &tag[..20]);
    assert!(result_sentence(&page).starts_with(&expected), "{}", result_sentence(&page));
    assert!(page.text.len() < 200_000, "{} bytes", page.text.len());
    assert_eq!(page.text.matches("<option").count(), 1 + 31);
    let text = visible_text(&page);
    assert!(text.contains("More device profiles, which are not shown here: 969."), "{text}");
    assert_eq!(page.text.matches(" selected>").count(), 1);
}

#[tokio::test]
async fn only_the_last_100_checked_rules_are_listed() {
    let mut alice = Alice::new().await;
    let text = "&".repeat(180);
    let condition = json!({ "kind": "event_match", "key": text, "pattern": text });
    let rules: Vec<_> = (0..1000)
        .map(long_escaped_tag)
        .map(|id| json!({ "rule_id": id, "actions": [], "conditions": [condition] }))
        .collect();
    let request_line = format!("POST {}", pushrules_path("import"));
    let rules = json!({ "global": { "override": rules } });
    let response = alice.client.send(&request_line, rules.to_string()).await;
    assert_eq!(response.status, 200, "{response:?}");
    let form = trial_form(&alice.browser.get(TRY_PATH).await).with_field("text", "Hello");
    let page = form.submit(&mut alice.browser).await;
    assert!(page.text.len() < 1_000_000, "{} bytes", page.text.len());
    assert_eq!(page.text.matches("<p class=\"rule\">").count(), 100);
    assert_eq!(
        page.text.matches("<li class=\"matched\">").count(),
        1,
        "only the deciding rule matched"
    );
    let text = visible_text(&page);
    assert!(text.contains("Earlier rules, which are not shown here: 9"), "{text}");
}

/// A message with `@room` notifies only if its sender has the permission.
#[tokio::test]
async fn a_room_mention_is_tried_with_and_without_the_permission() {
    let mut alice = Alice::new().await;
    let form = trial_form(&alice.browser.get(TRY_PATH).await);
    let reason = "|@room had no effect: it only counts from a sender who may notify everyone in \
                  the room.|";
    let permitted_form =
        form.clone().with_field("text", "@room Lunch!").with_field("may_notify_room", "on");
    let page = permitted_form.submit(&mut alice.browser).await;
    let expected = "You would be notified with a highlight, because of the built-in rule “Messages \
                    with @room in the text”.";
    assert_eq!(result_sentence(&page), expected);
    assert!(!visible_text(&page).contains(reason));
    assert!(page.text.contains("name=\"may_notify_room\" checked>"), "{}", page.text);
    let message_rule = "global/underride/.m.rule.message/enabled";
    let mention_rule = "global/override/.m.rule.roomnotif/enabled";
    for (rule, enabled, text, has_reason) in [
        (message_rule, true, "@room Lunch!", true),
        (message_rule, true, "Lunch in this room", false),
        (message_rule, false, "@room Lunch!", true),
        (message_rule, false, "Lunch in this room", false),
        (mention_rule, false, "@room Lunch!", false),
    ] {
        alice.client.put_rule_ok(rule, &json!(enabled)).await;
        let page = form.clone().with_field("text", text).submit(&mut alice.browser).await;
        assert_eq!(visible_text(&page).contains(reason), has_reason, "{rule} {enabled} {text}");
        assert!(page.text.contains("name=\"may_notify_room\">"), "{}", page.text);
    }
}

#[tokio::test]
async fn a_trial_stores_nothing_and_is_counted() {
    let mut alice = Alice::new().await;
    let before = alice.client.get_rules("").await;
    let form = trial_form(&alice.browser.get(TRY_PATH).await);
    for _ in 0..2 {
        result_sentence(&form.submit(&mut alice.browser).await);
    }
    assert_eq!(alice.client.get_rules("").await, before);
    let account_id = alice.service.store().account_by_name("alice").await.unwrap().unwrap().id;
    assert!(
        alice.service.store().rulesets(account_id, alice.service.now()).await.unwrap().is_empty()
    );
    let metrics = alice.service.metrics().await;
    let metric = "belfry_evaluation_duration_seconds_count{endpoint=\"explain\"} 2";
    assert!(metrics.contains(metric), "{metrics}");
}

#[tokio::test]
async fn a_trial_stops_at_the_work_budget() {
    let mut alice = Alice::new().await;
    let condition = json!({ "kind": "event_match", "key": "content.body", "pattern": "*b*" });
    let new_rule = |number: usize| {
        let id = format!("rule{number}");
        if number < 500 {
            json!({ "rule_id": id, "actions": [], "conditions": [condition] })
        } else {
            json!({ "rule_id": id, "actions": [], "pattern": format!("word{number}") })
        }
    };
    let (slow_rules, keywords): (Vec<_>, Vec<_>) =
        ((0..500).map(new_rule).collect(), (500..1000).map(new_rule).collect());
    let rules = json!({ "global": { "content": keywords, "underride": slow_rules } });
    let request_line = format!("POST {}", pushrules_path("import"));
    assert_eq!(alice.client.send(&request_line, rules.to_string()).await.status, 200);
    let form =
        trial_form(&alice.browser.get(TRY_PATH).await).with_field("text", &"a".repeat(40_000));
    let page = form.submit(&mut alice.browser).await;
    result_sentence(&page);
    let failed_count = page.text.matches("<li class=\"failed\">").count();
    assert!(
        (90..100).contains(&failed_count),
        "most of the last 100 rules fail, not {failed_count}"
    );
    assert!(page.text.len() < 1_000_000, "{} bytes", page.text.len());
    let budget_text = "It was not checked to the end, because your rules take too much work";
    let unchecked_count = page.text.matches(budget_text).count();
    assert!(
        (1..1000).contains(&unchecked_count),
        "some rules are not checked to the end, not {unchecked_count}"
    );
    let metrics = alice.service.metrics().await;
    assert!(metrics.contains("belfry_evaluation_work_exceeded_total 1"), "{metrics}");
}

/// A concurrent trial by the same user gets 429; a full evaluation queue gets 503.
#[tokio::test]
async fn a_trial_that_would_have_to_wait_is_rejected() {
    let mut alice = Alice::new().await;
    let form = trial_form(&alice.browser.get(TRY_PATH).await);
    let account_id = alice.service.store().account_by_name("alice").await.unwrap().unwrap().id;
    let pool = &alice.service.state.evaluation_pool;
    let slot = pool.enter_for_account(account_id).unwrap();
    let busy_message = "Your last trial is still running, or this server is busy.";
    form.submit(&mut alice.browser).await.assert_page(429, busy_message);
    drop(slot);
    let slots: Vec<_> = std::iter::from_fn(|| pool.enter().ok()).collect();
    form.submit(&mut alice.browser).await.assert_page(503, busy_message);
    drop(slots);
    assert_eq!(form.submit(&mut alice.browser).await.status, 200);
}
