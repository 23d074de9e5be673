//! Tests of preferences, their changes and their forms.

mod change;
mod form;
mod quiet_hours;
mod read;

use serde_json::{Value, json};

use super::*;

/// Returns a document with these user rules and overrides of built-in rules.
fn document_in_scope(scope: &str, rules: &Value, changes: &Value) -> RuleDocument {
    let mut rules = rules.clone();
    for rules_of_kind in rules.as_object_mut().unwrap().values_mut() {
        for rule in rules_of_kind.as_array_mut().unwrap() {
            rule.as_object_mut().unwrap().entry("enabled").or_insert(json!(true));
        }
    }
    let text = json!({"rules": rules, "changes": changes}).to_string();
    RuleDocument::from_text(scope.parse().unwrap(), &text).unwrap()
}

fn global_document(rules: &Value) -> RuleDocument {
    document_in_scope("global", rules, &json!({}))
}

/// Returns the user rules, without empty arrays.
fn user_rules_json(document: &RuleDocument) -> Value {
    let mut rules = json!(document.user_rules());
    rules.as_object_mut().unwrap().retain(|_, rules| *rules != json!([]));
    rules
}

fn notify_effect(sound: bool, highlight: bool) -> Effect {
    Effect::Notify { sound, highlight }
}

fn enabled_setting(effect: Effect) -> Setting {
    Setting { effect, includes_mentions: false, enabled: true, until: None }
}

/// Returns an override rule that silences a room, as Element creates it.
fn override_mute(id: &str, room: &str) -> Value {
    let condition = json!({"kind": "event_match", "key": "room_id", "pattern": room});
    json!({"rule_id": id, "actions": ["dont_notify"], "conditions": [condition]})
}
