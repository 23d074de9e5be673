//! The notifications page over HTTP.

mod app_rules;
mod changes;
mod conflicts;
mod lists;
mod names;
mod profiles;
mod quiet_hours;
mod session;
mod trial;

use std::sync::Arc;

use axum::http::StatusCode;
use belfry::config::Config;
use serde_json::Value;

use crate::support::service::unlimited_config;
use crate::support::{Browser, Service, TestClient, TestResponse};

pub(crate) const PAGE_PATH: &str = "/oauth/account/notifications";

/// Alice in a browser, and with an app that uses the API.
struct Alice {
    service: Arc<Service>,
    browser: Browser,
    app: TestClient,
}

impl Alice {
    async fn new() -> Self {
        Self::with_config(unlimited_config()).await
    }

    async fn with_config(config: Config) -> Self {
        let service = Arc::new(Service::start_with(config).await);
        service.add_account("alice").await;
        let browser = sign_in(&service).await;
        let app = service.user_client("alice").await;
        Self { service, browser, app }
    }

    async fn get_page(&mut self) -> TestResponse {
        self.browser.get(PAGE_PATH).await
    }

    /// Submits a form on the page without following the redirect.
    async fn post(&mut self, fields: &[(&str, &str)]) -> TestResponse {
        self.post_to(PAGE_PATH, fields).await
    }

    /// Submits a form on the page to this path, which may have a query.
    async fn post_to(&mut self, path: &str, fields: &[(&str, &str)]) -> TestResponse {
        let csrf_token = csrf_token(&self.get_page().await);
        let all_fields: Vec<(&str, &str)> =
            [("csrf", &*csrf_token)].into_iter().chain(fields.iter().copied()).collect();
        self.browser.post(path, &all_fields).await
    }

    /// Submits a form, which must be accepted, and returns the page that follows.
    async fn submit(&mut self, fields: &[(&str, &str)]) -> TestResponse {
        let response = self.post(fields).await;
        self.browser.follow(&response).await
    }

    /// Returns the user's rules at this path, as a client sees them.
    async fn get_rules(&self, path: &str) -> Value {
        self.app.get_rules(path).await
    }

    async fn put_rule(&self, path: &str, body: &Value) {
        let request_line = format!("PUT /_matrix/client/v3/pushrules/{path}");
        self.app.send(&request_line, body.to_string()).await.expect_json(StatusCode::OK);
    }
}

/// Returns a browser with a session of Alice.
async fn sign_in(service: &Service) -> Browser {
    let mut browser = service.browser();
    let page = browser.get("/oauth/sign_in").await;
    browser.sign_in(&page, "alice").await.assert_page(200, "@alice:ring.example");
    browser
}

fn csrf_token(page: &TestResponse) -> String {
    let field = page.text.split("name=\"csrf\" value=\"").nth(1).unwrap();
    field.split('"').next().unwrap().to_owned()
}

/// Returns the hidden field `seen` in the form for this percent-encoded rule id.
#[track_caller]
fn seen_field(page: &TestResponse, rule: &str) -> String {
    let entry = page.text.split(&format!("name=\"rule\" value=\"{rule}\">")).nth(1);
    let entry = entry.unwrap_or_else(|| panic!("{rule}: {}", page.text));
    let value = entry.split("name=\"seen\" value=\"").nth(1).unwrap();
    value.split('"').next().unwrap().to_owned()
}
