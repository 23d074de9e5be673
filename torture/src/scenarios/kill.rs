//! `kill -9` during concurrent writes.

use std::thread;
use std::time::Duration;

use test_engines::Postgres;

use crate::Result;
use crate::load::OnFailure;
use crate::node::Node;
use crate::outcome::Run;
use crate::workers::Workers;

/// Number of writes that must be acknowledged before a kill.
const WRITES: u64 = 16;

/// Maximum duration of additional writes before a kill.
const MAX_LOAD_MS: u64 = 200;

pub(crate) fn kill_on_sqlite(run: &mut Run) -> Result<()> {
    let node = Node::start_new(run, &["--limits", "off"], "")?;
    kill_repeatedly(run, node)
}

pub(crate) fn kill_on_postgres(run: &mut Run) -> Result<()> {
    let postgres = Postgres::start()?;
    let arguments = ["--limits", "off", "--database", &postgres.url()];
    let mut node = Node::new(run, &arguments, "secret_key_file = \"belfry.key\"\n")?;
    node.run_command(&["key", "new", "belfry.key"])?;
    node.start()?;
    kill_repeatedly(run, node)
}

fn kill_repeatedly(run: &mut Run, mut node: Node) -> Result<()> {
    let mut workers = Workers::set_up(run, &[node.address])?;
    workers.add_public_client(node.address)?;
    while run.next_round().is_some() {
        let delay = Duration::from_millis(run.rng.u64(1..=MAX_LOAD_MS));
        workers.run_load(run, OnFailure::Stop, |load| {
            load.wait_for_acknowledgements(WRITES)?;
            thread::sleep(delay);
            node.kill()
        })?;
        node.start()?;
        workers.verify(run)?;
        run.end_round();
    }
    workers.verify_all(run)
}
