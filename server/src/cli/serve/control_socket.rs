//! Responds to commands at the control socket.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use belfry_runtime::supervisor::Task;
use serde_json::{Value, json};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::app::AppState;
use crate::config::RunningSettings;
use crate::control::{
    ControlRequest, ControlResponse, MAX_REQUEST_BYTES, ProcessSettings, TIMEOUT, bind, read_line,
    socket_path, write_line,
};

/// Maximum number of clients at a time.
const MAX_CLIENTS: usize = 8;
/// Pause before another attempt to accept a connection.
const RETRY_DELAY: Duration = Duration::from_secs(10);

/// Starts to respond to clients of the socket. A server that cannot create it serves without it.
pub(super) fn start_control_socket(state: &AppState, port: u16) {
    let path = socket_path(&state.config.data);
    let file = path.display();
    match bind(&path) {
        Ok(listener) => {
            let listener = Arc::new(listener);
            let task_state = state.clone();
            state.tasks.add(Task::spawn("control_socket", move || {
                serve_control_socket(task_state.clone(), port, Arc::clone(&listener))
            }));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            tracing::info!(%file, "no socket for belfry doctor, because there is no data directory");
        }
        Err(error) => {
            tracing::warn!(%file, %error, "cannot create the socket for belfry doctor");
        }
    }
}

async fn serve_control_socket(state: AppState, port: u16, listener: Arc<UnixListener>) {
    let slots = Arc::new(Semaphore::new(MAX_CLIENTS));
    while let Ok(slot) = Arc::clone(&slots).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                let state = state.clone();
                tokio::spawn(async move {
                    let _closed = timeout(TIMEOUT, respond(stream, &state, port)).await;
                    drop(slot);
                });
            }
            Err(_) => sleep(RETRY_DELAY).await,
        }
    }
}

async fn respond(mut stream: UnixStream, state: &AppState, port: u16) -> io::Result<()> {
    let response: ControlResponse<Value> = match read_line(&mut stream, MAX_REQUEST_BYTES).await {
        Ok(ControlRequest::Settings) => Ok(json!(ProcessSettings {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            port,
            settings: RunningSettings::clone(&state.running_settings.load()),
        })),
        Ok(ControlRequest::Arrival { probe }) => Ok(json!(state.expected_probe.expect(probe))),
        Err(error) => Err(error.to_string()),
    };
    write_line(&mut stream, &response).await
}
