//! The rules of apps, which the preferences on the page cannot show.

use serde_json::json;

use super::{Alice, PAGE_PATH};
use crate::support::browser::visible_text;
use crate::support::service::START_SECONDS;

const HEADING: &str = "|Rules of apps|";

#[tokio::test]
async fn rules_that_express_no_preference_are_listed_in_evaluation_order() {
    let mut alice = Alice::new().await;
    let conditions = json!([{"kind": "contains_display_name"}]);
    let silent = json!({"actions": [], "conditions": conditions});
    let loud = json!(["notify", {"set_tweak": "sound"}, {"set_tweak": "highlight"}]);
    let until = (START_SECONDS + 3600) * 1000;
    let night = json!({"kind": "time_and_day", "intervals": [{"time_of_day": ["22:00", "23:00"]}]});
    assert!(!visible_text(&alice.get_page().await).contains(HEADING));
    for (path, body) in [
        ("global/underride/rest", json!({"actions": loud, "conditions": conditions})),
        ("global/override/night", json!({"actions": [], "conditions": [night]})),
        ("global/override/polls", json!({"actions": [], "conditions": conditions, "until": until})),
        ("global/room/%23tea:x", silent.clone()),
        ("global/content/cake", json!({"actions": [], "pattern": "cake"})),
        ("global/underride/.m.rule.message/enabled", json!(false)),
        ("device/phone/override/work", silent),
    ] {
        alice.put_rule(path, &body).await;
    }
    alice.put_rule("global/underride/rest/enabled", &json!(false)).await;
    let page = alice.get_page().await;
    let text = visible_text(&page).replace(['\u{2068}', '\u{2069}'], "");
    let (_, rules) = text.split_once(HEADING).unwrap();
    let mut rest = rules;
    for expected in [
        "4|Apps have made these rules",
        "|polls|Silent|Until|09:00 UTC|",
        "|Switch off|Delete|",
        "|night|Quiet hours|",
        "|Messages in the room #tea:x|Silent|",
        "|rest|Off|Notifies|Sound|Highlight|",
        "|Switch on again|Delete|",
    ] {
        let expected = expected.trim_start_matches('|');
        let Some((_, after)) = rest.split_once(expected) else { panic!("{expected}: {rest}") };
        rest = after;
    }
    assert!(!rules.contains("cake") && !rules.contains("work"), "{text}");
    let page = alice.browser.get(&format!("{PAGE_PATH}?profile=phone")).await;
    assert!(visible_text(&page).split_once(HEADING).unwrap().1.contains("work"), "{page:?}");
}

#[tokio::test]
async fn a_rule_is_switched_off_and_on_and_deleted() {
    let mut alice = Alice::new().await;
    let body = json!({"actions": [], "conditions": []});
    for (path, page_path) in [
        ("global/underride/rest", PAGE_PATH.to_owned()),
        ("device/phone/override/rest", format!("{PAGE_PATH}?profile=phone")),
    ] {
        alice.put_rule(path, &body).await;
        let rule = if path.starts_with("global") { "underride%2Frest" } else { "override%2Frest" };
        let separator = if page_path.contains('?') { '&' } else { '?' };
        for (change, notice) in
            [("disable-rule", "saved"), ("enable-rule", "saved"), ("remove-rule", "removed")]
        {
            let page = alice.browser.get(&page_path).await;
            page.assert_page(
                200,
                &format!("<input type=\"hidden\" name=\"rule\" value=\"{rule}\">"),
            );
            let response = alice.post_to(&page_path, &[("change", change), ("rule", rule)]).await;
            let location = format!("{page_path}{separator}part=rules&notice={notice}#rules");
            assert_eq!(response.header("location"), location);
            let text = visible_text(&alice.browser.follow(&response).await);
            let text = text.split_once(HEADING).unwrap().1.to_owned();
            assert!(text.contains("Saved.") || text.contains("0|Removed."), "{text}");
            if change != "remove-rule" {
                let enabled = alice.get_rules(&format!("{path}/enabled")).await;
                assert_eq!(enabled, json!({"enabled": change == "enable-rule"}), "{path}");
            }
        }
        let (kind_path, _) = path.rsplit_once('/').unwrap();
        assert_eq!(alice.app.user_rule_ids(&format!("{kind_path}/")).await, [""; 0], "{path}");
    }
    // The rule is gone.
    let page = alice.post(&[("change", "disable-rule"), ("rule", "underride%2Frest")]).await;
    page.assert_page(409, "\u{2068}rest\u{2069} was removed in the meantime");
    for rule in ["", "rest", "elsewhere%2Frest", "%ff"] {
        let response = alice.post(&[("change", "remove-rule"), ("rule", rule)]).await;
        assert_eq!(response.status, 400, "{rule}: {response:?}");
    }
}
