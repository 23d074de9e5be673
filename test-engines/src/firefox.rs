//! A private Firefox without a window.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use crate::EngineError;
use crate::launch::{find_program, launch, temp_dir};
use crate::process_group::{ProcessGroup, SpawnOptions};

/// Every site may show notifications, which Firefox displays itself, because there is no desktop.
/// It sends no requests to other machines, because it does not resolve host names.
const PREFERENCES: &str = "
user_pref('permissions.default.desktop-notification', 1);
user_pref('alerts.useSystemBackend', false);
user_pref('dom.push.testing.allowInsecureServerURL', true);
user_pref('network.dns.disabled', true);
user_pref('datareporting.policy.dataSubmissionEnabled', false);
";

/// A private Firefox with an empty profile, which connects only to this machine.
#[derive(Debug)]
pub struct Firefox {
    _group: ProcessGroup,
    _dir: TempDir,
}

impl Firefox {
    /// Opens a page in a Firefox that receives push messages from the server at the WebSocket URL
    /// `push_server_url`, and waits until `is_ready` returns true.
    ///
    /// # Errors
    /// [`EngineError::Missing`] if it is not installed; otherwise the reason, with its log.
    pub fn open(
        page_url: &str,
        push_server_url: &str,
        is_ready: impl FnMut() -> bool,
    ) -> Result<Self, EngineError> {
        let program = find_program(&["firefox-esr", "firefox"])?;
        let dir = temp_dir("firefox")?;
        let push_server = format!("user_pref('dom.push.serverURL', '{push_server_url}');");
        fs::write(dir.path().join("user.js"), PREFERENCES.to_owned() + &push_server)?;
        let mut command = Command::new(program);
        command.args(["--headless", "--no-remote", "--profile"]).arg(dir.path()).arg(page_url);
        command.env("HOME", dir.path());
        let options =
            SpawnOptions { remove_dir: Some(dir.path().to_owned()), ..SpawnOptions::default() };
        let group = launch(command, dir.path(), &options, is_ready)?;
        Ok(Self { _group: group, _dir: dir })
    }
}
