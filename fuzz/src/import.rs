//! Fuzz target for account files: an accepted line has a valid account name, a hash that can be
//! verified at sign-in, and rules that the API and the database accept.

use std::collections::HashMap;

use belfry_core::account::check_name;
use belfry_core::account::password_hash::PasswordHash;
use belfry_core::import::{AccountFileReader, ImportLimits, ImportedAccount};
use belfry_core::json;
use belfry_core::rules::{NewRuleLimits, RuleDocument, RuleLimits, RulesetsExport, read_import};
use jiff::Timestamp;
use serde_json::json;

const LIMITS: ImportLimits = ImportLimits {
    rules: RuleLimits { rules: 10, bytes: 4000 },
    rule: NewRuleLimits { conditions: 3, bytes: 1000 },
};

pub fn check_input(input: &[u8]) {
    let now = Timestamp::MAX;
    let mut reader = AccountFileReader::new(LIMITS, HashMap::new(), now);
    let mut names = Vec::new();
    for (index, line) in input.split(|byte| *byte == b'\n').enumerate() {
        match reader.parse_line(line) {
            Ok(Some(account)) => {
                check_account(&account);
                assert!(!names.contains(&account.name), "two accounts have the same name");
                names.push(account.name);
            }
            Ok(None) => {}
            Err(error) => assert_eq!(error.line, index as u64 + 1, "{error}"),
        }
        assert_eq!(reader.line_number(), index as u64 + 1);
    }
}

fn check_account(account: &ImportedAccount) {
    check_name(&account.name).expect("the name is valid");
    if let Some(hash) = &account.password_hash {
        PasswordHash::parse(hash).expect("the hash is valid");
    }
    let rulesets = &account.rulesets;
    assert!(rulesets.iter().map(RuleDocument::rule_count).sum::<usize>() <= LIMITS.rules.rules);
    for ruleset in rulesets {
        assert!(!ruleset.is_empty());
        let parsed_document = RuleDocument::from_text(ruleset.scope().clone(), &ruleset.to_text());
        assert_eq!(parsed_document.ok().as_ref(), Some(ruleset), "a stored document is read back");
    }
    // An export of the rules can be imported again, here and by the API.
    let export = RulesetsExport::new(rulesets, Timestamp::UNIX_EPOCH);
    let line = json::to_bytes(&json!({"name": "alice", "push_rules": export}));
    let rule_limits = NewRuleLimits { bytes: usize::MAX, ..LIMITS.rule };
    let limits = ImportLimits { rule: rule_limits, ..LIMITS };
    let mut reader = AccountFileReader::new(limits, HashMap::new(), Timestamp::MAX);
    let reimported_account =
        reader.parse_line(&line).expect("an export is valid").expect("it is not blank");
    let sorted_by_scope = |rulesets: &[RuleDocument]| {
        let mut rulesets = rulesets.to_vec();
        rulesets.sort_by(|a, b| a.scope().cmp(b.scope()));
        rulesets
    };
    assert_eq!(sorted_by_scope(&reimported_account.rulesets), sorted_by_scope(rulesets));
    let imported_rulesets = read_import(&json::to_bytes(&export), rule_limits, Timestamp::MIN)
        .expect("an export is valid");
    assert_eq!(sorted_by_scope(&imported_rulesets), sorted_by_scope(rulesets));
}
