//! The forms of the page with all rules.

use belfry_core::oauth::form::{Pairs, last_value};
use belfry_core::percent::{decode_segment, encode};
use belfry_core::rules::{Direction, RuleRef};

use crate::app::AppState;
use crate::http::error::CommonError;
use crate::pages::UndoFields;

/// The maximum size of a form with the JSON of a rule, which is up to three times longer when it is
/// percent-encoded.
pub(super) fn max_bytes(state: &AppState) -> usize {
    let fixed = state.config.http.max_body_bytes;
    state.config.rules.max_body_bytes.saturating_mul(3).saturating_add(fixed)
}

/// A form that changes one rule.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RuleForm {
    pub(super) change: RuleChange,
    pub(super) rule: RuleRef,
    /// The JSON of the rule, if the page contained it.
    pub(super) json: String,
    pub(super) enabled: bool,
    /// The ids of the rules that were next to the rule.
    pub(super) above: Option<String>,
    pub(super) below: Option<String>,
}

/// The change that a form asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RuleChange {
    /// Move the rule past the rule with this id.
    Move(Direction, String),
    Enable(bool),
    Delete,
    Restore,
}

impl RuleForm {
    pub(super) fn read(pairs: &Pairs) -> Result<Self, CommonError> {
        let value = |name: &str| last_value(pairs, name);
        let malformed = |error: &dyn ToString| CommonError::Malformed(error.to_string());
        let id = |name: &str| match value(name) {
            "" => Ok(None),
            id => decode_segment(id).map(|id| Some(id.into_owned())).map_err(|e| malformed(&e)),
        };
        let rule = RuleRef::from_path(value("rule")).map_err(|error| malformed(&error))?;
        let (above, below) = (id("above")?, id("below")?);
        let change = match value("change") {
            "up" => RuleChange::Move(Direction::Up, above.clone().unwrap_or_default()),
            "down" => RuleChange::Move(Direction::Down, below.clone().unwrap_or_default()),
            "enable" => RuleChange::Enable(true),
            "disable" => RuleChange::Enable(false),
            "delete" => RuleChange::Delete,
            "restore" => RuleChange::Restore,
            _ => return Err(malformed(&"change must be one of the buttons of the page")),
        };
        let (json, enabled) = (value("json").to_owned(), value("enabled") == "true");
        Ok(Self { change, rule, json, enabled, above, below })
    }

    /// The fields that restore the rule, if the form contains it.
    pub(super) fn undo_fields(&self) -> Option<UndoFields> {
        let encoded = |id: &Option<String>| id.as_deref().map(encode).unwrap_or_default();
        (!self.json.is_empty()).then(|| UndoFields {
            rule: self.rule.path(),
            json: self.json.clone(),
            enabled: self.enabled,
            above: encoded(&self.above),
            below: encoded(&self.below),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(form: &str) -> Result<RuleForm, CommonError> {
        RuleForm::read(&belfry_core::oauth::form::parse(form.as_bytes()).unwrap())
    }

    #[test]
    fn a_form_names_a_rule_a_change_and_neighbours() {
        let form = read("rule=global/room/%2521r%253Ax&change=up&above=a%250Ab&enabled=true");
        let form = form.unwrap();
        assert_eq!(form.rule.id, "!r:x");
        assert_eq!(form.change, RuleChange::Move(Direction::Up, "a\nb".to_owned()));
        assert_eq!((form.enabled, form.below.as_deref()), (true, None));
        assert_eq!(form.undo_fields(), None);
    }

    #[test]
    fn other_forms_are_malformed() {
        for form in [
            "",
            "change=up",
            "rule=global/room/a",
            "rule=global/room/a&change=rename",
            "rule=global/room/&change=up",
            "rule=global/x/a&change=up",
            "rule=global/room/a&change=up&above=%25zz",
        ] {
            assert!(matches!(read(form), Err(CommonError::Malformed(_))), "{form}");
        }
    }
}
