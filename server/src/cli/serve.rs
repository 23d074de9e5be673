//! `belfry serve`: opens the store, binds, and serves until a signal.

mod control_socket;
mod open;
mod reload;
mod service_manager;
mod stop;

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use belfry_runtime::clock::{Clock, SystemClock};
use belfry_runtime::log_throttle;
use belfry_runtime::supervisor::Task;
use sd_notify::NotifyState;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Mutex;

use self::control_socket::start_control_socket;
use self::open::open_store;
use self::reload::reload_at_hangup;
use self::stop::StopSignals;
use super::CliError;
use super::lock::lock_data;
use crate::app::{AppState, StateParts};
use crate::auth::application_services::ApplicationServices;
use crate::config::{Config, ListenAddress, Overrides};
use crate::http::HttpService;
use crate::log;
use crate::serve::{Listeners, raise_file_limit, serve};
use crate::tls::Tls;

/// Interval at which expired rows, and expired rate limit windows in memory, are deleted.
const SWEEP_INTERVAL: Duration = Duration::from_mins(1);
/// Interval at which counted audit events and the last uses of tokens and apps are stored.
const FLUSH_INTERVAL: Duration = Duration::from_secs(5);
/// Interval at which waiting deliveries are counted and new VAPID keys are loaded.
pub(super) const DELIVERY_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum time for messages in flight to get a result, slightly longer than an attempt.
const DELIVERY_STOP_TIMEOUT: Duration = Duration::from_secs(12);
/// Maximum time for background tasks to finish after the last request.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves until a signal. SIGHUP reloads the configuration with the same overrides.
pub(super) fn run(config: Config, overrides: Overrides) -> Result<(), CliError> {
    log::start(config.log);
    // Locked before the database is opened and its schema upgraded, because a running server may
    // need the old schema. Held until the last task is dropped, which closes the database.
    let _lock = lock_data(&config.database())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(serve_until_signal(config, overrides));
    runtime.shutdown_timeout(CLOSE_TIMEOUT);
    if outcome.is_ok() {
        tracing::info!("belfry stopped");
    }
    outcome
}

async fn serve_until_signal(config: Config, overrides: Overrides) -> Result<(), CliError> {
    // Handled first, so that no signal during startup is lost.
    let signals = StopSignals::handle()?;
    let hangup = signal(SignalKind::hangup())?;
    let database = config.database();
    // Files are checked before anything is opened.
    ApplicationServices::load(&config.application_services)?;
    let tls = config.tls.clone().map(Tls::load).transpose()?;
    let clock = Arc::new(SystemClock);
    let Some(store) = open_store(&database, &config.store, &signals.stop).await? else {
        return Ok(());
    };
    let listener = bind(&config.listen, "--listen").await?;
    let metrics_listener = match &config.metrics_listen {
        Some(address) => Some(bind(address, "--metrics-listen").await?),
        None => None,
    };
    let port = listener.port()?;
    let listening_url = config.listening_url(port);
    let base_url = config.base_url_at(port);
    tracing::info!(%database, %base_url, version = env!("CARGO_PKG_VERSION"), "belfry started");

    let warnings = config.warnings(&base_url, clock.now());
    for warning in &warnings {
        tracing::warn!("{warning}");
    }
    raise_file_limit(&config);
    let state = AppState::new(StateParts::new(config, base_url, store, clock).await?);
    start_periodic_tasks(&state);
    // Created before the ready line, so that commands find it from then on.
    start_control_socket(&state, port);
    let overrides = Arc::new(overrides);
    let hangup = Arc::new(Mutex::new(hangup));
    let reload_state = state.clone();
    state.tasks.add(Task::spawn("reload", move || {
        let overrides = Arc::clone(&overrides);
        let hangup = Arc::clone(&hangup);
        reload_at_hangup(reload_state.clone(), overrides, warnings.clone(), hangup)
    }));
    if let Some(tls) = tls.clone() {
        state.metrics.tls.get_or_init(|| tls.clone());
        state.tasks.add(Task::spawn("certificate", move || tls.clone().watch()));
    }
    if let Some(listener) = metrics_listener {
        let service = HttpService::metrics_only(state.clone());
        let mut listener = Some(listener);
        // Runs until the process exits, so that readiness can be queried while requests finish.
        state.tasks.add(Task::spawn("metrics_listener", move || {
            serve_metrics(listener.take(), service.clone())
        }));
    }
    let mut stdout = std::io::stdout();
    let print_result =
        writeln!(stdout, "belfry listening on {listening_url}").and_then(|()| stdout.flush());
    if let Err(error) = print_result {
        tracing::warn!(%error, "cannot print the ready line");
    }
    let status = format!("listening on {listening_url}");
    service_manager::notify(&[NotifyState::Ready, NotifyState::Status(&status)]);
    let service = HttpService::new(state.clone());
    if let Some(interval) = sd_notify::watchdog_enabled() {
        let service = service.clone();
        let reset_watchdog = move || service_manager::reset_watchdog(service.clone());
        // Reset twice as often as necessary.
        state.tasks.add(Task::spawn_periodic("watchdog", interval / 2, reset_watchdog));
    }

    start_delivery(&state);

    serve(listener, tls, service, signals.wait(&state)).await;

    stop_delivery(&state).await;
    state.tasks.stop().await;
    state.flush_audit().await;
    state.flush_uses().await;
    log_throttle::report_suppressed();
    Ok(())
}

async fn bind(address: &ListenAddress, flag: &str) -> Result<Listeners, CliError> {
    Listeners::bind(address).await.map_err(|error| {
        let advice = advise_on_bind_error(&error, address, flag);
        format!("cannot listen on {address}: {error}{advice}").into()
    })
}

fn advise_on_bind_error(error: &io::Error, address: &ListenAddress, flag: &str) -> String {
    let port = address.port;
    match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "; perhaps belfry is already running (`ss -ltnp 'sport = :{port}'` shows what listens \
             there): stop it, or choose a different address with {flag}"
        ),
        io::ErrorKind::PermissionDenied => format!(
            "; ports below 1024 need a privilege: use a higher one behind a proxy, or give the \
             service CAP_NET_BIND_SERVICE (AmbientCapabilities= in systemd), or choose a different \
             address with {flag}"
        ),
        io::ErrorKind::AddrNotAvailable => format!(
            "; this machine does not have the address (`ip address` lists them): write 0.0.0.0:{port} \
             for all networks, or 127.0.0.1:{port} for this machine only"
        ),
        _ => String::new(),
    }
}

/// Starts the worker that delivers messages, if delivery is configured.
fn start_delivery(state: &AppState) {
    let Some(delivery) = &state.delivery else { return };
    let worker = Arc::clone(&delivery.worker);
    state.tasks.add(Task::spawn("delivery", move || Arc::clone(&worker).run()));
    start_periodic_task(state, "refresh_delivery", DELIVERY_INTERVAL, |state| async move {
        let Some(delivery) = &state.delivery else { return };
        if let Err(error) = delivery.count_backlog().await {
            tracing::warn!(%error, "failed to count the waiting deliveries, retrying later");
        }
        if let Err(error) = delivery.reload_keys().await {
            tracing::warn!(%error, "failed to load the VAPID keys, retrying later");
        }
    });
}

/// Waits until the messages in flight have a result. The others are sent after the next start, or
/// by other nodes.
async fn stop_delivery(state: &AppState) {
    let Some(delivery) = &state.delivery else { return };
    if tokio::time::timeout(DELIVERY_STOP_TIMEOUT, delivery.worker.stop()).await.is_err() {
        tracing::warn!("messages in flight were not finished and may be sent again");
    }
}

/// Starts the tasks that delete expired data and store counters at intervals.
fn start_periodic_tasks(state: &AppState) {
    start_periodic_task(state, "sweep", SWEEP_INTERVAL, |state| async move {
        state.delete_excess_rows().await;
        state.sweep().await;
    });
    start_periodic_task(state, "sweep_limits", SWEEP_INTERVAL, |state| async move {
        // A blocking task, because there may be millions of keys.
        tokio::task::spawn_blocking(move || state.limits.engine.sweep(state.clock.now()))
            .await
            .expect("sweeping does not panic");
        log_throttle::report_suppressed();
    });
    start_periodic_task(state, "flush_audit", FLUSH_INTERVAL, |state| async move {
        state.flush_audit().await;
    });
    start_periodic_task(state, "flush_uses", FLUSH_INTERVAL, |state| async move {
        state.flush_uses().await;
    });
}

fn start_periodic_task<F: Future<Output = ()> + Send + 'static>(
    state: &AppState,
    name: &'static str,
    interval: Duration,
    task: impl Fn(AppState) -> F + Send + Sync + 'static,
) {
    let task_state = state.clone();
    state.tasks.add(Task::spawn_periodic(name, interval, move || task(task_state.clone())));
}

/// Serves the metrics. If the task was restarted after a failure, `listener` is `None` and the
/// address is bound again.
async fn serve_metrics(listener: Option<Listeners>, service: HttpService) {
    let address = service.state().config.metrics_listen.clone();
    let listener = match (listener, address) {
        (Some(listener), _) => listener,
        (None, Some(address)) => match Listeners::bind(&address).await {
            Ok(listener) => listener,
            Err(error) => return tracing::warn!(%error, %address, "cannot listen"),
        },
        (None, None) => return,
    };
    serve(listener, None, service, std::future::pending()).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listen_error_says_what_to_do() {
        let address = "192.0.2.1:80".parse().unwrap();
        for (kind, advice) in [
            (io::ErrorKind::AddrInUse, "`ss -ltnp 'sport = :80'` shows what listens there"),
            (io::ErrorKind::PermissionDenied, "ports below 1024 need a privilege"),
            (io::ErrorKind::AddrNotAvailable, "write 0.0.0.0:80 for all networks"),
        ] {
            let message = advise_on_bind_error(&kind.into(), &address, "--listen");
            assert!(message.contains(advice), "{message}");
        }
    }
}
