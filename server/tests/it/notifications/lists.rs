//! Many rules on the page.

use belfry_core::rules::{Document, NewRule, NewRuleLimits, Position, RuleKind};
use belfry_store::SerializedDocument;
use jiff::Timestamp;
use serde_json::json;

use super::{Alice, PAGE};
use crate::support::browser::visible_text;

/// Stores as many keywords, people and rooms as the limits allow.
async fn fill(alice: &Alice) {
    let account = alice.service.store().account_by_name("alice").await.unwrap().unwrap().id;
    let mut document = Document::new("global".parse().unwrap());
    for (kind, count, prefix) in [
        (RuleKind::Content, 400, ""),
        (RuleKind::Sender, 300, "@"),
        (RuleKind::Room, 299, "!"),
        (RuleKind::Underride, 1, ""),
    ] {
        for number in 0..count {
            let body =
                json!({"pattern": format!("word {number:03}{}", "x".repeat(500)), "actions": []});
            let rule = NewRule::read(
                kind,
                body.to_string().as_bytes(),
                NewRuleLimits::default(),
                Timestamp::UNIX_EPOCH,
            )
            .unwrap();
            let id = format!("{prefix}{number:03}:x").parse().unwrap();
            document.put(kind, id, rule, Position::default()).unwrap();
        }
    }
    let now = alice.service.now();
    let read = alice.service.store().rulesets_for_update(account, now).await.unwrap();
    alice.service.store().save_ruleset(&read, SerializedDocument::new(document)).await.unwrap();
}

#[tokio::test]
async fn a_thousand_rules_are_shown() {
    let mut alice = Alice::new().await;
    fill(&alice).await;
    let page = alice.page().await;
    assert!(page.text.len() < 2_000_000, "{} bytes", page.text.len());
    assert_eq!(page.text.matches("<details>").count(), 999);
    let text = visible_text(&page);
    assert!(text.contains(&format!("|word 000{}…|", "x".repeat(192))), "{text}");
    assert!(text.contains("You have rules that this page cannot show: 1.|All rules"), "{text}");
    page.page(200, "<a href=\"/oauth/account/rules\">All rules</a>");

    alice.app.delete("global/content/000:x").await;
    let fields = [("change", "keyword"), ("word", "word 400"), ("sound", "on")];
    let response = alice.post_to(&format!("{PAGE}?lang=de"), &fields).await;
    let location = format!("{PAGE}?lang=de&part=keywords&notice=saved#keywords");
    assert_eq!(response.header("location"), location);
    let text = visible_text(&alice.browser.follow(&response).await);
    assert!(text.contains("|word 400|") && !text.contains("|word 000"), "{text}");
}
