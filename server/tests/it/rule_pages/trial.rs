//! Trying the rules with a message.

use serde_json::json;

use super::{
    Alice, PageForm, TRY, alice_with_a_thousand_profiles, forms, hostile_names, hostile_tag,
    location, notify, rule_path, unescape,
};
use crate::oauth::assert_security_headers;
use crate::rules::pushrules;
use crate::support::TestResponse;
use crate::support::browser::visible_text;
use crate::support::service::START;

/// Returns the form on the page, with `Hello` as the message if it has none.
pub(super) fn trial_form(page: &TestResponse) -> PageForm {
    let form = forms(page).into_iter().find(|form| form.value("text").is_some()).unwrap();
    if form.value("text") == Some("") { form.set("text", "Hello") } else { form }
}

/// Returns the sentence with the result, without tags and bidirectional isolates.
fn sentence(page: &TestResponse) -> String {
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
    let page = alice.browser.get(TRY).await;
    page.assert_page(200, "<h1>Try a message</h1>");
    assert_security_headers(&page, "'self'");
    let form = trial_form(&page);
    assert_eq!(form.value("name"), Some("alice"));
    let sound = json!(["notify", { "set_tweak": "sound" }]);
    for (path, body) in [
        ("global/content/sweets", json!({ "pattern": "cake", "actions": sound })),
        ("global/room/!quiet:x", json!({ "actions": [] })),
        ("global/room/!loud:x", notify()),
        ("global/sender/@bob:x", json!({ "actions": [] })),
        ("global/sender/@boss:x", json!({ "actions": sound })),
    ] {
        alice.client.put_ok(path, &body).await;
    }
    let any = "because of the built-in rule for all other messages";
    for (text, sender, room, members, expected) in [
        ("Hello", "@x:x", "!r:x", "3", &*format!("You would be notified, {any}.")),
        ("Hello", "@x:x", "!r:x", "", &*format!("You would be notified, {any}.")),
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
        let form = form.clone().set("text", text).set("sender", sender).set("room", room);
        let form = form.set("members", members).set("name", "Alice B");
        let page = form.submit(&mut alice.browser).await;
        assert_eq!(sentence(&page), expected, "{text} {sender} {room}");
        // No rule is checked for the user's own message.
        let has_list = page.text.contains("The rules that were checked");
        assert_eq!(has_list, sender != "@alice:ring.example", "{sender}");
        // The form is filled in.
        for field in ["text", "sender", "room", "members", "name"] {
            assert_eq!(trial_form(&page).value(field), form.value(field), "{field}");
        }
    }
    alice.client.put_ok("global/override/.m.rule.master/enabled", &json!(true)).await;
    let page = form.submit(&mut alice.browser).await;
    assert_eq!(sentence(&page), "You would not be notified, because everything is paused.");
}

#[tokio::test]
async fn the_switch_or_the_muted_word_that_silences_a_message_is_named() {
    let mut alice = Alice::new().await;
    let muted = json!({ "pattern": "spam", "actions": [] });
    alice.client.put_ok("global/content/spam", &muted).await;
    let form = trial_form(&alice.browser.get(TRY).await);
    let page = form.clone().set("text", "More spam").submit(&mut alice.browser).await;
    assert_eq!(sentence(&page), "You would not be notified, because you muted the word spam.");
    for change in ["enabled", "actions"] {
        let silent = if change == "enabled" { json!(false) } else { json!({ "actions": [] }) };
        let rule = "global/underride/.m.rule.message";
        alice.client.put_ok(&format!("{rule}/{change}"), &silent).await;
        let page = form.clone().set("text", "Hello").submit(&mut alice.browser).await;
        let expected = "You would not be notified, because you switched off “Notify me of \
                        messages in all other rooms”.";
        assert_eq!(sentence(&page), expected, "{change}");
        alice.client.put_ok(&format!("{rule}/enabled"), &json!(true)).await;
    }
}

#[tokio::test]
async fn notified_and_silent_differ_in_icon_text_and_colour() {
    let mut alice = Alice::new().await;
    let form = trial_form(&alice.browser.get(TRY).await).set("text", "Hello");
    let notified = form.submit(&mut alice.browser).await;
    alice.client.put_ok("global/override/.m.rule.master/enabled", &json!(true)).await;
    let silent = form.submit(&mut alice.browser).await;
    let result = |page: &TestResponse| {
        let (class, rest) =
            page.text.split_once("<div class=\"result").unwrap().1.split_once("\">").unwrap();
        let icon = rest.split_once("</svg>").unwrap().0;
        (class.to_owned(), icon.to_owned())
    };
    let ((loud, bell), (quiet, crossed_bell)) = (result(&notified), result(&silent));
    assert_eq!((&*loud, &*quiet), ("", " silent"));
    assert_ne!(bell, crossed_bell);
    let text = visible_text(&notified);
    assert!(text.contains("Result|Notified|You would be notified,"), "{text}");
    let text = visible_text(&silent);
    assert!(text.contains("Result|Silent|You would not be notified,"), "{text}");
}

#[tokio::test]
async fn the_expiry_of_a_timed_rule_is_shown() {
    let mut alice = Alice::new().await;
    let until = (START + 3600) * 1000;
    alice.client.put_ok("global/room/!r:x", &json!({ "actions": [], "until": until })).await;
    let form = trial_form(&alice.browser.get(TRY).await).set("text", "Hello").set("room", "!r:x");
    let page = form.submit(&mut alice.browser).await;
    assert_eq!(sentence(&page), "You would not be notified, because you muted this room.");
    let end = "That rule ends on|2027-01-15 09:00 UTC|.";
    assert!(visible_text(&page).contains(end), "{}", page.text);
    // A script shows the time in the browser's time zone.
    let time = "<time datetime=\"2027-01-15T09:00:00Z\" data-format=\"full\">";
    assert!(page.text.contains(time), "{}", page.text);
    let pause = json!({ "enabled": true, "until": until });
    alice.client.put_ok("global/override/.m.rule.master/enabled", &pause).await;
    let page = form.submit(&mut alice.browser).await;
    let expected =
        "You would not be notified, because everything is paused until 2027-01-15 09:00 UTC.";
    assert_eq!(sentence(&page), expected);
    assert!(!page.text.contains("That rule ends"));
    let list = alice.browser.get(super::RULES).await;
    assert_eq!(visible_text(&list).matches("|Until|2027-01-15 09:00 UTC|").count(), 2);

    alice.service.clock.advance(3600);
    let page = form.submit(&mut alice.browser).await;
    assert!(sentence(&page).starts_with("You would be notified, because of the built-in rule"));
    let list = alice.browser.get(super::RULES).await;
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
        alice.client.put_ok(path, &body).await;
    }
    let form =
        trial_form(&alice.browser.get(TRY).await).set("text", "Hello @room").set("room", "!r:x");
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
    assert!(!alice.browser.get(TRY).await.text.contains("<select"));
    let tag = "a\n\u{202e}<b>";
    alice
        .client
        .put_ok(&rule_path(&format!("device/{tag}"), "override", "work"), &json!({ "actions": [] }))
        .await;
    let page = alice.browser.get(TRY).await;
    let option = "<option value=\"a%0A%E2%80%AE%3Cb%3E\">a\\u000a\\u202e&#60;b&#62;</option>";
    assert!(page.text.contains(option), "{}", page.text);
    let page =
        trial_form(&page).set("profile", "a%0A%E2%80%AE%3Cb%3E").submit(&mut alice.browser).await;
    assert_eq!(sentence(&page), "You would not be notified, because of your rule work.");
    assert!(page.text.contains("%3Cb%3E\" selected>"));
    let page = trial_form(&page).set("profile", "").submit(&mut alice.browser).await;
    assert!(sentence(&page).starts_with("You would be notified, "));
}

#[tokio::test]
async fn the_first_profiles_and_the_chosen_one_are_listed() {
    let mut alice = alice_with_a_thousand_profiles().await;
    let page = alice.browser.get(TRY).await;
    assert!(page.text.len() < 200_000, "{} bytes", page.text.len());
    assert_eq!(page.text.matches("<option").count(), 1 + 30);
    let text = visible_text(&page);
    assert!(text.contains("More device profiles, which are not shown here: 970."), "{text}");
    let tag = hostile_tag(999);
    let form = trial_form(&page).set("profile", &belfry_core::percent::encode(&tag));
    let page = form.submit(&mut alice.browser).await;
    let because = format!("You would not be notified, because of your rule {}", &tag[..20]);
    assert!(sentence(&page).starts_with(&because), "{}", sentence(&page));
    assert!(page.text.len() < 200_000, "{} bytes", page.text.len());
    assert_eq!(page.text.matches("<option").count(), 1 + 31);
    assert_eq!(page.text.matches(" selected>").count(), 1);
}

#[tokio::test]
async fn only_the_last_100_checked_rules_are_shown() {
    let mut alice = Alice::new().await;
    let text = "&".repeat(180);
    let condition = json!({ "kind": "event_match", "key": text, "pattern": text });
    let rules: Vec<_> = (0..1000)
        .map(hostile_tag)
        .map(|id| json!({ "rule_id": id, "actions": [], "conditions": [condition] }))
        .collect();
    let import = format!("POST {}", pushrules("import"));
    let rules = json!({ "global": { "override": rules } });
    let response = alice.client.send(&import, rules.to_string()).await;
    assert_eq!(response.status, 200, "{response:?}");
    let form = trial_form(&alice.browser.get(TRY).await).set("text", "Hello");
    let page = form.submit(&mut alice.browser).await;
    assert!(page.text.len() < 1_000_000, "{} bytes", page.text.len());
    assert_eq!(page.text.matches("<p class=\"rule\">").count(), 100);
    assert_eq!(page.text.matches("<li class=\"matched\">").count(), 1, "the last one decided");
    let text = visible_text(&page);
    assert!(text.contains("Earlier rules, which are not shown here: 9"), "{text}");
}

#[tokio::test]
async fn an_invalid_number_is_reported_next_to_its_field() {
    let mut alice = Alice::new().await;
    let form = trial_form(&alice.browser.get(TRY).await).set("text", "Hi");
    for members in ["x", "-1", "0", "1.5", "99999999999999999999"] {
        let page = form.clone().set("members", members).submit(&mut alice.browser).await;
        page.assert_page(422, "id=\"members-error\">Please enter a whole number of at least 1.");
        assert_eq!(trial_form(&page).value("members"), Some(members));
        assert_eq!(trial_form(&page).value("text"), Some("Hi"));
        assert!(!page.text.contains("class=\"sentence\""));
    }
}

#[tokio::test]
async fn a_message_without_text_is_reported_next_to_its_field() {
    let mut alice = Alice::new().await;
    let form = trial_form(&alice.browser.get(TRY).await);
    for text in ["", " \r\n "] {
        let page = form.clone().set("text", text).submit(&mut alice.browser).await;
        page.assert_page(422, "id=\"text-error\">Please enter a message.");
        assert_eq!(page.text.matches("-error\">").count(), 1, "{page:?}");
        assert!(!page.text.contains("class=\"sentence\""), "{page:?}");
    }
    let page = form.set("text", "").set("sender", "bob").submit(&mut alice.browser).await;
    let focused = page.text.split_once(" autofocus").unwrap().0.rsplit_once(" id=\"").unwrap().1;
    assert!(focused.starts_with("text\""), "{focused}");
}

/// A message with `@room` notifies only if its sender has the permission.
#[tokio::test]
async fn a_room_mention_is_tried_with_and_without_the_permission() {
    let mut alice = Alice::new().await;
    let form = trial_form(&alice.browser.get(TRY).await);
    let reason = "|@room had no effect: it only counts from a sender who may notify everyone in \
                  the room.|";
    let page = form.clone().set("text", "@room Lunch!").set("may_notify_room", "on");
    let page = page.submit(&mut alice.browser).await;
    let expected = "You would be notified with a highlight, because of the built-in rule “Messages \
                    with @room in the text”.";
    assert_eq!(sentence(&page), expected);
    assert!(!visible_text(&page).contains(reason));
    assert!(page.text.contains("name=\"may_notify_room\" checked>"), "{}", page.text);
    let message = "global/underride/.m.rule.message/enabled";
    let mention = "global/override/.m.rule.roomnotif/enabled";
    for (rule, enabled, text, is_named) in [
        (message, true, "@room Lunch!", true),
        (message, true, "Lunch in this room", false),
        (message, false, "@room Lunch!", true),
        (message, false, "Lunch in this room", false),
        (mention, false, "@room Lunch!", false),
    ] {
        alice.client.put_ok(rule, &json!(enabled)).await;
        let page = form.clone().set("text", text).submit(&mut alice.browser).await;
        assert_eq!(visible_text(&page).contains(reason), is_named, "{rule} {enabled} {text}");
        assert!(page.text.contains("name=\"may_notify_room\">"), "{}", page.text);
    }
}

#[tokio::test]
async fn an_invalid_sender_or_room_is_reported_next_to_its_field() {
    let mut alice = Alice::new().await;
    let form = trial_form(&alice.browser.get(TRY).await).set("text", "Hi");
    let not_an_id = "This is not an id. The id of a person looks like @name:server, the id of a \
                     room like !id:server.";
    for (field, value, error) in [
        ("sender", "bob", not_an_id),
        ("sender", "!room:x", not_an_id),
        ("sender", "https://chat.example/bob", not_an_id),
        ("sender", "@bob", "The server is missing."),
        ("sender", &*format!("@{}:x", "b".repeat(255)), "This is too long for an id."),
        ("room", "Kitchen", not_an_id),
        ("room", "@bob:x", not_an_id),
        ("room", "#kitchen:x", "This is the address of a room, not its id."),
    ] {
        let page = form.clone().set(field, value).submit(&mut alice.browser).await;
        page.assert_page(422, &format!("id=\"{field}-error\">{error}"));
        assert_eq!(page.text.matches("-error\">").count(), 1, "{value}");
        assert_eq!(trial_form(&page).value(field), Some(value));
        assert_eq!(trial_form(&page).value("text"), Some("Hi"));
        assert!(!page.text.contains("class=\"sentence\""), "{value}");
    }
    let invalid = form.set("sender", "bob").set("room", "Kitchen").set("members", "x");
    let page = invalid.submit(&mut alice.browser).await;
    for field in ["sender", "room", "members"] {
        page.assert_page(422, &format!("id=\"{field}-error\""));
    }
    assert_eq!(page.text.matches(" autofocus").count(), 1);
}

#[tokio::test]
async fn sender_and_room_can_be_links_or_blank() {
    let mut alice = Alice::new().await;
    for path in ["global/sender/@bob:x", "global/room/!quiet:x"] {
        alice.client.put_ok(path, &json!({ "actions": [] })).await;
    }
    let form = trial_form(&alice.browser.get(TRY).await).set("text", "Hi");
    for (sender, room, expected) in [
        ("https://matrix.to/#/@bob:x", "", "You would not be notified, because you muted @bob:x."),
        (
            "",
            "https://matrix.to/#/!quiet%3Ax?via=x",
            "You would not be notified, because you muted this room.",
        ),
        // A user id that cannot be a rule id.
        (
            "@bob/work:x",
            "",
            "You would be notified, because of the built-in rule for all other messages.",
        ),
    ] {
        let form = form.clone().set("sender", sender).set("room", room);
        assert_eq!(sentence(&form.submit(&mut alice.browser).await), expected);
    }
}

#[tokio::test]
async fn hostile_text_is_escaped() {
    let mut alice = Alice::new().await;
    for name in hostile_names() {
        let rule = rule_path("global", "content", &name);
        alice.client.put_ok(&rule, &json!({ "actions": [], "pattern": name })).await;
    }
    let hostile = "</textarea><script>alert(1)</script>\" onfocus=\"alert(1)";
    let set_all = |form: PageForm, fields: &[&str]| {
        fields.iter().fold(form, |form, field| form.set(field, hostile))
    };
    let form = set_all(trial_form(&alice.browser.get(TRY).await), &["text", "name", "profile"]);
    let result_page = form.submit(&mut alice.browser).await;
    sentence(&result_page);
    let form = set_all(form, &["sender", "room"]);
    let rejected = form.submit(&mut alice.browser).await;
    assert_eq!(rejected.status, 422);
    assert_eq!(trial_form(&rejected).value("sender"), Some(hostile));
    for page in [result_page, rejected] {
        for raw in ["<script>", " onfocus=\"", "\u{202e}", "\r"] {
            assert!(!page.text.contains(raw), "{raw:?}: {}", page.text);
        }
    }
}

#[tokio::test]
async fn nothing_is_stored_and_the_evaluation_is_counted() {
    let mut alice = Alice::new().await;
    let before = alice.client.get_rules("").await;
    let form = trial_form(&alice.browser.get(TRY).await);
    for _ in 0..2 {
        sentence(&form.submit(&mut alice.browser).await);
    }
    assert_eq!(alice.client.get_rules("").await, before);
    let account = alice.service.store().account_by_name("alice").await.unwrap().unwrap().id;
    assert!(alice.service.store().rulesets(account, alice.service.now()).await.unwrap().is_empty());
    let metrics = alice.service.metrics().await;
    let metric = "belfry_evaluation_duration_seconds_count{endpoint=\"explain\"} 2";
    assert!(metrics.contains(metric), "{metrics}");
}

#[tokio::test]
async fn a_thousand_rules_are_tried_within_the_work_limit() {
    let mut alice = Alice::new().await;
    let condition = json!({ "kind": "event_match", "key": "content.body", "pattern": "*b*" });
    let rule = |number: usize| {
        let id = format!("rule{number}");
        if number < 500 {
            json!({ "rule_id": id, "actions": [], "conditions": [condition] })
        } else {
            json!({ "rule_id": id, "actions": [], "pattern": format!("word{number}") })
        }
    };
    let (slow, keywords): (Vec<_>, Vec<_>) =
        ((0..500).map(rule).collect(), (500..1000).map(rule).collect());
    let rules = json!({ "global": { "content": keywords, "underride": slow } });
    let import = format!("POST {}", pushrules("import"));
    assert_eq!(alice.client.send(&import, rules.to_string()).await.status, 200);
    let form = trial_form(&alice.browser.get(TRY).await).set("text", &"a".repeat(40_000));
    let page = form.submit(&mut alice.browser).await;
    sentence(&page);
    let failed = page.text.matches("<li class=\"failed\">").count();
    assert!((90..100).contains(&failed), "{failed} of the last 100 rules");
    assert!(page.text.len() < 1_000_000, "{} bytes", page.text.len());
    let text = "It was not checked to the end, because your rules take too much work";
    let unchecked = page.text.matches(text).count();
    assert!((1..1000).contains(&unchecked), "{unchecked} rules were not checked");
    let metrics = alice.service.metrics().await;
    assert!(metrics.contains("belfry_evaluation_work_exceeded_total 1"), "{metrics}");
}

#[tokio::test]
async fn a_form_sent_after_the_session_ended_leads_to_the_sign_in_page() {
    let mut alice = Alice::new().await;
    let form = trial_form(&alice.browser.get(TRY).await);
    alice.expire_sessions();
    let response = form.submit(&mut alice.browser).await;
    let expected = "/oauth/sign_in?return_to=try&notice=not-saved";
    assert_eq!(location(&response), expected);
}

#[tokio::test]
async fn a_form_from_another_site_is_rejected() {
    let mut alice = Alice::new().await;
    let form = trial_form(&alice.browser.get(TRY).await);
    alice.browser.fetch_site = Some("cross-site");
    form.submit(&mut alice.browser).await.assert_page(403, "This form could not be checked");
}

/// A second trial of the same user is not a server error, but a full queue is.
#[tokio::test]
async fn a_trial_that_would_wait_is_rejected_with_a_status_for_the_cause() {
    let mut alice = Alice::new().await;
    let form = trial_form(&alice.browser.get(TRY).await);
    let account = alice.service.store().account_by_name("alice").await.unwrap().unwrap().id;
    let pool = &alice.service.state.evaluation_pool;
    let slot = pool.enter_for_account(account).unwrap();
    let busy = "Your last trial is still running, or this server is busy.";
    form.submit(&mut alice.browser).await.assert_page(429, busy);
    drop(slot);
    let slots: Vec<_> = std::iter::from_fn(|| pool.enter().ok()).collect();
    form.submit(&mut alice.browser).await.assert_page(503, busy);
    drop(slots);
    assert_eq!(form.submit(&mut alice.browser).await.status, 200);
}
