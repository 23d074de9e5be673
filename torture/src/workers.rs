//! Concurrent workers that write, record which writes were acknowledged, and check them afterwards.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use crate::Result;
use crate::app::App;
use crate::client::Client;
use crate::load::{Load, OnFailure};
use crate::outcome::Run;
use crate::public_client::PublicClient;
use crate::worker::Worker;

pub(crate) const WORKERS: usize = 64;

/// The number of users. Several workers share each of them, so that they write the same ruleset.
const USERS: usize = 8;

pub(crate) struct Workers(Vec<Worker>);

impl Workers {
    /// Adds users, and distributes the workers over them and the nodes. Each worker has its own app,
    /// because an app may have only 100 app tokens.
    pub(crate) fn set_up(run: &mut Run, nodes: &[SocketAddr]) -> Result<Self> {
        let app = App::register(nodes[0])?;
        let users = (0..USERS)
            .map(|user| app.add_user(nodes[0], &format!("user{user}")))
            .map(|user| user.map(Arc::new))
            .collect::<Result<Vec<_>>>()?;
        let worker = |number: usize| {
            let client = Client::new(nodes[number % nodes.len()]);
            let app = Arc::new(App::register(nodes[0])?);
            let user = Arc::clone(&users[number % USERS]);
            Ok(Worker::new(format!("w{number}"), client, app, user, run.rng.fork()))
        };
        (0..WORKERS).map(worker).collect::<Result<_>>().map(Self)
    }

    /// Registers a client without a secret, with which all workers sign in.
    pub(crate) fn add_public_client(&mut self, node: SocketAddr) -> Result<()> {
        let public_client = PublicClient::register(node)?;
        self.0.iter_mut().try_for_each(|worker| worker.add_family(public_client.clone()))
    }

    /// Runs `control` while all clients write.
    pub(crate) fn run_load<T>(
        &mut self,
        run: &mut Run,
        on_failure: OnFailure,
        control: impl FnOnce(&Load) -> Result<T>,
    ) -> Result<T> {
        let load = Load::new(on_failure);
        let result = thread::scope(|scope| {
            for worker in &mut self.0 {
                scope.spawn(|| worker.write_until_stopped(&load));
            }
            let result = control(&load);
            load.is_stopped.store(true, Ordering::Relaxed);
            result
        });
        self.collect_outcomes(run);
        result
    }

    /// Checks everything that was acknowledged since the last check, and a sample of older tokens.
    pub(crate) fn verify(&mut self, run: &mut Run) -> Result<()> {
        self.run_in_parallel(run, Worker::verify)
    }

    /// Checks everything that was acknowledged since the beginning.
    pub(crate) fn verify_all(&mut self, run: &mut Run) -> Result<()> {
        self.run_in_parallel(run, |worker| {
            worker.verify()?;
            worker.verify_checked_tokens()
        })
    }

    fn run_in_parallel(
        &mut self,
        run: &mut Run,
        work: impl Fn(&mut Worker) -> Result<()> + Sync,
    ) -> Result<()> {
        let work = &work;
        let results: Vec<Result<()>> = thread::scope(|scope| {
            let threads: Vec<_> =
                self.0.iter_mut().map(|worker| scope.spawn(move || work(worker))).collect();
            let join = |thread: thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|_| Err("a client panicked".into()))
            };
            threads.into_iter().map(join).collect()
        });
        self.collect_outcomes(run);
        results.into_iter().collect()
    }

    fn collect_outcomes(&mut self, run: &mut Run) {
        for worker in &mut self.0 {
            run.outcome.add(std::mem::take(&mut worker.outcome));
        }
    }
}
