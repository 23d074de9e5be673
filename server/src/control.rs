//! The control socket: a Unix socket in the data directory at which commands ask the running
//! server about its state.
//!
//! A client sends one line of JSON and receives one. Only the server's user can connect.

use std::fs::{self, Permissions};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use socket2::{Domain, SockAddr, Socket, Type};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

use crate::config::RunningSettings;

/// Maximum time for a request and its response.
pub const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum length of a request, in bytes.
pub const MAX_REQUEST_BYTES: u64 = 4 * 1024;
const MAX_RESPONSE_BYTES: u64 = 1024 * 1024;
/// Maximum length of a socket's path on Linux, in bytes.
const MAX_PATH_BYTES: usize = 107;

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum ControlRequest {
    Settings,
    /// Expects a health request with this probe, and returns its [`Arrival`]; `null` until then.
    Arrival {
        probe: String,
    },
}

/// A response of the control socket, which contains a `T` or an error message.
pub type ControlResponse<T> = Result<T, String>;

#[derive(Debug, Serialize, Deserialize)]
pub struct ProcessSettings {
    pub version: String,
    pub port: u16,
    pub settings: RunningSettings,
}

/// How a health request arrived at the server, possibly through proxies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// The other end of the connection.
    pub peer: SocketAddr,
    /// True if the peer is one of `trusted_proxies`.
    pub is_trusted_proxy: bool,
    /// The names of the forwarding headers of the request.
    pub headers: Vec<String>,
}

pub const PROBE_HEADER: &str = "belfry-probe";

/// The last probe that a client of the socket expects, and the arrival of its request. Others
/// cannot guess the probe, which is a random string.
#[derive(Debug, Default)]
pub struct ExpectedProbe(Mutex<Option<(String, Option<Arrival>)>>);

impl ExpectedProbe {
    /// Expects the request with this probe, and returns its arrival, if it has arrived.
    pub fn expect(&self, probe: String) -> Option<Arrival> {
        let mut expected = self.lock();
        match &*expected {
            Some((expected_probe, arrival)) if *expected_probe == probe => arrival.clone(),
            _ => {
                *expected = Some((probe, None));
                None
            }
        }
    }

    /// Records the arrival of a request, if its probe is expected.
    pub fn record(&self, probe: &[u8], arrival: impl FnOnce() -> Option<Arrival>) {
        if let Some((expected_probe, recorded)) = &mut *self.lock()
            && expected_probe.as_bytes() == probe
        {
            *recorded = arrival();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<(String, Option<Arrival>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub fn socket_path(data: &Path) -> PathBuf {
    data.join("belfry.sock")
}

/// Creates the socket and listens. An existing socket is replaced: it belonged to a server that has
/// ended, or to the one before this in a rolling restart.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    let length = path.as_os_str().len();
    if length > MAX_PATH_BYTES {
        return Err(io::Error::other(format!(
            "its path has {length} bytes, but the path of a socket may have {MAX_PATH_BYTES}: \
             choose a shorter data directory, or a relative path"
        )));
    }
    let address = SockAddr::unix(path)?;
    if fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket()) {
        fs::remove_file(path)?;
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&address)?;
    // Before `listen`, so that no other user can connect.
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    socket.listen(8)?;
    socket.set_nonblocking(true)?;
    UnixListener::from_std(StdListener::from(OwnedFd::from(socket)))
}

/// Sends a request to the server that uses a data directory.
pub async fn request<T: DeserializeOwned>(data: &Path, request: &ControlRequest) -> io::Result<T> {
    let exchange = async {
        let mut stream = UnixStream::connect(socket_path(data)).await?;
        write_line(&mut stream, request).await?;
        read_line::<ControlResponse<T>>(&mut stream, MAX_RESPONSE_BYTES).await
    };
    timeout(TIMEOUT, exchange).await??.map_err(io::Error::other)
}

pub async fn write_line(stream: &mut UnixStream, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    stream.write_all(&line).await
}

/// Reads a line of JSON of at most `max_bytes`.
pub async fn read_line<T: DeserializeOwned>(
    stream: impl AsyncRead + Unpin,
    max_bytes: u64,
) -> io::Result<T> {
    let mut line = String::new();
    BufReader::new(stream.take(max_bytes)).read_line(&mut line).await?;
    if !line.ends_with('\n') {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no line, or it is too long"));
    }
    Ok(serde_json::from_str(&line)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_socket_is_private_and_replaces_only_a_socket() {
        let dir = tempfile::tempdir().unwrap();
        let path = socket_path(dir.path());
        let _former_listener = bind(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        bind(&path).unwrap();

        fs::remove_file(&path).unwrap();
        fs::write(&path, "not a socket").unwrap();
        assert_eq!(bind(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert!(path.is_file(), "a file that is not a socket is not removed");
        let missing = bind(&socket_path(&dir.path().join("missing"))).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let long = bind(&socket_path(&dir.path().join("a".repeat(100)))).unwrap_err().to_string();
        assert!(long.contains("choose a shorter data directory"), "{long}");
    }

    #[test]
    fn only_the_expected_probe_is_recorded() {
        let expected = ExpectedProbe::default();
        let arrival = Arrival {
            peer: "10.0.0.1:1".parse().unwrap(),
            is_trusted_proxy: true,
            headers: Vec::new(),
        };
        expected.record(b"a", || Some(arrival.clone()));
        assert_eq!(expected.expect("a".to_owned()), None);
        expected.record(b"b", || Some(arrival.clone()));
        assert_eq!(expected.expect("a".to_owned()), None);
        expected.record(b"a", || Some(arrival.clone()));
        assert_eq!(expected.expect("a".to_owned()), Some(arrival));
        assert_eq!(expected.expect("b".to_owned()), None);
    }
}
