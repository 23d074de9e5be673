//! Responds to commands at the control socket.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

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
/// Pause before another attempt to create the socket, or to accept a connection.
const RETRY_DELAY: Duration = Duration::from_secs(10);

/// Removes the socket when the server stops.
struct SocketFile<'a>(&'a Path);

impl Drop for SocketFile<'_> {
    fn drop(&mut self) {
        let _missing = fs::remove_file(self.0);
    }
}

pub(super) fn bind_control_socket(state: &AppState) -> io::Result<UnixListener> {
    bind(&socket_path(&state.config.data))
}

/// Responds to clients of the socket. A server that cannot create it serves without it, and tries
/// again, because another server may use it until a rolling restart ends.
///
/// `socket` is the first attempt.
pub(super) async fn serve_control_socket(
    state: AppState,
    port: u16,
    socket: Option<io::Result<UnixListener>>,
) {
    let path = socket_path(&state.config.data);
    let mut last_error = None;
    let mut socket = socket.unwrap_or_else(|| bind(&path));
    loop {
        match socket {
            Ok(listener) => {
                let _file = SocketFile(&path);
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
            Err(error) => report_error(&path, &error, &mut last_error),
        }
        sleep(RETRY_DELAY).await;
        socket = bind(&path);
    }
}

/// Logs an error, unless it is the same as the last time.
fn report_error(path: &Path, error: &io::Error, last_error: &mut Option<String>) {
    let message = error.to_string();
    if last_error.as_ref() == Some(&message) {
        return;
    }
    let file = path.display();
    if error.kind() == io::ErrorKind::NotFound {
        tracing::info!(%file, "no socket for belfry doctor, because there is no data directory");
    } else {
        tracing::warn!(%file, error = message, "cannot create the socket for belfry doctor");
    }
    *last_error = Some(message);
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
