//! A user's push rule documents, one per scope, changed and saved together.

use std::borrow::Cow;

use super::{RuleDocument, RuleError, RuleLimits, RuleScope};

/// A user's documents, one per scope. A stored document is copied when it is first changed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UserRuleDocuments<'a>(Vec<Cow<'a, RuleDocument>>);

impl<'a> UserRuleDocuments<'a> {
    pub fn new(stored_documents: impl IntoIterator<Item = &'a RuleDocument>) -> Self {
        Self(stored_documents.into_iter().map(Cow::Borrowed).collect())
    }

    /// Returns a mutable reference to a scope's document, creating it if missing.
    pub fn get_mut(&mut self, scope: &RuleScope) -> &mut RuleDocument {
        let index =
            self.0.iter().position(|document| document.scope() == scope).unwrap_or_else(|| {
                self.0.push(Cow::Owned(RuleDocument::new(scope.clone())));
                self.0.len() - 1
            });
        self.0[index].to_mut()
    }

    /// Applies a change, unless it is rejected or would exceed the maximum number of rules. After
    /// an error the documents are unchanged. If `is_atomic` is true, the change must have no effect
    /// when it fails and must add at most one rule. The documents are then copied only if the
    /// number of rules has reached the maximum.
    pub fn apply(
        &mut self,
        change: impl FnOnce(&mut Self) -> Result<(), RuleError>,
        is_atomic: bool,
        limits: RuleLimits,
    ) -> Result<(), RuleError> {
        let count_before = self.rule_count();
        let needs_copy = !is_atomic || count_before >= limits.rules;
        let original = needs_copy.then(|| self.clone());
        let result =
            change(self).and_then(|()| limits.check_rule_count(count_before, self.rule_count()));
        if let (Err(_), Some(original)) = (&result, original) {
            *self = original;
        }
        result
    }

    /// Returns the number of user rules in all scopes.
    pub fn rule_count(&self) -> usize {
        self.0.iter().map(|document| document.rule_count()).sum()
    }

    /// Returns whether all documents are empty.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|document| document.is_empty())
    }

    /// Removes all rules of a scope and all changes to its built-in rules.
    pub fn reset(&mut self, scope: &RuleScope) {
        *self.get_mut(scope) = RuleDocument::new(scope.clone());
    }

    pub fn reset_all(&mut self) {
        for document in &mut self.0 {
            *document = Cow::Owned(RuleDocument::new(document.scope().clone()));
        }
    }

    /// Replaces all documents. Scopes without a new document are reset.
    pub fn replace_all(&mut self, new_documents: &[RuleDocument]) {
        self.reset_all();
        for document in new_documents {
            self.get_mut(document.scope()).clone_from(document);
        }
    }

    /// Returns the documents that may differ from the stored documents. If a document is empty, the
    /// stored document of its scope is to be deleted.
    pub fn into_changed(self) -> impl Iterator<Item = RuleDocument> {
        self.0.into_iter().filter_map(|document| match document {
            Cow::Borrowed(_) => None,
            Cow::Owned(document) => Some(document),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{NewRule, NewRuleLimits, RuleKind, RulePosition, builtin};
    use jiff::Timestamp;

    fn parse_scope(text: &str) -> RuleScope {
        text.parse().unwrap()
    }

    fn add_rule(document: &mut RuleDocument, id: &str) {
        let new_rule = NewRule::parse(
            RuleKind::Room,
            br#"{"actions":[]}"#,
            NewRuleLimits::default(),
            Timestamp::UNIX_EPOCH,
        )
        .unwrap();
        document
            .put(RuleKind::Room, id.parse().unwrap(), new_rule, RulePosition::default())
            .unwrap();
    }

    fn document_with_rule(scope_text: &str, id: &str) -> RuleDocument {
        let mut document = RuleDocument::new(parse_scope(scope_text));
        add_rule(&mut document, id);
        document
    }

    /// Returns the scopes of the changed documents, each with its number of rules.
    fn changed_scopes(documents: UserRuleDocuments<'_>) -> Vec<(String, usize)> {
        let changed_documents = documents.into_changed();
        changed_documents
            .map(|document| (document.scope().to_string(), document.rule_count()))
            .collect()
    }

    #[test]
    fn only_scopes_that_were_changed_are_saved() {
        let stored_documents =
            [document_with_rule("global", "a"), document_with_rule("device/phone", "b")];
        let mut documents = UserRuleDocuments::new(&stored_documents);
        assert_eq!((documents.rule_count(), documents.is_empty()), (2, false));
        assert_eq!(changed_scopes(documents.clone()), []);
        add_rule(documents.get_mut(&parse_scope("device/phone")), "c");
        add_rule(documents.get_mut(&parse_scope("device/tablet")), "d");
        assert_eq!(documents.rule_count(), 4);
        let expected = [("device/phone".to_owned(), 2), ("device/tablet".to_owned(), 1)];
        assert_eq!(changed_scopes(documents), expected);
        assert_eq!(stored_documents[1].rule_count(), 1, "the stored document is unchanged");
    }

    #[test]
    fn a_reset_empties_one_scope_or_all() {
        let mut global = RuleDocument::new(RuleScope::Global);
        global.set_enabled(RuleKind::Override, builtin::MASTER, true).unwrap();
        let stored_documents = [global, document_with_rule("device/phone", "b")];

        let mut documents = UserRuleDocuments::new(&stored_documents);
        documents.reset(&parse_scope("device/phone"));
        documents.reset(&parse_scope("device/unknown"));
        assert!(!documents.is_empty());
        let expected = [("device/phone".to_owned(), 0), ("device/unknown".to_owned(), 0)];
        assert_eq!(changed_scopes(documents), expected);

        let mut documents = UserRuleDocuments::new(&stored_documents);
        documents.reset_all();
        assert!(documents.is_empty());
        assert!(
            documents
                .into_changed()
                .eq(["global", "device/phone"].map(|scope| RuleDocument::new(parse_scope(scope))))
        );
    }

    #[test]
    fn replacing_all_documents_empties_scopes_without_a_new_document() {
        let stored_documents =
            [document_with_rule("global", "a"), document_with_rule("device/phone", "b")];
        let new_documents =
            [document_with_rule("device/tablet", "c"), document_with_rule("global", "d")];
        let mut documents = UserRuleDocuments::new(&stored_documents);
        documents.replace_all(&new_documents);
        let changed_documents: Vec<RuleDocument> = documents.into_changed().collect();
        let [tablet, global] = new_documents;
        assert_eq!(
            changed_documents,
            [global, RuleDocument::new(parse_scope("device/phone")), tablet]
        );
    }
}
