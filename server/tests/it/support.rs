//! Helpers for all tests: databases, a service in this process with a fake clock, its clients, and
//! the real binary as a process.

pub(crate) mod browser;
pub(crate) mod client;
pub(crate) mod files;
pub(crate) mod npm;
pub(crate) mod oauth_client;
pub(crate) mod process;
pub(crate) mod push_service;
pub(crate) mod pypi;
pub(crate) mod service;

pub(crate) use belfry_store::on_both_engines;
pub(crate) use belfry_store::test::{TestDatabase, any_events, recorded_events};
pub(crate) use test_engines::shared::report_skipped;

pub(crate) use self::browser::Browser;
pub(crate) use self::client::{TestClient, TestResponse};
pub(crate) use self::oauth_client::OAuthClient;
pub(crate) use self::process::ServerProcess;
pub(crate) use self::push_service::PushService;
pub(crate) use self::service::Service;
