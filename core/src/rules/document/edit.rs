//! Changes of a document by people, who see the rules some time before they change them.

use super::{Document, no_such_rule};
use crate::rules::{NewRule, Position, Rule, RuleEdit, RuleError, RuleId, RuleKind, User};
use crate::secret::Sha256Digest;

/// The direction in which a rule is moved by one position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Towards the rules that are evaluated first.
    Up,
    /// Towards the rules that are evaluated last.
    Down,
}

/// A rule that was removed, with the ids of the rules that were next to it.
#[derive(Debug, Clone, PartialEq)]
pub struct RemovedRule {
    /// The rule.
    pub rule: Rule,
    /// The user's rule above it.
    pub above: Option<String>,
    /// The user's rule below it.
    pub below: Option<String>,
}

impl Document {
    /// Moves a rule of the user past the rule that a person saw next to it. Does nothing if it has
    /// been moved there already.
    ///
    /// # Errors
    /// If the rule does not exist, or is not next to that rule any more.
    pub fn move_rule(
        &mut self,
        kind: RuleKind,
        id: &str,
        direction: Direction,
        neighbour: &str,
    ) -> Result<(), RuleError> {
        let index = self.index_of(kind, id).ok_or_else(|| no_such_rule(kind, id))?;
        let rules = &mut self.stored.rules[kind];
        let is_neighbour = |index: Option<usize>| {
            index.and_then(|index| rules.get(index)).is_some_and(|rule| rule.rule_id == neighbour)
        };
        let (above, below) = (index.checked_sub(1), Some(index + 1));
        let (ahead, behind) = match direction {
            Direction::Up => (above, below),
            Direction::Down => (below, above),
        };
        if is_neighbour(ahead) {
            rules.swap(index, ahead.unwrap_or(index));
        } else if !is_neighbour(behind) {
            return Err(RuleError::OrderChanged);
        }
        Ok(())
    }

    /// Creates a rule, replaces the rule of the user that a person saw, or changes the actions of a
    /// built-in rule. Does nothing if the rule is the edited one already.
    ///
    /// # Errors
    /// If the digest of the rule differs from `shown`, or the rule exists although `shown` is `None`.
    pub fn edit(
        &mut self,
        kind: RuleKind,
        id: &str,
        shown: Option<Sha256Digest>,
        edit: &RuleEdit,
    ) -> Result<(), RuleError> {
        // The editable JSON of a built-in rule does not depend on the user.
        let current = self.rule(kind, id, User::new("")).ok().map(|rule| rule.digest());
        match (current, shown) {
            (Some(current), _) if current == edit.rule(id).digest() => return Ok(()),
            (Some(_), None) => return Err(RuleError::RuleExists { kind, id: id.to_owned() }),
            (None, Some(_)) => return Err(no_such_rule(kind, id)),
            (current, shown) if current != shown => {
                return Err(RuleError::ChangedMeanwhile { kind, id: id.to_owned() });
            }
            _ => {}
        }
        match edit {
            RuleEdit::Rule(new) => self.put(kind, id.parse()?, new.clone(), Position::default()),
            RuleEdit::Builtin(actions) => self.set_actions(kind, id, actions.clone()),
        }
    }

    /// Removes a rule of the user and returns it with its neighbours, so that it can be restored.
    ///
    /// # Errors
    /// As [`Document::remove`].
    pub fn take(&mut self, kind: RuleKind, id: &str) -> Result<RemovedRule, RuleError> {
        let index = self.index_of(kind, id).ok_or_else(|| no_such_rule(kind, id))?;
        let rules = &mut self.stored.rules[kind];
        let rule = rules.remove(index);
        let id_at = |index: Option<usize>| Some(rules.get(index?)?.rule_id.clone());
        Ok(RemovedRule { rule, above: id_at(index.checked_sub(1)), below: id_at(Some(index)) })
    }

    /// Restores a removed rule at its position. If its neighbours have been removed too, it is
    /// placed above the user's other rules of its kind. Does nothing if the rule is there already.
    ///
    /// # Errors
    /// If the user has another rule with this id.
    pub fn restore(
        &mut self,
        kind: RuleKind,
        id: RuleId,
        new: NewRule,
        enabled: bool,
        neighbours: Position<'_>,
    ) -> Result<(), RuleError> {
        let text = id.as_str().to_owned();
        if let Some(index) = self.index_of(kind, &text) {
            let current = self.user_rules()[kind][index].digest();
            let is_same = current == new.into_rule(id, enabled).digest();
            return if is_same { Ok(()) } else { Err(RuleError::RuleExists { kind, id: text }) };
        }
        let exists = |id: &&str| self.index_of(kind, id).is_some();
        let position = Position {
            before: neighbours.before.filter(exists),
            after: neighbours.after.filter(exists),
        };
        self.put(kind, id, new, position)?;
        self.set_enabled(kind, &text, enabled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RuleScope;

    const ROOM: RuleKind = RuleKind::Room;

    fn new_rule(json: &str) -> NewRule {
        NewRule::read(ROOM, json.as_bytes()).unwrap()
    }

    fn silent() -> NewRule {
        new_rule(r#"{"actions":[]}"#)
    }

    /// A document with these room rules, in this order.
    fn with_rooms(ids: &str) -> Document {
        let mut document = Document::new(RuleScope::Global);
        for id in ids.chars().rev() {
            let id = id.to_string().parse().unwrap();
            document.put(ROOM, id, silent(), Position::default()).unwrap();
        }
        document
    }

    fn order(document: &Document) -> String {
        document.user_rules()[ROOM].iter().map(|rule| rule.rule_id.as_str()).collect()
    }

    fn missing(id: &str) -> RuleError {
        RuleError::NoSuchRule { kind: ROOM, id: id.to_owned() }
    }

    #[test]
    fn a_rule_moves_past_the_neighbour_that_was_shown() {
        use Direction::{Down, Up};
        for (id, direction, neighbour, expected) in [
            ("b", Up, "a", Ok("bac")),
            ("b", Down, "c", Ok("acb")),
            ("c", Up, "b", Ok("acb")),
            ("a", Down, "b", Ok("bac")),
            // Moved already, for example by the first of two submits.
            ("a", Up, "b", Ok("abc")),
            ("c", Down, "b", Ok("abc")),
            // The order is not the one that was shown.
            ("a", Up, "c", Err(RuleError::OrderChanged)),
            ("c", Up, "a", Err(RuleError::OrderChanged)),
            ("a", Down, "c", Err(RuleError::OrderChanged)),
            ("a", Up, "", Err(RuleError::OrderChanged)),
            ("a", Up, "a", Err(RuleError::OrderChanged)),
            ("b", Up, "x", Err(RuleError::OrderChanged)),
            ("x", Up, "a", Err(missing("x"))),
            (".m.rule.master", Down, "a", Err(missing(".m.rule.master"))),
        ] {
            let mut document = with_rooms("abc");
            let result = document.move_rule(ROOM, id, direction, neighbour);
            let is_unchanged = result.is_err();
            assert_eq!(result, expected.clone().map(drop), "{id} {direction:?} {neighbour}");
            assert_eq!(order(&document), if is_unchanged { "abc" } else { expected.unwrap() });
        }
    }

    #[test]
    fn an_edit_replaces_the_rule_that_was_shown() {
        let notify = r#"{"actions":["notify"]}"#;
        let edit = |json: &str| RuleEdit::read(ROOM, "a", json.as_bytes()).unwrap();
        let digest = |json: &str| Some(edit(json).rule("a").digest());
        let silent = r#"{"actions":[]}"#;
        let exists = RuleError::RuleExists { kind: ROOM, id: "a".to_owned() };
        let changed = RuleError::ChangedMeanwhile { kind: ROOM, id: "a".to_owned() };
        for (stored, shown, edited, expected) in [
            (Some(silent), digest(silent), notify, Ok(())),
            (Some(silent), digest(notify), silent, Ok(())),
            (Some(silent), digest(notify), r#"{"actions":["coalesce"]}"#, Err(changed)),
            (Some(silent), None, notify, Err(exists)),
            (Some(silent), None, silent, Ok(())),
            (None, digest(silent), notify, Err(missing("a"))),
            (None, None, notify, Ok(())),
        ] {
            let mut document = Document::new(RuleScope::Global);
            if let Some(stored) = stored {
                let id = "a".parse().unwrap();
                document.put(ROOM, id, new_rule(stored), Position::default()).unwrap();
            }
            let before = document.clone();
            let result = document.edit(ROOM, "a", shown, &edit(edited));
            assert_eq!(result, expected, "{stored:?} {edited}");
            if result.is_ok() {
                assert_eq!(document.user_rules()[ROOM][0].digest(), digest(edited).unwrap());
            } else {
                assert_eq!(document, before);
            }
        }
    }

    #[test]
    fn an_edit_preserves_position_and_enabled() {
        let mut document = with_rooms("abc");
        document.set_enabled(ROOM, "b", false).unwrap();
        let shown = Some(document.user_rules()[ROOM][1].digest());
        let edit = RuleEdit::read(ROOM, "b", br#"{"actions":["notify"]}"#).unwrap();
        document.edit(ROOM, "b", shown, &edit).unwrap();
        assert_eq!(order(&document), "abc");
        assert!(!document.user_rules()[ROOM][1].enabled);
    }

    #[test]
    fn the_actions_of_a_builtin_rule_are_edited() {
        let (kind, id) = (RuleKind::Underride, ".m.rule.message");
        let mut document = Document::new(RuleScope::Global);
        let shown = document.rule(kind, id, User::new("@a:x")).unwrap().digest();
        let edit = RuleEdit::read(kind, id, br#"{"actions":[]}"#).unwrap();
        document.edit(kind, id, Some(shown), &edit).unwrap();
        assert!(document.rule(kind, id, User::new("@a:x")).unwrap().actions.is_empty());
        let other = RuleEdit::read(kind, id, br#"{"actions":["coalesce"]}"#).unwrap();
        let changed = RuleError::ChangedMeanwhile { kind, id: id.to_owned() };
        assert_eq!(document.edit(kind, id, Some(shown), &other), Err(changed));
        let unknown = document.edit(kind, ".m.rule.x", None, &edit);
        assert!(matches!(unknown, Err(RuleError::NoSuchRule { .. })), "{unknown:?}");
    }

    #[test]
    fn a_removed_rule_is_restored_at_its_position() {
        // The rules that are removed besides, and the order after restoring.
        for (id, also, expected) in [
            ("a", "", "abc"),
            ("b", "", "abc"),
            ("c", "", "abc"),
            ("b", "a", "bc"),
            ("b", "c", "ab"),
            ("b", "ac", "b"),
        ] {
            let mut document = with_rooms("abc");
            document.set_enabled(ROOM, id, false).unwrap();
            let removed = document.take(ROOM, id).unwrap();
            for other in also.chars() {
                document.remove(ROOM, &other.to_string()).unwrap();
            }
            let RemovedRule { rule, above, below } = removed;
            let neighbours = Position { before: below.as_deref(), after: above.as_deref() };
            let new = new_rule(&rule.compact_json());
            // A second submit does nothing.
            for _ in 0..2 {
                document
                    .restore(ROOM, id.parse().unwrap(), new.clone(), false, neighbours)
                    .unwrap();
                assert_eq!(order(&document), expected, "{id} {also}");
                assert_eq!(*document.rule(ROOM, id, User::new("")).unwrap(), rule);
            }
        }
    }

    #[test]
    fn restoring_does_not_replace_another_rule() {
        let mut document = with_rooms("ab");
        let before = document.clone();
        let new = new_rule(r#"{"actions":["notify"]}"#);
        let result = document.restore(ROOM, "a".parse().unwrap(), new, true, Position::default());
        assert_eq!(result, Err(RuleError::RuleExists { kind: ROOM, id: "a".to_owned() }));
        assert_eq!(document, before);
        assert_eq!(document.take(ROOM, "x"), Err(missing("x")));
    }
}
