//! The JSON of a rule as people edit it.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Action, NewRule, Rule, RuleError, RuleId, RuleKind};
use crate::json::{Fields, read_array};
use crate::secret::Sha256Digest;
use crate::text::escape_invisible_in_json;

/// The members of a rule that its JSON contains: not the id and `enabled`, which are changed
/// elsewhere, and of a built-in rule only the actions.
struct Editable<'a>(&'a Rule);

impl Serialize for Editable<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(rule) = self;
        let mut object = serializer.serialize_map(None)?;
        if !rule.is_builtin() {
            if let Some(pattern) = &rule.pattern {
                object.serialize_entry("pattern", pattern)?;
            }
            if let Some(conditions) = &rule.conditions {
                object.serialize_entry("conditions", conditions)?;
            }
        }
        object.serialize_entry("actions", &rule.actions)?;
        if !rule.is_builtin() {
            if let Some(until) = &rule.until {
                object.serialize_entry("until", until)?;
            }
            for (key, value) in &rule.extra {
                object.serialize_entry(key, value)?;
            }
        }
        object.end()
    }
}

impl Rule {
    /// The JSON that a person edits, indented. Invisible characters are escaped.
    pub fn editable_json(&self) -> String {
        let json = serde_json::to_string_pretty(&Editable(self)).expect("map keys are strings");
        escape_invisible_in_json(&json).into_owned()
    }

    /// The same in one line.
    pub fn compact_json(&self) -> String {
        let json = serde_json::to_string(&Editable(self)).expect("map keys are strings");
        escape_invisible_in_json(&json).into_owned()
    }

    /// The digest of the editable JSON, by which a form recognises that the rule was changed.
    pub fn digest(&self) -> Sha256Digest {
        Sha256Digest::of(&self.compact_json())
    }
}

/// A rule as a person edited it.
#[derive(Debug, Clone, PartialEq)]
pub enum RuleEdit {
    /// A rule of the user.
    Rule(NewRule),
    /// The actions of a built-in rule.
    Builtin(Vec<Action>),
}

impl RuleEdit {
    /// Parses the edited JSON of a rule.
    ///
    /// # Errors
    /// As [`NewRule::read`], and if a built-in rule has other fields than `actions`.
    pub fn read(kind: RuleKind, id: &str, json: &[u8]) -> Result<Self, RuleError> {
        if !RuleId::is_reserved(id) {
            return NewRule::read(kind, json).map(Self::Rule);
        }
        let mut fields = Fields::read(json)?;
        let actions = read_array("actions", fields.need("actions")?, Action::from_json)?;
        match fields.rest().keys().next() {
            Some(name) => Err(RuleError::BuiltinField(name.clone())),
            None => Ok(Self::Builtin(actions)),
        }
    }

    /// The rule with this id after the edit.
    pub(super) fn rule(&self, id: &str) -> Rule {
        let rule_id = id.to_owned();
        match self.clone() {
            Self::Rule(new) => new.into_rule_named(rule_id, true),
            Self::Builtin(actions) => Rule {
                rule_id,
                enabled: true,
                actions,
                conditions: None,
                pattern: None,
                until: None,
                extra: super::Extra::new(),
            },
        }
    }
}

/// The JSON of a new rule of a kind, to be completed by a person.
pub fn template(kind: RuleKind) -> &'static str {
    match kind {
        RuleKind::Override | RuleKind::Underride => {
            "{\n  \"conditions\": [\n    {\n      \"kind\": \"event_match\",\n      \"key\": \
             \"content.body\",\n      \"pattern\": \"cake\"\n    }\n  ],\n  \"actions\": [\n    \
             \"notify\"\n  ]\n}"
        }
        RuleKind::Content => {
            "{\n  \"pattern\": \"cake\",\n  \"actions\": [\n    \"notify\",\n    {\n      \
             \"set_tweak\": \"sound\",\n      \"value\": \"default\"\n    }\n  ]\n}"
        }
        RuleKind::Room | RuleKind::Sender => "{\n  \"actions\": [\n    \"notify\"\n  ]\n}",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::matrix::MatrixErrorCode;

    fn rule(json: Value) -> Rule {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn the_editable_json_has_everything_but_id_and_enabled() {
        let full = json!({
            "rule_id": "a", "enabled": false, "pattern": "p", "actions": ["notify"],
            "conditions": [{"kind": "contains_display_name"}], "org.x": [1], "until": 5,
        });
        let condition = r#"{"kind":"contains_display_name"}"#;
        for (rule, compact) in [
            (
                rule(full),
                format!(
                    r#"{{"pattern":"p","conditions":[{condition}],"actions":["notify"],"until":5,"org.x":[1]}}"#
                ),
            ),
            (
                rule(json!({"rule_id": "a", "enabled": true, "actions": []})),
                r#"{"actions":[]}"#.to_owned(),
            ),
            (
                rule(json!({
                    "rule_id": ".m.rule.tombstone", "enabled": true, "actions": [], "conditions": [],
                })),
                r#"{"actions":[]}"#.to_owned(),
            ),
        ] {
            assert_eq!(rule.compact_json(), compact);
            let pretty: Value = serde_json::from_str(&rule.editable_json()).unwrap();
            assert_eq!(pretty.to_string().len(), compact.len());
        }
    }

    #[test]
    fn the_json_of_a_rule_is_read_as_the_same_rule() {
        let hostile = "\u{202e}\"</textarea><script>\n\t\u{0}";
        let before = rule(json!({
            "rule_id": "a", "enabled": true, "pattern": hostile, "actions": [], hostile: hostile,
        }));
        for json in [before.editable_json(), before.compact_json()] {
            assert!(!json.contains('\u{202e}') && !json.contains('\0'), "{json}");
            let edit = RuleEdit::read(RuleKind::Content, "a", json.as_bytes()).unwrap();
            assert_eq!(edit.rule("a"), before);
        }
    }

    #[test]
    fn the_digest_changes_with_the_editable_json_alone() {
        let base = json!({"rule_id": "a", "enabled": true, "actions": []});
        let with = |key: &str, value: Value| {
            let mut changed = base.clone();
            changed[key] = value;
            rule(changed).digest()
        };
        let digest = rule(base.clone()).digest();
        assert_eq!(with("enabled", json!(false)), digest);
        for (key, value) in [
            ("actions", json!(["notify"])),
            ("pattern", json!("p")),
            ("org.x", json!(1)),
            ("until", json!(5)),
        ] {
            assert_ne!(with(key, value), digest, "{key}");
        }
    }

    #[test]
    fn only_the_actions_of_a_builtin_rule_can_be_edited() {
        let read = |json: &str| {
            RuleEdit::read(RuleKind::Underride, ".m.rule.message", json.as_bytes())
                .map_err(|error| (error.code(), error.to_string()))
        };
        assert_eq!(read(r#"{"actions":["notify"]}"#), Ok(RuleEdit::Builtin(vec![Action::Notify])));
        let text = "only the actions of a built-in rule can be changed, not conditions";
        let error = (MatrixErrorCode::InvalidParam, text.to_owned());
        assert_eq!(read(r#"{"actions":[],"conditions":[]}"#), Err(error));
        assert!(read(r#"{"actions":["ring"]}"#).is_err());
        assert!(read("{}").is_err());
    }

    #[test]
    fn the_template_of_each_kind_is_a_valid_rule() {
        for kind in RuleKind::ALL {
            let edit = RuleEdit::read(kind, "a", template(kind).as_bytes()).unwrap();
            assert_eq!(edit.rule("a").editable_json(), template(kind), "{kind}");
        }
    }
}
