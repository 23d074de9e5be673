//! Response of `GET /pushrules/`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Serialize;

use super::builtin::{LOCALPART, USER_ID};
use super::{Document, Rule, RuleScope, Ruleset, User};
use crate::json;

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
    #[must_use]
    pub fn new(documents: impl IntoIterator<Item = &'a Document>, user: User<'_>) -> Self {
        static WITHOUT_RULES: LazyLock<Document> =
            LazyLock::new(|| Document::new(RuleScope::Global));
        let (mut global, mut device) = (&*WITHOUT_RULES, BTreeMap::new());
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

/// Serialises the response for these documents.
#[must_use]
pub fn answer<'a>(documents: impl Iterator<Item = &'a Document>, user: User<'_>) -> Vec<u8> {
    json::write(&RulesetsResponse::new(documents, user))
}

/// What a user sees who has not said anything yet. It is the same for all but for the user's name
/// in three places, so it is put together from ready pieces, and nobody need keep it.
#[must_use]
pub fn untouched(user: User<'_>) -> Vec<u8> {
    static PIECES: LazyLock<Vec<Piece>> = LazyLock::new(pieces);
    let (id, localpart) = (json::write(&user.id), json::write(&user.localpart));
    let parts = PIECES.iter().map(|piece| match piece {
        Piece::Text(text) => text.as_bytes(),
        Piece::Id => &id,
        Piece::Localpart => &localpart,
    });
    let mut whole = Vec::with_capacity(parts.clone().map(<[u8]>::len).sum());
    parts.for_each(|part| whole.extend_from_slice(part));
    whole
}

enum Piece {
    Text(String),
    Id,
    Localpart,
}

/// The answer of a user whose name is the placeholders, cut at them.
fn pieces() -> Vec<Piece> {
    let nobody = User { id: USER_ID, localpart: LOCALPART };
    let whole = String::from_utf8(answer([].into_iter(), nobody)).expect("JSON is UTF-8");
    let mut pieces = Vec::new();
    for (index, part) in whole.split(&format!("{USER_ID:?}")).enumerate() {
        if index > 0 {
            pieces.push(Piece::Id);
        }
        for (index, text) in part.split(&format!("{LOCALPART:?}")).enumerate() {
            if index > 0 {
                pieces.push(Piece::Localpart);
            }
            pieces.push(Piece::Text(text.to_owned()));
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::rules::{NewRule, Position, RuleKind};

    #[test]
    fn the_answer_put_together_is_the_answer_written_out() {
        for id in ["@alice:ring.example", "@a:[::1]:8448", "@\"\\:x", "@<user id>:x"] {
            let user = User::new(id);
            let written = answer([].into_iter(), user);
            assert_eq!(String::from_utf8(untouched(user)), String::from_utf8(written), "{id}");
        }
        let names = pieces().into_iter().filter(|piece| !matches!(piece, Piece::Text(_))).count();
        assert_eq!(names, 3);
    }

    #[test]
    fn an_answer_has_global_and_the_devices_that_have_a_rule() {
        let body = br#"{"actions":[]}"#;
        let documents = ["device/b", "device/a", "global", "device/empty"].map(|scope| {
            let mut document = Document::new(scope.parse().unwrap());
            if scope != "device/empty" {
                let new = NewRule::read(RuleKind::Room, body).unwrap();
                document
                    .put(RuleKind::Room, "r".parse().unwrap(), new, Position::default())
                    .unwrap();
            }
            document
        });
        let user = User::new("@alice:x");
        let whole: Value = serde_json::from_slice(&answer(documents.iter(), user)).unwrap();
        let tags: Vec<&String> = whole["device"].as_object().unwrap().keys().collect();
        assert_eq!(tags, ["a", "b"]);
        for ruleset in [&whole["global"], &whole["device"]["a"]] {
            assert_eq!(ruleset["room"][0]["rule_id"], "r");
            assert_eq!(ruleset.as_object().unwrap().len(), 5);
        }
        assert_eq!(whole["device"]["a"]["override"], json!([]));
        assert_eq!(whole["global"]["override"][0]["rule_id"], ".m.rule.master");
    }
}
