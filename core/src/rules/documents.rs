//! One user's documents in all scopes, which are changed and saved together.

use std::borrow::Cow;

use super::{Document, RuleError, RuleLimits, RuleScope};

/// One user's documents. A stored document is copied when it is first changed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Documents<'a>(Vec<Cow<'a, Document>>);

impl<'a> Documents<'a> {
    /// Borrows a user's stored documents.
    pub fn new(stored: impl IntoIterator<Item = &'a Document>) -> Self {
        Self(stored.into_iter().map(Cow::Borrowed).collect())
    }

    /// Returns the document of a scope, to be changed. It is created if the user has none there.
    pub fn get_mut(&mut self, scope: &RuleScope) -> &mut Document {
        let index =
            self.0.iter().position(|document| document.scope() == scope).unwrap_or_else(|| {
                self.0.push(Cow::Owned(Document::new(scope.clone())));
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
        let before = self.len();
        let may_be_undone = !is_atomic || before >= limits.rules;
        let copy = may_be_undone.then(|| self.clone());
        let result = change(self).and_then(|()| limits.check_rules(before, self.len()));
        if let (Err(_), Some(copy)) = (&result, copy) {
            *self = copy;
        }
        result
    }

    /// Returns the number of user rules in all scopes.
    pub fn len(&self) -> usize {
        self.0.iter().map(|document| document.len()).sum()
    }

    /// Returns true if there is nothing to store.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|document| document.is_empty())
    }

    /// Removes all rules of a scope and all changes to its built-in rules.
    pub fn reset(&mut self, scope: &RuleScope) {
        *self.get_mut(scope) = Document::new(scope.clone());
    }

    /// Resets every scope.
    pub fn reset_all(&mut self) {
        for document in &mut self.0 {
            *document = Cow::Owned(Document::new(document.scope().clone()));
        }
    }

    /// Replaces all documents. Scopes without a new document are reset.
    pub fn replace_all(&mut self, new: &[Document]) {
        self.reset_all();
        for document in new {
            self.get_mut(document.scope()).clone_from(document);
        }
    }

    /// Returns the documents that may differ from the stored documents. If a document is empty, the
    /// stored document of its scope is to be deleted.
    pub fn into_changed(self) -> impl Iterator<Item = Document> {
        self.0.into_iter().filter_map(|document| match document {
            Cow::Borrowed(_) => None,
            Cow::Owned(document) => Some(document),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{NewRule, NewRuleLimits, Position, RuleKind, builtin};
    use jiff::Timestamp;

    fn scope(text: &str) -> RuleScope {
        text.parse().unwrap()
    }

    fn add_rule(document: &mut Document, id: &str) {
        let new = NewRule::read(
            RuleKind::Room,
            br#"{"actions":[]}"#,
            NewRuleLimits::default(),
            Timestamp::UNIX_EPOCH,
        )
        .unwrap();
        document.put(RuleKind::Room, id.parse().unwrap(), new, Position::default()).unwrap();
    }

    fn with_rule(scope_text: &str, id: &str) -> Document {
        let mut document = Document::new(scope(scope_text));
        add_rule(&mut document, id);
        document
    }

    /// Returns the scopes of the changed documents, each with its number of rules.
    fn changed_scopes(documents: Documents<'_>) -> Vec<(String, usize)> {
        documents.into_changed().map(|it| (it.scope().to_string(), it.len())).collect()
    }

    #[test]
    fn only_scopes_that_were_changed_are_saved() {
        let stored = [with_rule("global", "a"), with_rule("device/phone", "b")];
        let mut documents = Documents::new(&stored);
        assert_eq!((documents.len(), documents.is_empty()), (2, false));
        assert_eq!(changed_scopes(documents.clone()), []);
        add_rule(documents.get_mut(&scope("device/phone")), "c");
        add_rule(documents.get_mut(&scope("device/tablet")), "d");
        assert_eq!(documents.len(), 4);
        let expected = [("device/phone".to_owned(), 2), ("device/tablet".to_owned(), 1)];
        assert_eq!(changed_scopes(documents), expected);
        assert_eq!(stored[1].len(), 1, "the stored document is unchanged");
    }

    #[test]
    fn a_reset_empties_one_scope_or_all() {
        let mut global = Document::new(RuleScope::Global);
        global.set_enabled(RuleKind::Override, builtin::MASTER, true).unwrap();
        let stored = [global, with_rule("device/phone", "b")];

        let mut one = Documents::new(&stored);
        one.reset(&scope("device/phone"));
        one.reset(&scope("device/unknown"));
        assert!(!one.is_empty());
        let expected = [("device/phone".to_owned(), 0), ("device/unknown".to_owned(), 0)];
        assert_eq!(changed_scopes(one), expected);

        let mut all = Documents::new(&stored);
        all.reset_all();
        assert!(all.is_empty());
        assert!(
            all.into_changed().eq(["global", "device/phone"].map(|it| Document::new(scope(it))))
        );
    }

    #[test]
    fn replacing_all_documents_empties_the_scopes_that_have_no_new_one() {
        let stored = [with_rule("global", "a"), with_rule("device/phone", "b")];
        let new = [with_rule("device/tablet", "c"), with_rule("global", "d")];
        let mut documents = Documents::new(&stored);
        documents.replace_all(&new);
        let changed_documents: Vec<Document> = documents.into_changed().collect();
        let [tablet, global] = new;
        assert_eq!(changed_documents, [global, Document::new(scope("device/phone")), tablet]);
    }
}
