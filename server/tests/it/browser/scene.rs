//! Where a test takes place: a server with Alice and Bob, an app, and a tab.

use std::collections::BTreeMap;

use tempfile::TempDir;

use super::app::App;
use super::tab::{RUNTIME, Tab};
use crate::support::process::add_account;
use crate::support::{Process, left_out};

/// Everything that a test needs; it goes with the test.
pub(super) struct Scene {
    pub(super) tab: Tab,
    pub(super) app: App,
    pub(super) server: Process,
    passwords: BTreeMap<&'static str, String>,
    _folder: TempDir,
}

/// Plays in a browser, if there is one.
#[track_caller]
pub(super) fn play(act: impl AsyncFnOnce(&Scene)) {
    RUNTIME.block_on(async {
        match Tab::open().await {
            Ok(tab) => act(&Scene::set(tab).await).await,
            Err(why) => left_out("the pages in a browser", &why.to_string()),
        }
    });
}

impl Scene {
    async fn set(tab: Tab) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("belfry.toml"), "server_name = \"ring.example\"")
            .unwrap();
        let passwords =
            ["alice", "bob"].into_iter().map(|name| (name, add_account(folder.path(), name)));
        let passwords = passwords.collect();
        let server = Process::start(folder.path(), &["--limits", "off"]);
        let app = App::register(&server.url).await;
        Self { tab, app, server, passwords, _folder: folder }
    }

    /// Signs in on the page that asks for it, with the keyboard alone.
    pub(super) async fn sign_in(&self, name: &str) {
        self.sign_in_with(name, &self.passwords[name]).await;
    }

    pub(super) async fn sign_in_with(&self, name: &str, password: &str) {
        self.tab.fill("#username", name).await;
        self.tab.fill("#password", &format!("{password}\u{e007}")).await;
    }

    /// Presses the button that lets the app in, once it can be pressed.
    pub(super) async fn allow(&self) {
        self.tab.click("#allow:not([aria-disabled])").await;
    }

    /// Presses the button that does not.
    pub(super) async fn deny(&self) {
        self.tab.click("button[value=deny]").await;
    }

    /// Presses the button that leads to another account.
    pub(super) async fn switch(&self) {
        self.tab.click("form[action='/oauth/sign_out'] button").await;
    }
}
