//! Links between the pages about rules.

use belfry_core::form::{Pairs, last_value};
use belfry_core::percent::encode;
use belfry_core::rules::RuleRef;
use belfry_core::secret::Sha256Digest;

use crate::language::Language;
use crate::pages::PageNumber;
use crate::paths::{ACCOUNT_RULE, ACCOUNT_RULES, with_language, with_parameters};

/// The rules that the page shows, as selected by its query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RulesView {
    /// The page in the list.
    pub page: PageNumber,
    /// The rule that was changed: the page with this rule is shown instead of `page`, and its group
    /// is unfolded.
    pub changed_rule: Option<RuleRef>,
}

impl RulesView {
    /// Reads the query parameters. Invalid ones are ignored.
    pub fn from_query(query: &Pairs) -> Self {
        let changed_rule = RuleRef::from_path(last_value(query, "changed")).ok();
        Self { page: PageNumber::from_query(query), changed_rule }
    }

    /// Returns the view after a change to this rule.
    pub fn after_change(&self, rule: &RuleRef) -> Self {
        Self { page: self.page, changed_rule: Some(rule.clone()) }
    }

    /// Returns the path of the page with this view.
    pub fn path(&self, lang: Option<Language>) -> String {
        let parameter = self.changed_rule.as_ref().map(|rule| ("changed", encode(&rule.path())));
        let path =
            with_parameters(ACCOUNT_RULES, self.page.parameter().into_iter().chain(parameter));
        with_language(&path, lang)
    }
}

/// Returns the path of a rule's page.
pub(super) fn rule_path(lang: Option<Language>, rule: &RuleRef) -> String {
    with_language(&with_parameters(ACCOUNT_RULE, [("rule", encode(&rule.path()))]), lang)
}

/// Returns the HTML id of a rule's row, for links to it.
pub(crate) fn rule_anchor(rule: &RuleRef) -> String {
    let digest = Sha256Digest::compute(&rule.path()).to_text();
    format!("rule-{}", &digest[..16])
}

#[cfg(test)]
mod tests {
    use belfry_core::rules::RuleKind;

    use super::*;

    #[test]
    fn a_view_is_restored_from_its_link() {
        let lang = Some(Language::German);
        for scope in ["global", "device/phone", "device/a&b=c%#\u{202e}"] {
            let kind = RuleKind::Room;
            let id = "!a&b:x".to_owned();
            let changed_rule = Some(RuleRef { scope: scope.parse().unwrap(), kind, id });
            let view = RulesView { page: PageNumber::containing(100), changed_rule };
            let path = view.path(lang);
            assert!(path.is_ascii() && path.ends_with("&lang=de"), "{path}");
            let (_, query) = path.split_once('?').unwrap();
            let query = belfry_core::form::parse(query.as_bytes()).unwrap();
            assert_eq!(RulesView::from_query(&query), view, "{path}");
        }
        assert_eq!(RulesView::default().path(lang), "/oauth/account/rules?lang=de");
    }
}
