//! Runs the seeds of each fuzz target, which include inputs that once failed.

use std::fs;
use std::path::Path;

fn run_seeds(target: &str, check_input: fn(&[u8])) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    let mut count = 0;
    for entry in fs::read_dir(&dir).expect("the target has a directory with seeds") {
        let path = entry.expect("the directory is readable").path();
        // Shown if the seed fails.
        println!("{}", path.display());
        check_input(&fs::read(&path).expect("a seed is a file"));
        count += 1;
    }
    assert!(count > 0, "{} is empty", dir.display());
}

#[test]
fn all_evaluators_have_the_same_result() {
    run_seeds("evaluation", belfry_fuzz::evaluation::check_input);
}

#[test]
fn serialized_rules_are_read_back_unchanged() {
    run_seeds("rule", belfry_fuzz::rule::check_input);
}

#[test]
fn patterns_match_as_defined() {
    run_seeds("pattern", belfry_fuzz::pattern::check_input);
}

#[test]
fn authorization_responses_go_to_registered_redirect_uris() {
    run_seeds("oauth", belfry_fuzz::oauth::check_input);
}

#[test]
fn imported_accounts_are_valid_everywhere() {
    run_seeds("import", belfry_fuzz::import::check_input);
}
