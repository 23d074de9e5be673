//! The environment of a browser test: a server with Alice and Bob, an app, and a tab.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

use super::app::App;
use super::tab::{ENTER_KEY, RUNTIME, Tab};
use crate::support::process::{add_account, run_successfully};
use crate::support::{ServerProcess, report_skipped};

/// A server, an app and a tab; all of them end with the test.
pub(super) struct Fixture {
    pub(super) tab: Tab,
    pub(super) app: App,
    pub(super) server: ServerProcess,
    passwords: BTreeMap<&'static str, String>,
    alice_token: OnceLock<String>,
    dir: TempDir,
}

/// Runs a test in a browser. Reports the test as skipped if there is no browser.
#[track_caller]
pub(super) fn with_browser(test: impl AsyncFnOnce(&Fixture)) {
    RUNTIME.block_on(async {
        match Tab::open().await {
            Ok(tab) => test(&Fixture::new(tab).await).await,
            Err(reason) => report_skipped("the pages in a browser", &reason.to_string()),
        }
    });
}

impl Fixture {
    async fn new(tab: Tab) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let settings = "server_name = 'ring.example'\n\
            instance.rules_url = 'https://ring.example/rules'\n\
            [push]\ncontact = 'mailto:ops@ring.example'\nallowed_networks = ['127.0.0.0/8']";
        std::fs::write(dir.path().join("belfry.toml"), settings).unwrap();
        let passwords = ["alice", "bob"]
            .into_iter()
            .map(|name| (name, add_account(dir.path(), name)))
            .collect();
        let server = ServerProcess::start(dir.path(), &["--limits", "off"]);
        let app = App::register(&server.url).await;
        Self { tab, app, server, passwords, alice_token: OnceLock::new(), dir }
    }

    pub(super) fn alice_token(&self) -> &str {
        self.alice_token.get_or_init(|| self.issue_token("read write push", &[]))
    }

    pub(super) async fn get_rule(&self, path: &str) -> Value {
        let url = format!("{}/_matrix/client/v3/pushrules/{path}", self.server.url);
        let request = reqwest::Client::new().get(url).bearer_auth(self.alice_token());
        request.send().await.unwrap().json().await.unwrap()
    }

    pub(super) fn issue_token(&self, scopes: &str, options: &[&str]) -> String {
        let arguments = [&["token", "issue", "alice", "--scopes", scopes], options].concat();
        run_successfully(self.dir.path(), &arguments).trim_end().to_owned()
    }

    /// Puts a push rule, as an app does.
    pub(super) async fn put_rule(&self, token: &str, path: &str, body: &str) {
        let url = format!("{}/_matrix/client/v3/pushrules/{path}", self.server.url);
        let request = reqwest::Client::new().put(url).bearer_auth(token).body(body.to_owned());
        assert!(request.send().await.unwrap().status().is_success(), "{path}");
    }

    /// Adds apps and rules of several kinds to Alice's account. She must be signed in.
    pub(super) async fn add_apps_and_rules(&self) {
        let token = self.issue_token("read write push", &[]);
        self.issue_token("read:statuses", &["--app", "The bell ringers’ bot"]);
        let sound_and_highlight = r#"["notify",{"set_tweak":"sound"},{"set_tweak":"highlight"}]"#;
        for (path, body) in [
            (
                "global/content/sweets",
                &*format!(r#"{{"pattern":"cake","actions":{sound_and_highlight}}}"#),
            ),
            ("global/room/!bellringers:ring.example", r#"{"actions":[]}"#),
            ("global/sender/@bob:ring.example", r#"{"actions":["notify"]}"#),
            ("global/sender/@bob:ring.example/enabled", "false"),
            ("global/underride/.m.rule.message/enabled", "false"),
            ("device/phone/override/work", &*format!(r#"{{"actions":{sound_and_highlight}}}"#)),
        ] {
            self.put_rule(&token, path, body).await;
        }
        self.tab.goto(&self.app.authorize_url(&[("scope", "read write:media push")])).await;
        self.allow().await;
        self.tab.find("#thanks").await;
        let code = self.app.next_callback().await.fields["code"].clone();
        self.app.redeem(&code, &self.app.redirect_uri, &[]).await;
    }

    /// Signs in on the sign-in page, with the keyboard alone.
    pub(super) async fn sign_in(&self, name: &str) {
        self.sign_in_with(name, &self.passwords[name]).await;
    }

    pub(super) async fn sign_in_with(&self, name: &str, password: &str) {
        self.tab.fill("#username", name).await;
        self.tab.fill("#password", &format!("{password}{ENTER_KEY}")).await;
    }

    /// Requests the deletion of the account on the security page.
    pub(super) async fn delete_account(&self, name: &str) {
        self.tab.fill("[name=password]", &format!("{}{ENTER_KEY}", self.passwords[name])).await;
    }

    pub(super) async fn change_password(&self, name: &str, new_password: &str) {
        self.tab.fill("#current-password", &self.passwords[name]).await;
        self.tab.fill("#new-password", new_password).await;
        self.tab.fill("#password-again", &format!("{new_password}{ENTER_KEY}")).await;
    }

    /// Clicks the allow button, once it is enabled.
    pub(super) async fn allow(&self) {
        self.tab.click("button[value=allow]:not([aria-disabled])").await;
    }

    /// Clicks the deny button, once it is enabled.
    pub(super) async fn deny(&self) {
        self.tab.click("button[value=deny]:not([aria-disabled])").await;
    }

    /// Signs out with the button that switches to another account.
    pub(super) async fn switch_account(&self) {
        self.tab.click("form[action='/oauth/sign_out'] button:not([aria-disabled])").await;
    }
}
