//! A few rounds of each scenario of `cargo xtask torture`, except those of restores, which
//! `backup::kill` runs.

use std::fs;
use std::path::Path;

use test_engines::shared::engine_url;
use torture::{Outcome, Settings};

use crate::support::files::set_mode;

fn run_scenario(name: &str, rounds: u32, belfry: &Path) -> Outcome {
    let settings = Settings { belfry: belfry.to_owned(), rounds, time_limit: None, seed: 1 };
    torture::find_scenario(name).unwrap().run(&settings, &mut |_| {})
}

/// Runs some rounds of a scenario and asserts that no acknowledged write is lost.
#[track_caller]
fn assert_nothing_is_lost(name: &str, rounds: u32) -> Outcome {
    let outcome = run_scenario(name, rounds, Path::new(env!("CARGO_BIN_EXE_belfry")));
    assert!(outcome.losses == 0, "{:#?}", outcome.loss_descriptions);
    assert_eq!(outcome.rounds, rounds);
    assert!(outcome.checks > 0 && outcome.acknowledged > 0, "{outcome:?}");
    outcome
}

fn has_postgres() -> bool {
    engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES").is_some()
}

#[test]
fn a_server_killed_during_writes_loses_nothing_on_sqlite() {
    assert_nothing_is_lost("kill-sqlite", 5);
}

#[test]
fn a_server_killed_during_writes_loses_nothing_on_postgres() {
    if has_postgres() {
        assert_nothing_is_lost("kill-postgres", 3);
    }
}

#[test]
fn a_server_killed_during_deliveries_loses_no_message_on_sqlite() {
    assert_nothing_is_lost("push-kill-sqlite", 5);
}

/// Takes half a minute, because messages wait for a lease to expire.
#[test]
fn a_server_killed_during_deliveries_loses_no_message_on_postgres() {
    if has_postgres() {
        assert_nothing_is_lost("push-kill-postgres", 3);
    }
}

/// The primary is suspended, then its successor is killed. The recovery times are only printed,
/// because they depend on the machine's load; `cargo xtask torture` fails if one is too long.
#[test]
fn after_postgres_failovers_nothing_is_lost_and_every_node_writes_again() {
    if has_postgres() {
        let outcome = assert_nothing_is_lost("postgres-failover", 2);
        assert!(!outcome.recoveries.is_empty());
        println!("recoveries after failovers: {:?}", outcome.recoveries);
    }
}

/// A primary is killed, and slots are moved.
#[test]
#[ignore = "long: starts a cluster and three nodes, which limits::cluster does with less load"]
fn counts_remain_exact_when_a_redis_cluster_fails_over_or_moves_slots() {
    if has_postgres() && engine_url("Redis", "BELFRY_TEST_REDIS").is_some() {
        assert_nothing_is_lost("redis-cluster", 2);
    }
}

#[test]
fn three_nodes_redeem_one_code_once() {
    if has_postgres() {
        assert_nothing_is_lost("redeem-once", 2);
    }
}

#[test]
#[ignore = "long: the server closes connections after a minute, and `connections` tests each kind"]
fn abused_connections_are_closed_while_others_are_served() {
    assert_nothing_is_lost("connection-abuse", 12);
}

#[test]
#[ignore = "long: the server closes connections after a minute"]
fn the_server_survives_more_connections_than_open_files() {
    assert_nothing_is_lost("file-limit", 1);
}

/// A wrapper around Belfry that loses writes: its third start restores the data of the second.
const LOSSY_WRAPPER: &str = r#"#!/bin/sh
echo start >> starts
case $(wc -l < starts) in
    2) cp -r data saved ;;
    3) rm -r data; cp -r saved data ;;
esac
exec BELFRY "$@"
"#;

/// Shows that the checks in the other tests can fail.
#[test]
fn lost_writes_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let wrapper = dir.path().join("wrapper");
    fs::write(&wrapper, LOSSY_WRAPPER.replace("BELFRY", env!("CARGO_BIN_EXE_belfry"))).unwrap();
    set_mode(&wrapper, 0o755);
    let outcome = run_scenario("kill-sqlite", 2, &wrapper);
    assert_eq!(outcome.rounds, 2);
    assert!(outcome.losses > 0 && !outcome.loss_descriptions.is_empty(), "{outcome:?}");
}
