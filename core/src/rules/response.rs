//! Response of `GET /pushrules/`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

use super::{Document, Rule, RuleScope, Ruleset, User};

/// All rulesets of a user, built-in rules included.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RulesetsResponse<'a> {
    /// The rulesets of devices that have at least one rule, by profile tag.
    pub device: BTreeMap<&'a str, Ruleset<Cow<'a, Rule>>>,
    /// The ruleset for all devices.
    pub global: Ruleset<Cow<'a, Rule>>,
}

impl<'a> RulesetsResponse<'a> {
    /// Builds the response from the stored documents of the user.
    pub fn new(documents: impl IntoIterator<Item = &'a Document>, user: User<'_>) -> Self {
        let (mut global, mut device) = (Document::without_rules(), BTreeMap::new());
        for document in documents {
            match document.scope() {
                RuleScope::Global => global = document,
                RuleScope::Device(_) if document.is_empty() => {}
                RuleScope::Device(tag) => {
                    device.insert(tag.as_str(), document.ruleset(user));
                }
            }
        }
        Self { device, global: global.ruleset(user) }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::rules::{NewRule, NewRuleLimits, Position, RuleKind};

    #[test]
    fn the_response_has_the_global_ruleset_and_devices_with_a_rule() {
        let body = br#"{"actions":[]}"#;
        let documents = ["device/b", "device/a", "global", "device/empty"].map(|scope| {
            let mut document = Document::new(scope.parse().unwrap());
            if scope != "device/empty" {
                let new = NewRule::read(
                    RuleKind::Room,
                    body,
                    NewRuleLimits::default(),
                    Timestamp::UNIX_EPOCH,
                )
                .unwrap();
                document
                    .put(RuleKind::Room, "r".parse().unwrap(), new, Position::default())
                    .unwrap();
            }
            document
        });
        let user = User::new("@alice:x");
        let response = json!(RulesetsResponse::new(&documents, user));
        let tags: Vec<&String> = response["device"].as_object().unwrap().keys().collect();
        assert_eq!(tags, ["a", "b"]);
        for ruleset in [&response["global"], &response["device"]["a"]] {
            assert_eq!(ruleset["room"][0]["rule_id"], "r");
            assert_eq!(ruleset.as_object().unwrap().len(), 5);
        }
        assert_eq!(response["device"]["a"]["override"], json!([]));
        assert_eq!(response["global"]["override"][0]["rule_id"], ".m.rule.master");
    }
}
