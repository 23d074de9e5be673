//! Response of `GET /pushrules/`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Serialize;

use super::builtin::{LOCALPART_PLACEHOLDER, USER_ID_PLACEHOLDER};
use super::{Rule, RuleDocument, RuleScope, Ruleset, User};
use crate::json;

/// All rulesets of a user, built-in rules included.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RulesetsResponse<'a> {
    /// The rulesets of devices that have at least one rule, by profile tag.
    pub device: BTreeMap<&'a str, Ruleset<Cow<'a, Rule>>>,
    pub global: Ruleset<Cow<'a, Rule>>,
}

impl<'a> RulesetsResponse<'a> {
    /// Builds the response from the user's stored documents.
    pub fn new(documents: impl IntoIterator<Item = &'a RuleDocument>, user: User<'_>) -> Self {
        let mut global = RuleDocument::without_rules();
        let mut device = BTreeMap::new();
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

/// Serializes the response for a user without stored documents.
///
/// Most users have none. Serializing the built-in rules takes longer than all other work of such a
/// request, and caching the response would take 3 KB per user. So it is serialized once, with
/// placeholders that are replaced by each user's id and localpart.
pub fn default_response(user: User<'_>) -> Vec<u8> {
    static TEMPLATE: LazyLock<String> = LazyLock::new(|| {
        serialize_default_rules(User { id: USER_ID_PLACEHOLDER, localpart: LOCALPART_PLACEHOLDER })
    });
    let quote = |text: &str| format!("\"{text}\"");
    let [id, localpart] = [user.id, user.localpart]
        .map(|name| String::from_utf8(json::to_bytes(&name)).expect("UTF-8"));
    TEMPLATE
        .replace(&quote(USER_ID_PLACEHOLDER), &id)
        .replace(&quote(LOCALPART_PLACEHOLDER), &localpart)
        .into_bytes()
}

fn serialize_default_rules(user: User<'_>) -> String {
    String::from_utf8(json::to_bytes(&RulesetsResponse::new([], user))).expect("UTF-8")
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::rules::{NewRule, NewRuleLimits, RuleKind, RulePosition};

    #[test]
    fn the_response_has_the_global_ruleset_and_devices_with_a_rule() {
        let body = br#"{"actions":[]}"#;
        let documents = ["device/b", "device/a", "global", "device/empty"].map(|scope| {
            let mut document = RuleDocument::new(scope.parse().unwrap());
            if scope != "device/empty" {
                let new_rule = NewRule::parse(
                    RuleKind::Room,
                    body,
                    NewRuleLimits::default(),
                    Timestamp::UNIX_EPOCH,
                )
                .unwrap();
                document
                    .put(RuleKind::Room, "r".parse().unwrap(), new_rule, RulePosition::default())
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

    #[test]
    fn the_default_response_equals_the_serialized_rules() {
        for id in
            ["@alice:ring.example", "@a:[::1]:8448", "@\"\\:x", "@<user id>:x", "@<localpart>:x"]
        {
            let user = User::new(id);
            let response = String::from_utf8(default_response(user)).unwrap();
            assert_eq!(response, serialize_default_rules(user), "{id}");
        }
    }
}
