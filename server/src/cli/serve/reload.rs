//! SIGHUP: reloads the settings, applies those that can change while the server runs, and logs
//! which others need a restart.

use std::sync::Arc;

use sd_notify::NotifyState;
use tokio::signal::unix::Signal;
use tokio::sync::Mutex;

use super::service_manager;
use crate::app::AppState;
use crate::config::{Config, Overrides, RunningSettings, is_reloaded};

/// Reloads at every SIGHUP, with the flags and variables given at startup. `warnings` were already
/// logged at startup.
pub(super) async fn reload_at_hangup(
    state: AppState,
    overrides: Arc<Overrides>,
    mut warnings: Vec<String>,
    hangup: Arc<Mutex<Signal>>,
) {
    let mut hangup = hangup.lock().await;
    while hangup.recv().await.is_some() {
        service_manager::notify_reloading();
        match Config::load(&overrides) {
            Err(error) => {
                tracing::error!(%error, "SIGHUP: invalid configuration, no setting changed");
            }
            Ok(config) => {
                apply_settings(&state, &config);
                let current_warnings = config.warnings(&state.base_url, state.clock.now());
                for warning in current_warnings.iter().filter(|warning| !warnings.contains(warning))
                {
                    tracing::warn!("{warning}");
                }
                warnings = current_warnings;
            }
        }
        service_manager::notify(&[NotifyState::Ready]);
    }
}

/// Applies the settings that can change while the server runs, and logs all changed settings.
fn apply_settings(state: &AppState, config: &Config) {
    state.limits.replace(config, &state.metrics.limits);
    let running_settings = state.running_settings.load();
    let loaded_settings = RunningSettings::new(config);
    let changed_keys = loaded_settings.changes_since(&running_settings);
    if changed_keys.is_empty() {
        tracing::info!("SIGHUP: no setting changed");
    }
    for setting in changed_keys {
        if is_reloaded(setting) {
            let [value, previous] =
                [&loaded_settings, &running_settings].map(|settings| settings.value(setting));
            tracing::info!(setting, value, previous, "SIGHUP: setting changed");
        } else {
            tracing::warn!(setting, "SIGHUP: setting not changed; restart to apply it");
        }
    }
    state.running_settings.store(Arc::new(running_settings.with_reloaded(&loaded_settings)));
}
