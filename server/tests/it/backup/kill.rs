//! A restore that is killed leaves an empty database or a complete one.

use test_engines::shared::engine_url;

use crate::support::process::belfry;

/// Runs some rounds of a `cargo xtask torture` scenario, which must lose nothing.
fn run_scenario(name: &str, rounds: u32) {
    let binary = belfry(std::path::Path::new("."), &[]).get_program().into();
    let settings =
        torture::Settings { belfry: binary, previous: None, rounds, time: None, seed: 1 };
    let outcome = torture::scenario(name).unwrap().run(&settings, &mut |_| {});
    assert!(outcome.losses == 0, "{:#?}", outcome.descriptions);
    assert_eq!(outcome.rounds, rounds);
    assert!(outcome.checks > 0, "{outcome:?}");
}

#[test]
fn a_killed_restore_leaves_an_empty_or_complete_database_on_sqlite() {
    run_scenario("restore-sqlite", 5);
}

#[test]
fn a_killed_restore_leaves_an_empty_or_complete_database_on_postgres() {
    if engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES").is_some() {
        run_scenario("restore-postgres", 3);
    }
}
