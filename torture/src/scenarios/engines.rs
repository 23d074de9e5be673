//! Outages of PostgreSQL and Redis during concurrent writes.

use std::thread;
use std::time::{Duration, Instant};

use test_engines::{EngineError, Postgres, Redis};

use crate::Result;
use crate::load::{Load, OnFailure};
use crate::node::Node;
use crate::outcome::Run;
use crate::workers::Workers;

/// The number of writes that must be acknowledged before and after an outage. The same number must
/// fail during an outage of PostgreSQL, and be acknowledged during an outage of Redis.
const WRITES: u64 = 100;

/// Maximum time until the server is ready again.
const RECOVERY_TIMEOUT: Duration = Duration::from_mins(1);

/// The outages, used in rotation.
#[derive(Debug, Clone, Copy)]
enum Outage {
    /// SIGKILL, then a start.
    Kill,
    /// SIGSTOP, then SIGCONT: connections stay open, and nothing responds.
    Pause,
    /// An orderly stop, then a start.
    Restart,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Begin,
    End,
}

pub(crate) fn postgres_outage(run: &mut Run) -> Result<()> {
    let mut postgres = Postgres::start_durable()?;
    let arguments = ["--limits", "off", "--database", &postgres.url()];
    let node = Node::start_new(run, &arguments, "[store]\ntimeout = \"1s\"\n")?;
    let control_engine = |outage, phase| match (outage, phase) {
        (Outage::Kill, Phase::Begin) => postgres.kill(),
        (Outage::Pause, Phase::Begin) => postgres.pause(),
        (Outage::Restart, Phase::Begin) => postgres.stop(),
        (Outage::Pause, Phase::End) => postgres.resume(),
        (Outage::Kill | Outage::Restart, Phase::End) => postgres.restart(),
    };
    cause_outages(run, &node, control_engine, |load| load.wait_for_failures(WRITES))
}

pub(crate) fn redis_outage(run: &mut Run) -> Result<()> {
    let mut redis = Redis::start()?;
    // Every request is counted, and none is rejected.
    let arguments = ["--limits", "shadow", "--redis", &redis.url()];
    let node = Node::start_new(run, &arguments, "")?;
    let control_engine = |outage, phase| match (outage, phase) {
        (Outage::Kill, Phase::Begin) => redis.kill(),
        (Outage::Pause, Phase::Begin) => redis.pause(),
        (Outage::Restart, Phase::Begin) => redis.stop(),
        (Outage::Pause, Phase::End) => redis.resume(),
        (Outage::Kill | Outage::Restart, Phase::End) => redis.restart(),
    };
    // Writes continue during an outage of Redis, because requests are then counted locally.
    cause_outages(run, &node, control_engine, |load| load.wait_for_acknowledgements(WRITES))?;
    let failed = run.outcome.failed;
    run.outcome.check(failed == 0, || format!("{failed} requests failed without Redis"));
    Ok(())
}

/// Causes an outage in each round, waits for its effect, and ends it. The server must recover
/// without a restart.
fn cause_outages(
    run: &mut Run,
    node: &Node,
    mut control_engine: impl FnMut(Outage, Phase) -> std::result::Result<(), EngineError>,
    wait_for_effect: impl Fn(&Load) -> Result<()>,
) -> Result<()> {
    let mut workers = Workers::set_up(run, &[node.address])?;
    let outages = [Outage::Kill, Outage::Pause, Outage::Restart];
    while let Some(round) = run.next_round() {
        let outage = outages[round as usize % outages.len()];
        let delay = Duration::from_millis(run.rng.u64(1..=100));
        workers.run_load(run, OnFailure::Continue, |load| {
            load.wait_for_acknowledgements(WRITES)?;
            thread::sleep(delay);
            control_engine(outage, Phase::Begin)?;
            let effect = wait_for_effect(load);
            control_engine(outage, Phase::End)?;
            effect?;
            wait_until_ready(node)?;
            load.wait_for_acknowledgements(WRITES)
        })?;
        workers.verify(run)?;
        run.end_round();
    }
    workers.verify_all(run)
}

pub(crate) fn wait_until_ready(node: &Node) -> Result<()> {
    let start = Instant::now();
    loop {
        let status = node.response_status("/readyz");
        if status == 200 {
            return Ok(());
        }
        if start.elapsed() > RECOVERY_TIMEOUT {
            return Err(format!(
                "/readyz is {status} {} s after an outage",
                RECOVERY_TIMEOUT.as_secs()
            )
            .into());
        }
        thread::sleep(Duration::from_millis(50));
    }
}
