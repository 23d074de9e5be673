//! A restore that is killed leaves an empty database or a complete one.

use test_engines::shared::engine_url;

use crate::support::process::belfry_command;

/// Runs some rounds of a `cargo xtask torture` scenario, which must lose nothing.
fn assert_scenario_loses_nothing(name: &str, rounds: u32) {
    let binary = belfry_command(std::path::Path::new("."), &[]).get_program().into();
    let settings = torture::Settings { belfry: binary, rounds, time_limit: None, seed: 1 };
    let outcome = torture::find_scenario(name).unwrap().run(&settings, &mut |_| {});
    assert!(outcome.losses == 0, "{:#?}", outcome.loss_descriptions);
    assert_eq!(outcome.rounds, rounds);
    assert!(outcome.checks > 0, "{outcome:?}");
}

#[test]
fn a_killed_restore_leaves_an_empty_or_complete_database_on_sqlite() {
    assert_scenario_loses_nothing("restore-sqlite", 5);
}

#[test]
fn a_killed_restore_leaves_an_empty_or_complete_database_on_postgres() {
    if engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES").is_some() {
        assert_scenario_loses_nothing("restore-postgres", 3);
    }
}
