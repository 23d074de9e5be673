//! Supervised background tasks, which are restarted after a panic or an unexpected end.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::metrics::Counter;

/// The pause before a task is restarted after its first failure. It doubles with each subsequent
/// failure.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause before a task is restarted.
const MAX_PAUSE: Duration = Duration::from_mins(1);

/// The time that a task must run to count as healthy again.
const HEALTHY_AFTER: Duration = Duration::from_mins(1);

/// The number of failures in a row at which a task is reported as failing.
const FAILURE_THRESHOLD: u32 = 5;

/// Maximum time for all tasks together to end when the process stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// A task that runs until it is stopped or dropped.
#[derive(Debug)]
pub struct Task {
    status: Arc<TaskStatus>,
    stop: CancellationToken,
    handle: AbortOnDropHandle<()>,
}

#[derive(Debug)]
pub struct TaskStatus {
    /// The name, for logs and metrics.
    pub name: &'static str,
    pub restarts: Counter,
    current_run: Mutex<TaskRun>,
}

#[derive(Debug)]
struct TaskRun {
    /// Number of failures in a row before this run.
    failures: u32,
    /// The start of the run; `None` in the pause before it.
    started_at: Option<Instant>,
}

impl Task {
    /// Runs a future that does not end by itself. Stopping the task drops the future.
    pub fn spawn<F: Future<Output = ()> + Send + 'static>(
        name: &'static str,
        mut create_future: impl FnMut() -> F + Send + 'static,
    ) -> Self {
        Self::supervise(name, move |stop| {
            let future = create_future();
            async move { stop.run_until_cancelled(future).await.unwrap_or_default() }
        })
    }

    /// Calls `work` now, and again after each pause. Stopping the task lets the current call
    /// finish.
    pub fn spawn_periodic<F: Future<Output = ()> + Send + 'static>(
        name: &'static str,
        pause: Duration,
        work: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self {
        let work = Arc::new(work);
        Self::supervise(name, move |stop| {
            let work = Arc::clone(&work);
            async move {
                work().await;
                while stop.run_until_cancelled(sleep(pause)).await.is_some() {
                    work().await;
                }
            }
        })
    }

    fn supervise<F: Future<Output = ()> + Send + 'static>(
        name: &'static str,
        mut create_future: impl FnMut(CancellationToken) -> F + Send + 'static,
    ) -> Self {
        let status = Arc::new(TaskStatus::new(name));
        let stop = CancellationToken::new();
        let own_status = Arc::clone(&status);
        let own_stop = stop.clone();
        let supervisor = async move {
            loop {
                own_status.begin_run();
                let future = AssertUnwindSafe(async { create_future(own_stop.clone()).await });
                // The server's panic hook logs the panic.
                let cause = if future.catch_unwind().await.is_err() { "panic" } else { "ended" };
                if own_stop.is_cancelled() {
                    return;
                }
                let pause = own_status.record_failure();
                let retry_in_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
                tracing::error!(task = name, cause, retry_in_ms, "background task failed");
                if own_stop.run_until_cancelled(sleep(pause)).await.is_none() {
                    return;
                }
                own_status.restarts.inc();
            }
        };
        Self { status, stop, handle: AbortOnDropHandle::new(tokio::spawn(supervisor)) }
    }

    /// Returns the task's name and failures.
    pub fn status(&self) -> Arc<TaskStatus> {
        Arc::clone(&self.status)
    }
}

impl TaskStatus {
    fn new(name: &'static str) -> Self {
        let current_run = Mutex::new(TaskRun { failures: 0, started_at: None });
        Self { name, restarts: Counter::default(), current_run }
    }

    /// Returns whether the task failed five times in a row or more, and has not run for a minute
    /// since then.
    pub fn is_failing_repeatedly(&self) -> bool {
        let run = self.lock();
        run.failures >= FAILURE_THRESHOLD && !run.is_healthy()
    }

    fn begin_run(&self) {
        self.lock().started_at = Some(Instant::now());
    }

    /// Records a failure, and returns the pause before the next run.
    fn record_failure(&self) -> Duration {
        let mut run = self.lock();
        run.failures = if run.is_healthy() { 1 } else { run.failures.saturating_add(1) };
        run.started_at = None;
        let factor = 1_u32.checked_shl(run.failures - 1).unwrap_or(u32::MAX);
        FIRST_PAUSE.saturating_mul(factor).min(MAX_PAUSE)
    }

    fn lock(&self) -> MutexGuard<'_, TaskRun> {
        self.current_run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskRun {
    fn is_healthy(&self) -> bool {
        self.started_at.is_some_and(|started_at| started_at.elapsed() >= HEALTHY_AFTER)
    }
}

/// A server's tasks, in the order of their start.
#[derive(Debug, Default)]
pub struct Tasks(Mutex<Vec<Task>>);

impl Tasks {
    pub fn add(&self, task: Task) {
        self.lock().push(task);
    }

    pub fn statuses(&self) -> Vec<Arc<TaskStatus>> {
        self.lock().iter().map(Task::status).collect()
    }

    /// Stops the tasks one after the other, the last one first. After five seconds in total, the
    /// remaining tasks are aborted.
    pub async fn stop(&self) {
        let deadline = Instant::now() + STOP_TIMEOUT;
        let tasks = std::mem::take(&mut *self.lock());
        for Task { status, stop, handle } in tasks.into_iter().rev() {
            stop.cancel();
            if timeout_at(deadline, handle).await.is_err() {
                tracing::warn!(task = status.name, "background task aborted");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Task>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_or_ends_is_restarted_after_a_growing_pause() {
        let starts = Arc::new(Mutex::new(Vec::new()));
        let start = Instant::now();
        let task_starts = Arc::clone(&starts);
        let task = Task::spawn("test", move || {
            let mut starts = task_starts.lock().unwrap();
            starts.push(start.elapsed().as_millis());
            let run_number = starts.len();
            async move {
                match run_number {
                    1 => panic!("the first run"),
                    2 | 3 => {}
                    _ => std::future::pending().await,
                }
            }
        });
        sleep(Duration::from_secs(10)).await;
        // Timers have a granularity of a millisecond.
        let tenths: Vec<_> = starts.lock().unwrap().iter().map(|millis| millis / 100).collect();
        assert_eq!(tenths, [0, 1, 3, 7]);
        assert_eq!(task.status().restarts.get(), 3);
        assert!(!task.status().is_failing_repeatedly());
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_counts_as_failing_until_it_has_run_for_a_minute() {
        let is_broken = Arc::new(AtomicBool::new(true));
        let task_is_broken = Arc::clone(&is_broken);
        let task = Task::spawn_periodic("test", Duration::from_secs(1), move || {
            let is_broken = task_is_broken.load(Ordering::Relaxed);
            async move { assert!(!is_broken) }
        });
        let status = task.status();
        sleep(Duration::from_secs(1)).await;
        assert!(!status.is_failing_repeatedly(), "it failed four times");
        sleep(Duration::from_secs(1)).await;
        assert!(status.is_failing_repeatedly());
        sleep(MAX_PAUSE * 10).await;
        assert!(status.is_failing_repeatedly());
        assert!((15..25).contains(&status.restarts.get()), "{:?}", status.restarts);
        is_broken.store(false, Ordering::Relaxed);
        sleep(MAX_PAUSE / 2).await;
        assert!(status.is_failing_repeatedly(), "it has not run for a minute");
        sleep(MAX_PAUSE + HEALTHY_AFTER).await;
        assert!(!status.is_failing_repeatedly());
        is_broken.store(true, Ordering::Relaxed);
        sleep(Duration::from_secs(1)).await;
        assert!(!status.is_failing_repeatedly(), "failures before a healthy run do not count");
    }

    /// Records its name when it is dropped.
    struct Recorder(&'static str, Arc<Mutex<Vec<&'static str>>>);

    impl Drop for Recorder {
        fn drop(&mut self) {
            self.1.lock().unwrap().push(self.0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn tasks_are_stopped_one_after_the_other_and_runs_in_progress_are_finished() {
        let events = Arc::new(Mutex::new(Vec::new()));
        let tasks = Tasks::default();
        let recorder = |name| {
            let events = Arc::clone(&events);
            move || Recorder(name, Arc::clone(&events))
        };
        let first = recorder("first");
        tasks.add(Task::spawn("first", move || {
            let recorder = first();
            std::future::pending().inspect(move |()| drop(recorder))
        }));
        let second = recorder("second");
        tasks.add(Task::spawn_periodic("second", Duration::from_mins(1), move || {
            let recorder = second();
            sleep(Duration::from_secs(1)).map(move |()| drop(recorder))
        }));
        let third = recorder("third");
        tasks.add(Task::spawn("third", move || {
            let recorder = third();
            std::future::pending().inspect(move |()| drop(recorder))
        }));
        sleep(Duration::from_millis(500)).await;
        let start = Instant::now();
        tasks.stop().await;
        assert_eq!(*events.lock().unwrap(), ["third", "second", "first"]);
        assert!(start.elapsed() < Duration::from_secs(1), "no task was aborted");
        assert!(tasks.statuses().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_does_not_end_is_aborted() {
        let tasks = Tasks::default();
        let runs = Arc::new(AtomicU32::new(0));
        let task_runs = Arc::clone(&runs);
        tasks.add(Task::spawn_periodic("stuck", Duration::from_secs(1), move || {
            task_runs.fetch_add(1, Ordering::Relaxed);
            std::future::pending()
        }));
        sleep(Duration::from_secs(1)).await;
        let start = Instant::now();
        tasks.stop().await;
        assert_eq!(start.elapsed().as_secs(), STOP_TIMEOUT.as_secs());
        tokio::task::yield_now().await;
        assert_eq!((runs.load(Ordering::Relaxed), Arc::strong_count(&runs)), (1, 1));
    }
}
