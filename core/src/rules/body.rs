//! The bodies of requests that change rules.

use serde_json::Value;

use super::fields::{At, Fields, list};
use super::{Action, Condition, Extra, Kind, Refusal, Rule, RuleId};
use crate::json;

/// What a user says of a rule when making or replacing it.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRule {
    actions: Vec<Action>,
    conditions: Option<Vec<Condition>>,
    pattern: Option<String>,
    extra: Extra,
}

impl NewRule {
    /// Reads the body of a `PUT` of a rule.
    ///
    /// Members that a body cannot set (`rule_id`, `default`, `enabled`) have no effect, so that a
    /// client may send back a rule that it was shown.
    ///
    /// # Errors
    /// When it is no JSON object, lacks what its kind needs, or has a field of no meaning.
    pub fn read(kind: Kind, body: &[u8]) -> Result<Self, Refusal> {
        let mut fields = Fields::of(json::read(body)?, At::Body)?;
        let actions = list("actions", fields.need("actions")?, Action::from_json)?;
        let conditions = match fields.take("conditions") {
            Some(value) => Some(list("conditions", value, Condition::from_json)?),
            None => matches!(kind, Kind::Override | Kind::Underride).then(Vec::new),
        };
        let pattern = match kind {
            Kind::Content => Some(fields.need_string("pattern")?),
            _ => fields.take_string("pattern")?,
        };
        for name in ["rule_id", "default", "enabled"] {
            fields.take(name);
        }
        Ok(Self { actions, conditions, pattern, extra: fields.rest() })
    }

    pub(super) fn named(self, id: RuleId, enabled: bool) -> Rule {
        let Self { actions, conditions, pattern, extra } = self;
        Rule { rule_id: id.into(), enabled, actions, conditions, pattern, extra }
    }
}

/// Reads the body of a `PUT` of `enabled`: a bare boolean, or `{"enabled":true}`.
///
/// # Errors
/// When it is neither.
pub fn read_enabled(body: &[u8]) -> Result<bool, Refusal> {
    match json::read(body)? {
        Value::Bool(enabled) => Ok(enabled),
        object @ Value::Object(_) => Fields::of(object, At::Body)?.need_bool("enabled"),
        _ => Err(At::Body.wrong_type("true, false, or an object with enabled")),
    }
}

/// Reads the body of a `PUT` of `actions`: `{"actions":[…]}`.
///
/// # Errors
/// When it is anything else, or an action has no meaning.
pub fn read_actions(body: &[u8]) -> Result<Vec<Action>, Refusal> {
    let mut fields = Fields::of(json::read(body)?, At::Body)?;
    list("actions", fields.need("actions")?, Action::from_json)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::Class;

    fn shown(kind: Kind, body: &str) -> Value {
        let new = NewRule::read(kind, body.as_bytes()).unwrap();
        json!(new.named("r".parse().unwrap(), true))
    }

    #[test]
    fn override_and_underride_have_conditions_and_content_has_a_pattern() {
        let bare = json!({"rule_id": "r", "default": false, "enabled": true, "actions": []});
        let mut always = bare.clone();
        always["conditions"] = json!([]);
        for (kind, expected) in [
            (Kind::Override, &always),
            (Kind::Underride, &always),
            (Kind::Room, &bare),
            (Kind::Sender, &bare),
        ] {
            assert_eq!(&shown(kind, r#"{"actions":[]}"#), expected, "{kind}");
        }
        let mut cake = bare;
        cake["pattern"] = json!("cake");
        assert_eq!(shown(Kind::Content, r#"{"actions":[],"pattern":"cake"}"#), cake);
    }

    #[test]
    fn what_the_user_gave_beyond_that_is_kept_for_every_kind() {
        let body = r#"{"actions":["notify"],"conditions":[{"kind":"contains_display_name"}],
            "pattern":"p","org.x":{"a":1.5}}"#;
        for kind in Kind::ALL {
            assert_eq!(
                shown(kind, body),
                json!({
                    "rule_id": "r", "default": false, "enabled": true, "actions": ["notify"],
                    "conditions": [{"kind": "contains_display_name"}], "pattern": "p",
                    "org.x": {"a": 1.5},
                })
            );
        }
    }

    #[test]
    fn a_body_cannot_set_what_is_ours() {
        let body = r#"{"actions":[],"rule_id":"x","default":"yes","enabled":false}"#;
        assert_eq!(shown(Kind::Room, body), shown(Kind::Room, r#"{"actions":[]}"#));
    }

    #[test]
    fn a_body_of_the_wrong_shape_is_refused_by_name() {
        use Class::{BadJson, InvalidParam, MissingParam, NotJson};
        for (kind, body, class, text) in [
            (Kind::Room, "", NotJson, "the body is not JSON: EOF while parsing a value"),
            (Kind::Room, "{\"actions\":[]", NotJson, "the body is not JSON: EOF"),
            (Kind::Room, "{\"actions\":[],\"actions\":[]}", BadJson, "a key stands twice in one"),
            (Kind::Room, r#"{"actions":[],"x":"\ud800"}"#, BadJson, "the JSON holds half of a"),
            (Kind::Room, "true", BadJson, "the body must be a JSON object"),
            (Kind::Room, "[]", BadJson, "the body must be a JSON object"),
            (Kind::Room, "{}", MissingParam, "actions is missing"),
            (Kind::Room, r#"{"actions":"notify"}"#, BadJson, "actions must be an array"),
            (Kind::Room, r#"{"actions":null}"#, BadJson, "actions must be an array"),
            (Kind::Room, r#"{"actions":["x"]}"#, InvalidParam, "actions[0] must be notify, "),
            (Kind::Override, r#"{"actions":[],"conditions":{}}"#, BadJson, "conditions must be an"),
            (Kind::Override, r#"{"actions":[],"conditions":null}"#, BadJson, "conditions must be"),
            (
                Kind::Override,
                r#"{"actions":[],"conditions":[{"kind":"x"},{}]}"#,
                MissingParam,
                "conditions[1].kind is missing",
            ),
            (Kind::Content, r#"{"actions":[]}"#, MissingParam, "pattern is missing"),
            (Kind::Content, r#"{"actions":[],"pattern":1}"#, BadJson, "pattern must be a string"),
            (Kind::Sender, r#"{"actions":[],"pattern":1}"#, BadJson, "pattern must be a string"),
        ] {
            let refusal = NewRule::read(kind, body.as_bytes()).unwrap_err();
            assert_eq!(refusal.class(), class, "{kind} {body}");
            assert!(refusal.to_string().starts_with(text), "{kind} {body}: {refusal}");
        }
    }

    #[test]
    fn enabled_is_a_bare_boolean_or_an_object_with_one() {
        for (body, enabled) in
            [("true", true), (" false ", false), (r#"{"enabled":false,"x":1}"#, false)]
        {
            assert_eq!(read_enabled(body.as_bytes()), Ok(enabled), "{body}");
        }
        for (body, class) in [
            ("", Class::NotJson),
            ("True", Class::NotJson),
            ("\"true\"", Class::BadJson),
            ("1", Class::BadJson),
            ("null", Class::BadJson),
            ("[true]", Class::BadJson),
            (r#"{"enabled":"true"}"#, Class::BadJson),
            (r#"{"enabled":true,"enabled":true}"#, Class::BadJson),
            ("{}", Class::MissingParam),
        ] {
            assert_eq!(read_enabled(body.as_bytes()).unwrap_err().class(), class, "{body}");
        }
    }

    #[test]
    fn actions_are_an_object_with_a_list() {
        assert_eq!(read_actions(br#"{"actions":["notify"]}"#), Ok(vec![Action::Notify]));
        assert_eq!(read_actions(br#"{"actions":[],"x":1}"#), Ok(vec![]));
        for (body, class) in [
            ("", Class::NotJson),
            (r#"["notify"]"#, Class::BadJson),
            (r#"{"actions":"notify"}"#, Class::BadJson),
            ("{}", Class::MissingParam),
            (r#"{"actions":["ring"]}"#, Class::InvalidParam),
        ] {
            assert_eq!(read_actions(body.as_bytes()).unwrap_err().class(), class, "{body}");
        }
    }
}
