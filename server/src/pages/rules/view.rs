//! The parts of the rules that one page shows, and the links between them.

use belfry_core::oauth::form::{Pairs, last_value};
use belfry_core::percent::encode;
use belfry_core::rules::{RuleKind, RuleRef, RuleScope};
use belfry_core::secret::Sha256Digest;

use crate::language::Language;
use crate::paths::{ACCOUNT_RULE, ACCOUNT_RULES, with_language, with_parameters};

/// The part of the rules that is shown: all groups, or a page of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RulesView {
    /// The scope and kind that is shown alone.
    pub group: Option<(RuleScope, RuleKind)>,
    /// The page of the group, from 0.
    pub page: usize,
    /// The group that is unfolded, because one of its rules was changed.
    pub open: Option<(RuleScope, RuleKind)>,
}

/// The number of rules of a group on the page of all groups, and on a page of its own.
pub(super) const OVERVIEW_ROWS: usize = 20;
pub(super) const PAGE_ROWS: usize = 25;

/// Builds the links of the pages about rules.
#[derive(Debug, Clone, Copy)]
pub struct RuleLinks {
    /// The language in the query of the request, which the links keep.
    pub lang: Option<Language>,
}

impl RulesView {
    /// Reads the view from a query. Without a valid group, all rules are shown.
    pub fn from_query(query: &Pairs) -> Self {
        let value = |name: &str| last_value(query, name);
        let group = value("scope").parse().ok().zip(value("kind").parse().ok());
        let page = value("page").parse::<usize>().unwrap_or(1).saturating_sub(1);
        let open = value("open").rsplit_once('/');
        let open = open.and_then(|(scope, kind)| scope.parse().ok().zip(kind.parse().ok()));
        Self { group, page, open }
    }

    /// The first page of a group.
    pub fn of(scope: &RuleScope, kind: RuleKind) -> Self {
        Self { group: Some((scope.clone(), kind)), ..Self::default() }
    }

    /// The view that shows a rule at this index of its group: this one, or else the page of the
    /// group with the rule.
    pub fn showing(&self, rule: &RuleRef, index: usize) -> Self {
        let group = Some((rule.scope.clone(), rule.kind));
        match self.group {
            None if index < OVERVIEW_ROWS => Self { open: group, ..Self::default() },
            _ => Self { group, page: index / PAGE_ROWS, open: None },
        }
    }

    pub(super) fn shows_scope(&self, scope: &RuleScope) -> bool {
        self.group.as_ref().is_none_or(|(other, _)| other == scope)
    }

    pub(super) fn opens(&self, scope: &RuleScope, kind: RuleKind) -> bool {
        self.open.as_ref().is_some_and(|group| *group == (scope.clone(), kind))
    }

    pub(super) fn shows(&self, scope: &RuleScope, kind: RuleKind) -> bool {
        self.group.as_ref().is_none_or(|group| *group == (scope.clone(), kind))
    }

    /// The page to show, which is the last one if the group has become shorter.
    pub(super) fn page_within(&self, count: usize) -> usize {
        self.page.min(count.saturating_sub(1) / PAGE_ROWS)
    }
}

impl RuleLinks {
    /// The path of a part of the rules.
    pub fn rules(self, view: &RulesView) -> String {
        let Some((scope, kind)) = &view.group else {
            let open = view.open.as_ref();
            let open = open.map(|(scope, kind)| ("open", encode(&format!("{scope}/{kind}"))));
            return with_language(&with_parameters(ACCOUNT_RULES, open), self.lang);
        };
        let page = (view.page > 0).then(|| ("page", (view.page + 1).to_string()));
        let group = [("scope", encode(&scope.to_string())), ("kind", kind.to_string())];
        let path = with_parameters(ACCOUNT_RULES, group.into_iter().chain(page));
        with_language(&path, self.lang)
    }

    /// The path of the page of a rule.
    pub fn rule(self, rule: &RuleRef) -> String {
        let path = with_parameters(ACCOUNT_RULE, [("rule", encode(&rule.path()))]);
        with_language(&path, self.lang)
    }
}

/// The id of the row of a rule, which a link can lead to.
pub(crate) fn anchor(rule: &RuleRef) -> String {
    let digest = Sha256Digest::of(&rule.path()).to_text();
    format!("rule-{}", &digest[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(query: &str) -> Pairs {
        belfry_core::oauth::form::parse(query.as_bytes()).unwrap()
    }

    #[test]
    fn a_view_is_read_from_the_query_of_its_link() {
        let links = RuleLinks { lang: Some(Language::German) };
        for scope in ["global", "device/phone", "device/a&b=c%#\u{202e}"] {
            for page in [0, 1, 41] {
                let group = Some((scope.parse().unwrap(), RuleKind::Room));
                let view = RulesView { group, page, open: None };
                let path = links.rules(&view);
                assert!(path.is_ascii() && path.ends_with("&lang=de"), "{path}");
                let (_, query) = path.split_once('?').unwrap();
                assert_eq!(RulesView::from_query(&pairs(query)), view, "{path}");
            }
        }
        assert_eq!(links.rules(&RulesView::default()), "/oauth/account/rules?lang=de");
        let open = Some(("device/a".parse().unwrap(), RuleKind::Content));
        let view = RulesView { open, ..RulesView::default() };
        let path = links.rules(&view);
        assert_eq!(path, "/oauth/account/rules?open=device%2Fa%2Fcontent&lang=de");
        assert_eq!(RulesView::from_query(&pairs(path.split_once('?').unwrap().1)), view);
    }

    #[test]
    fn a_changed_rule_is_shown_where_it_is() {
        let rule = RuleRef::from_path("global/room/a").unwrap();
        let group = || Some((RuleScope::Global, RuleKind::Room));
        let (all, alone) =
            (RulesView::default(), RulesView::of(&RuleScope::Global, RuleKind::Room));
        for (view, index, expected) in [
            (&all, 0, RulesView { open: group(), ..RulesView::default() }),
            (&all, 19, RulesView { open: group(), ..RulesView::default() }),
            (&all, 20, RulesView { group: group(), ..RulesView::default() }),
            (&all, 25, RulesView { group: group(), page: 1, open: None }),
            (&alone, 0, RulesView { group: group(), ..RulesView::default() }),
            (&alone, 999, RulesView { group: group(), page: 39, open: None }),
        ] {
            assert_eq!(view.showing(&rule, index), expected, "{index}");
        }
    }

    #[test]
    fn an_invalid_query_shows_all_rules() {
        for query in ["", "scope=global", "kind=room", "scope=x&kind=room", "scope=global&kind=x"] {
            assert_eq!(RulesView::from_query(&pairs(query)).group, None, "{query}");
        }
        for (page, expected) in [("", 0), ("0", 0), ("1", 0), ("2", 1), ("-1", 0), ("x", 0)] {
            let view = RulesView::from_query(&pairs(&format!("page={page}")));
            assert_eq!(view.page, expected, "{page}");
        }
    }

    #[test]
    fn the_last_page_is_shown_instead_of_one_beyond_it() {
        for (page, count, expected) in
            [(0, 0, 0), (0, 25, 0), (1, 25, 0), (1, 26, 1), (9, 26, 1), (usize::MAX, 1000, 39)]
        {
            let view = RulesView { page, ..RulesView::default() };
            assert_eq!(view.page_within(count), expected, "{page} {count}");
        }
    }
}
