//! The links between the pages about rules.

use belfry_core::oauth::form::{Pairs, last_value};
use belfry_core::percent::encode;
use belfry_core::rules::{RuleKind, RuleRef, RuleScope};
use belfry_core::secret::Sha256Digest;

use crate::language::Language;
use crate::paths::{ACCOUNT_RULE, ACCOUNT_RULES, with_language, with_parameters};

/// The rules of one scope and kind.
pub type RuleGroup = (RuleScope, RuleKind);

/// The group that a query unfolds.
pub fn open_group(query: &Pairs) -> Option<RuleGroup> {
    let (scope, kind) = last_value(query, "open").rsplit_once('/')?;
    scope.parse().ok().zip(kind.parse().ok())
}

/// The path of the rules, with this group unfolded.
pub fn rules_path(lang: Option<Language>, open: Option<&RuleGroup>) -> String {
    let open = open.map(|(scope, kind)| ("open", encode(&format!("{scope}/{kind}"))));
    with_language(&with_parameters(ACCOUNT_RULES, open), lang)
}

/// The path of the page of a rule.
pub(super) fn rule_path(lang: Option<Language>, rule: &RuleRef) -> String {
    with_language(&with_parameters(ACCOUNT_RULE, [("rule", encode(&rule.path()))]), lang)
}

/// The id of the row of a rule, which a link can lead to.
pub(crate) fn anchor(rule: &RuleRef) -> String {
    let digest = Sha256Digest::of(&rule.path()).to_text();
    format!("rule-{}", &digest[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_read_from_the_query_of_its_link() {
        let lang = Some(Language::German);
        for scope in ["global", "device/phone", "device/a&b=c%#\u{202e}"] {
            let group = (scope.parse().unwrap(), RuleKind::Room);
            let path = rules_path(lang, Some(&group));
            assert!(path.is_ascii() && path.ends_with("&lang=de"), "{path}");
            let (_, query) = path.split_once('?').unwrap();
            let query = belfry_core::oauth::form::parse(query.as_bytes()).unwrap();
            assert_eq!(open_group(&query), Some(group), "{path}");
        }
        assert_eq!(rules_path(lang, None), "/oauth/account/rules?lang=de");
    }
}
