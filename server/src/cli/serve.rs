//! `belfry serve`: engines, bind, serve until a signal.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use super::Failure;
use crate::app::AppState;
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, ConfigError};
use crate::http::HttpService;
use crate::log;
use crate::serve::serve;
use crate::store::{Database, Store};
use crate::tls::Tls;

/// How often what has ended is removed from the store.
const SWEEP: Duration = Duration::from_hours(1);
/// How often windows that have ended are removed from memory.
const SWEEP_LIMITS: Duration = Duration::from_mins(1);

/// Reads the settings: flags, environment and file, as they are now.
pub(super) trait Load: Fn() -> Result<Config, ConfigError> + Send + 'static {}
impl<F: Fn() -> Result<Config, ConfigError> + Send + 'static> Load for F {}

/// Serves with what `load` gives; a SIGHUP asks it again.
pub(super) fn run(load: impl Load) -> Result<(), Failure> {
    let config = load()?;
    log::start(config.log);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(serve_until_signal(config, load));
    // A hash that is still being made is nobody's any more.
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}

async fn serve_until_signal(config: Config, load: impl Load) -> Result<(), Failure> {
    // Signals first: one that comes during the start must not be lost.
    let (stop, reload) = (stop_signal()?, signal(SignalKind::hangup())?);
    let database = config.database();
    let tls = config.tls.clone().map(Tls::load).transpose()?;
    let clock = Arc::new(SystemClock);
    let store = Store::open(&database, &config.store, clock.now()).await?;
    let _lock = lock(&database)?;
    let listener = bind(config.listen).await?;
    let metrics_listener = match config.metrics_listen {
        Some(address) => Some(bind(address).await?),
        None => None,
    };
    let bound = listener.local_addr()?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let base_url = config.base_url(bound);
    tracing::info!(%database, %base_url, version = env!("CARGO_PKG_VERSION"), "belfry starts");

    for doubt in config.warnings() {
        tracing::warn!("{doubt}");
    }
    let state = Arc::new(AppState::new(config, base_url, store, clock).await?);
    let side = [
        tokio::spawn(sweep(Arc::clone(&state))),
        tokio::spawn(sweep_limits(Arc::clone(&state))),
        tokio::spawn(reload_limits(Arc::clone(&state), load, reload)),
        tokio::spawn(watch_tls(tls.clone())),
        tokio::spawn(serve_metrics(metrics_listener, Arc::clone(&state), stop.clone())),
    ];
    let mut stdout = std::io::stdout();
    writeln!(stdout, "belfry listening on {scheme}://{bound}").and_then(|()| stdout.flush())?;

    serve(listener, tls, HttpService::new(Arc::clone(&state)), stopped(stop)).await;

    for task in side {
        task.abort();
    }
    tracing::info!("belfry stops");
    Ok(())
}

async fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| format!("cannot listen on {address}: {error}").into())
}

/// Two servers on one SQLite file would not see each other's writes at once; commands may run
/// beside a server. PostgreSQL tells its nodes itself.
fn lock(database: &Database) -> Result<Option<File>, Failure> {
    let Database::Sqlite(path) = database else { return Ok(None) };
    let path = path.with_extension("lock");
    let open = fs::OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = open.map_err(|error| format!("cannot open {}: {error}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(format!(
            "another belfry serves this data: {} is locked; stop it, choose another --data, or \
             use PostgreSQL for several nodes",
            path.display()
        )
        .into()),
        Err(TryLockError::Error(error)) => {
            Err(format!("cannot lock {}: {error}", path.display()).into())
        }
    }
}

/// Turns true at the first SIGTERM or SIGINT; the second ends the process where it stands.
fn stop_signal() -> Result<watch::Receiver<bool>, Failure> {
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (stopping, stop) = watch::channel(false);
    tokio::spawn(async move {
        for first in [true, false] {
            tokio::select! {
                _ = term.recv() => {}
                _ = int.recv() => {}
            }
            if first {
                stopping.send_replace(true);
            } else {
                std::process::exit(1);
            }
        }
    });
    Ok(stop)
}

async fn stopped(mut stop: watch::Receiver<bool>) {
    let _sender_never_goes = stop.wait_for(|stop| *stop).await;
}

async fn sweep(state: Arc<AppState>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        if let Err(error) = state.store.delete_expired(state.clock.now()).await {
            tracing::warn!(%error, "what has ended could not be removed");
        }
    }
}

async fn sweep_limits(state: Arc<AppState>) {
    loop {
        tokio::time::sleep(SWEEP_LIMITS).await;
        let state = Arc::clone(&state);
        // Millions of keys take a while.
        let _only_fails_by_a_panic =
            tokio::task::spawn_blocking(move || state.limits.sweep(state.clock.now())).await;
    }
}

/// Puts the limits of the settings in force again at every SIGHUP.
async fn reload_limits(state: Arc<AppState>, load: impl Load, mut hangup: Signal) {
    while hangup.recv().await.is_some() {
        match load() {
            Err(error) => tracing::error!(%error, "SIGHUP: the limits in force stay as they are"),
            Ok(config) => {
                let changes = state.limits.replace(&config, &state.metrics);
                for change in &changes {
                    tracing::info!(change, "SIGHUP: a limit is changed");
                }
                if changes.is_empty() {
                    tracing::info!("SIGHUP: no limit is changed");
                }
            }
        }
    }
}

async fn watch_tls(tls: Option<Tls>) {
    if let Some(tls) = tls {
        tls.watch().await;
    }
}

async fn serve_metrics(
    listener: Option<TcpListener>,
    state: Arc<AppState>,
    stop: watch::Receiver<bool>,
) {
    if let Some(listener) = listener {
        serve(listener, None, HttpService::metrics_only(state), stopped(stop)).await;
    }
}
