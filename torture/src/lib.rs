//! Scenarios that break a running Belfry, its engines or its connections, and then check that no
//! acknowledged write was lost: written rules and issued tokens exist, revoked tokens are rejected,
//! redeemed codes cannot be redeemed again, refresh tokens remain valid until their sign-in ends, and
//! accepted messages are delivered.
//!
//! `cargo xtask torture` runs many rounds of each scenario, and the server tests run a few rounds
//! of most of them.

mod app;
mod client;
mod http2;
mod load;
mod node;
mod outcome;
mod public_client;
mod push;
mod push_gateway;
mod scenarios;
mod worker;
mod workers;

use std::error::Error;

use self::outcome::Run;
pub use self::outcome::{MAX_RECOVERY, Outcome, Settings};

/// The result of a step; an error ends its scenario.
type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// A kind of failure, and the function that causes it under load.
pub struct Scenario {
    pub name: &'static str,
    pub description: &'static str,
    /// The default number of rounds.
    pub rounds: u32,
    run: fn(&mut Run) -> Result<()>,
}

impl Scenario {
    /// Runs the scenario. `report` is called after each round.
    ///
    /// A failure of the scenario itself, such as a server that does not restart, counts as a loss.
    pub fn run(&self, settings: &Settings, report: &mut dyn FnMut(&Outcome)) -> Outcome {
        let mut run = Run::new(settings, report);
        if let Err(error) = (self.run)(&mut run) {
            run.outcome.record_loss(error.to_string());
        }
        run.outcome
    }
}

#[must_use]
pub fn find_scenario(name: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|scenario| scenario.name == name)
}

#[must_use]
pub fn random_seed() -> u64 {
    fastrand::u64(..1_000_000)
}

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "kill-sqlite",
        description: "kill -9 during concurrent writes, on SQLite",
        rounds: 1000,
        run: scenarios::kill::kill_on_sqlite,
    },
    Scenario {
        name: "kill-postgres",
        description: "kill -9 during concurrent writes, on PostgreSQL",
        rounds: 200,
        run: scenarios::kill::kill_on_postgres,
    },
    Scenario {
        name: "push-kill-sqlite",
        description: "kill -9 while messages are accepted and delivered, on SQLite",
        rounds: 100,
        run: scenarios::push_kill::kill_on_sqlite,
    },
    Scenario {
        name: "push-kill-postgres",
        description: "kill -9 of three nodes while messages are accepted and delivered, on PostgreSQL",
        rounds: 50,
        run: scenarios::push_kill::kill_on_postgres,
    },
    Scenario {
        name: "postgres-failover",
        description: "the primary fails during concurrent writes on three nodes, its standby is promoted",
        rounds: 20,
        run: scenarios::failover::postgres_failover,
    },
    Scenario {
        name: "redis-cluster",
        description: "primaries of a Redis cluster are killed and replaced, and slots are moved",
        rounds: 60,
        run: scenarios::cluster::failovers_and_moved_slots,
    },
    Scenario {
        name: "redeem-once",
        description: "three nodes redeem one code 200 times concurrently",
        rounds: 100,
        run: scenarios::redeem::redeem_once,
    },
    Scenario {
        name: "restore-sqlite",
        description: "kill -9 during a restore into SQLite",
        rounds: 100,
        run: scenarios::restore::restore_into_sqlite,
    },
    Scenario {
        name: "restore-postgres",
        description: "kill -9 during a restore into PostgreSQL",
        rounds: 100,
        run: scenarios::restore::restore_into_postgres,
    },
    Scenario {
        name: "connection-abuse",
        description: "floods of HTTP/2 frames, slow reads and slow writes",
        rounds: scenarios::connections::ROUNDS,
        run: scenarios::connections::connection_abuse,
    },
    Scenario {
        name: "file-limit",
        description: "more connections than the process may open files",
        rounds: 5,
        run: scenarios::connections::file_limit,
    },
];
