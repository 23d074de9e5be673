//! The seeds of the fuzzer, each tried once: what was found stays mended, on any machine.

use std::fs;
use std::path::Path;

/// Tries all seeds of a target.
fn hold(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    let mut tried = 0;
    for entry in fs::read_dir(&folder).expect("the target has seeds") {
        let path = entry.expect("the folder is read").path();
        // Named when it fails.
        println!("{}", path.display());
        check(&fs::read(&path).expect("a seed is a file"));
        tried += 1;
    }
    assert!(tried > 0, "{} is empty", folder.display());
}

#[test]
fn every_way_to_a_verdict_comes_to_the_same() {
    hold("evaluation", belfry_fuzz::evaluation::check);
}

#[test]
fn rules_are_read_again_as_they_were_written() {
    hold("rule", belfry_fuzz::rule::check);
}

#[test]
fn patterns_match_as_they_are_defined() {
    hold("pattern", belfry_fuzz::pattern::check);
}

#[test]
fn answers_go_where_the_app_registered() {
    hold("oauth", belfry_fuzz::oauth::check);
}
