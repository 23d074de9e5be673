use super::*;
use crate::form;

#[test]
fn an_audit_detail_has_the_admin_and_the_comment() {
    assert_eq!(audit_detail("root", " \n"), "by root");
    assert_eq!(audit_detail("root", " spam\n\u{1b}[1mmore "), "by root: spam  [1mmore");
    let truncated_detail = audit_detail("root", &"ä".repeat(600));
    assert_eq!(truncated_detail, format!("by root: {}", "ä".repeat(500)));
}

#[test]
fn only_none_and_disable_are_supported() {
    for (name, action) in [
        ("none", Some(AccountAction::Note)),
        ("disable", Some(AccountAction::Disable)),
        ("suspend", None),
        ("silence", None),
        ("sensitive", None),
        ("", None),
    ] {
        assert_eq!(AccountAction::from_name(name), action, "{name}");
    }
}

fn parse_filter(query: &str) -> Result<Option<AccountFilter>, FilterError> {
    AccountFilter::parse(&form::parse(query.as_bytes()).unwrap())
}

fn match_all() -> AccountFilter {
    AccountFilter::default()
}

#[test]
fn parameters_select_accounts() {
    let role = |role| Ok(Some(AccountFilter { role: Some(role), ..match_all() }));
    for (query, expected) in [
        ("", Ok(Some(match_all()))),
        ("origin=local&status=active&permissions=", Ok(Some(match_all()))),
        ("status=disabled", Ok(Some(AccountFilter { only_disabled: true, ..match_all() }))),
        ("permissions=staff", role(Role::Admin)),
        ("permissions=staff&role_ids[]=-99", role(Role::Admin)),
        ("role_ids[]=3", role(Role::Admin)),
        ("role_ids=3", role(Role::Admin)),
        ("role_ids[]=-99", role(Role::User)),
        ("role_ids[]=-99&role_ids[]=3", Ok(Some(match_all()))),
        ("role_ids[]=-99&role_ids[]=7", role(Role::User)),
        ("role_ids[]=7", Ok(None)),
        ("role_ids[]=x", Ok(None)),
        ("origin=remote", Ok(None)),
        ("status=pending", Ok(None)),
        ("status=silenced", Ok(None)),
        ("status=suspended", Ok(None)),
        ("status=sensitized", Ok(None)),
        ("invited_by=7", Ok(None)),
        ("origin=moon", Err(FilterError::Origin("moon".to_owned()))),
        ("status=Active", Err(FilterError::Status("Active".to_owned()))),
        ("origin=remote&status=x", Err(FilterError::Status("x".to_owned()))),
    ] {
        assert_eq!(parse_filter(query), expected, "{query}");
    }
}

#[test]
fn name_and_email_prefixes_are_trimmed_and_lower_cased() {
    let name = |name: &str| Some(AccountFilter { name: Some(name.to_owned()), ..match_all() });
    let email = AccountFilter { email: Some("al@ex".to_owned()), ..match_all() };
    for (query, expected) in [
        ("username=%20Al%20", name("al")),
        ("display_name=Al", name("al")),
        ("username=ali&display_name=al", name("ali")),
        ("username=al&display_name=ali", name("ali")),
        ("username=al&display_name=bo", None),
        ("email=Al@Ex", Some(email)),
        ("username=&display_name=%20&email=&ip=&by_domain=", Some(match_all())),
        ("ip=192.0.2.1", None),
        ("by_domain=ring.example", None),
    ] {
        assert_eq!(parse_filter(query), Ok(expected), "{query}");
    }
}

fn parse_pairs(query: &str) -> Pairs {
    form::parse(query.as_bytes()).unwrap()
}

#[test]
fn page_parameters_are_parsed() {
    use PageStart::{Highest, Lowest};
    let page = |below, above, start, limit| Ok(PageRequest { below, above, start, limit });
    for (query, expected) in [
        ("", page(None, None, Highest, 100)),
        ("limit=1", page(None, None, Highest, 1)),
        ("limit=200", page(None, None, Highest, 200)),
        ("limit=201", page(None, None, Highest, 200)),
        ("limit=0", page(None, None, Highest, 1)),
        ("limit=-5", page(None, None, Highest, 1)),
        ("limit=x", page(None, None, Highest, 100)),
        ("max_id=7", page(Some(7), None, Highest, 100)),
        ("since_id=7&max_id=9", page(Some(9), Some(7), Highest, 100)),
        ("min_id=7&max_id=9", page(Some(9), Some(7), Lowest, 100)),
        ("min_id=7&since_id=5", page(None, Some(7), Lowest, 100)),
        ("max_id=&min_id=", page(None, None, Highest, 100)),
        ("max_id=x", Err(InvalidId("max_id"))),
        ("since_id=9223372036854775808", Err(InvalidId("since_id"))),
        ("min_id=1.5", Err(InvalidId("min_id"))),
    ] {
        assert_eq!(PageRequest::parse(&parse_pairs(query)), expected, "{query}");
    }
}

#[test]
fn links_repeat_only_the_limit_and_the_filters() {
    let query = "limit=2&username=a%20b&role_ids[]=3&max_id=9&since_id=1&access_token=x&y=z";
    let request = parse_pairs(query);
    let page = PageRequest::parse(&request).unwrap();
    let repeated = "limit=2&username=a%20b&role_ids%5B%5D=3";
    let links = page.links(&request, &[8, 7]);
    assert_eq!(links.next, Some(format!("{repeated}&max_id=7")));
    assert_eq!(links.previous, Some(format!("{repeated}&min_id=8")));
    let last_page_links = page.links(&request, &[5]);
    assert_eq!(
        (last_page_links.next, last_page_links.previous),
        (None, Some(format!("{repeated}&min_id=5")))
    );
    assert_eq!(page.links(&request, &[]), Links { next: None, previous: None });
}
