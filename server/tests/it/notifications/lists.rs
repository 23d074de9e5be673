//! Many rules on the page.

use belfry_core::rules::{NewRule, NewRuleLimits, RuleDocument, RuleKind, RulePosition};
use belfry_store::SerializedDocument;
use jiff::Timestamp;
use serde_json::json;

use super::{Alice, PAGE_PATH};
use crate::support::browser::visible_text;

/// Stores as many words, people and rooms as the limits allow. The last 50 words are muted.
async fn add_thousand_rules(alice: &Alice) {
    let account_id = alice.service.store().account_by_name("alice").await.unwrap().unwrap().id;
    let mut document = RuleDocument::new("global".parse().unwrap());
    for (kind, count, prefix) in [
        (RuleKind::Content, 400, ""),
        (RuleKind::Sender, 300, "@"),
        (RuleKind::Room, 299, "!"),
        (RuleKind::Underride, 1, ""),
    ] {
        for number in 0..count {
            let pattern = format!("word {number:03}{}", "x".repeat(500));
            let is_muted = kind != RuleKind::Content || number >= 350;
            let actions = if is_muted { json!([]) } else { json!(["notify"]) };
            let body = json!({"pattern": pattern, "actions": actions});
            let rule = NewRule::parse(
                kind,
                body.to_string().as_bytes(),
                NewRuleLimits::default(),
                Timestamp::UNIX_EPOCH,
            )
            .unwrap();
            let id = format!("{prefix}{number:03}:x").parse().unwrap();
            document.put(kind, id, rule, RulePosition::default()).unwrap();
        }
    }
    let now = alice.service.now();
    let rulesets = alice.service.store().rulesets_for_update(account_id, now).await.unwrap();
    alice
        .service
        .store()
        .save_document(&rulesets, SerializedDocument::new(document))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_thousand_rules_are_split_into_pages() {
    let mut alice = Alice::new().await;
    add_thousand_rules(&alice).await;
    let page = alice.get_page().await;
    assert!(page.text.len() < 200_000, "{} bytes", page.text.len());
    assert_eq!(page.text.matches("value=\"remove-keyword\"").count(), 50);
    let text = visible_text(&page);
    assert!(text.contains("|Page 1 of 20|Next page|"), "{text}");
    assert!(text.contains(&format!("|word 000{}…|", "x".repeat(192))), "{text}");
    assert!(text.contains("|Rules of apps|1|") && !text.contains("|Silent|"), "{text}");

    let page = alice.browser.get(&format!("{PAGE_PATH}?page=8&lang=de")).await;
    let text = visible_text(&page);
    assert!(text.contains("word 399") && text.contains("word 350") && !text.contains("word 349"));
    assert_eq!(page.text.matches("value=\"remove-muted-word\"").count(), 50);
    assert!(!text.contains("@000:x") && text.contains("Vorige Seite|Seite 8 von 20|"), "{text}");
    page.assert_page(200, &format!("<a href=\"{PAGE_PATH}?lang=de&#38;page=9\" rel=\"next\">"));
    let text = visible_text(&alice.browser.get(&format!("{PAGE_PATH}?page=9")).await);
    assert!(text.contains("|@000:x|") && !text.contains("word 399"), "{text}");
    assert!(!text.contains("You have no keywords."), "{text}");
    assert!(!text.contains("You have no muted words."), "{text}");
    let text = visible_text(&alice.browser.get(&format!("{PAGE_PATH}?page=20")).await);
    assert!(text.contains("|000:x|Silent|"), "{text}");
    // A page number that does not exist opens the first or the last page.
    for number in ["21", "99999999999999999999", "0", "-1", "x"] {
        alice.browser.get(&format!("{PAGE_PATH}?page={number}")).await.assert_page(200, "</html>");
    }
}

#[tokio::test]
async fn the_page_after_a_change_shows_the_changed_entry() {
    let mut alice = Alice::new().await;
    add_thousand_rules(&alice).await;
    for id in ["000:x", "001:x"] {
        alice.app.delete_rule(&format!("global/content/{id}")).await;
    }
    for (fields, page, part) in [
        ([("change", "keyword"), ("word", "word 400"), ("sound", "on")], 7, "keywords"),
        ([("change", "mute-word"), ("word", "word 401"), ("sound", "")], 8, "muted-words"),
        ([("change", "subject"), ("id", "!280:x"), ("choice", "notify")], 20, "subjects"),
    ] {
        let response = alice.post_to(&format!("{PAGE_PATH}?lang=de&page=3"), &fields).await;
        let location = format!("{PAGE_PATH}?lang=de&page={page}&part={part}&notice=saved#{part}");
        assert_eq!(response.header("location"), location);
        let text = visible_text(&alice.browser.follow(&response).await);
        assert!(text.contains("|Gespeichert.|") && text.contains(fields[1].1), "{text}");
    }
}
