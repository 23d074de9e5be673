//! Logging to stderr: text on a terminal, otherwise JSON.

mod format;
pub mod request_context;

use std::io::{IsTerminal, stderr};
use std::panic::PanicHookInfo;

use belfry_runtime::log_throttle::LogThrottle;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use self::format::{HumanFields, JsonEvents};
use crate::config::{LogLevel, LogSettings};

static PANIC_LOG: LogThrottle = LogThrottle::new("panic");

/// Starts logging events and panics. Only the first call in a process has an effect.
pub fn start(settings: LogSettings) {
    let level = match settings.level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    // Audit events and the access log are independent of the level.
    let audit_level = level.max(LevelFilter::INFO);
    let targets = Targets::new()
        .with_target("belfry", level)
        .with_target("belfry::audit", audit_level)
        .with_target("belfry::access", audit_level)
        // Libraries are silent: a peer could make them write a line for each frame that it sends,
        // and at verbose levels they log requests and statements with their tokens.
        .with_default(LevelFilter::OFF);
    let layer = if stderr().is_terminal() {
        fmt::layer().fmt_fields(HumanFields).with_writer(stderr).with_target(false).boxed()
    } else {
        let json_layer = fmt::layer().with_writer(stderr).json().flatten_event(true);
        json_layer.map_event_format(JsonEvents).boxed()
    };
    let init_result = tracing_subscriber::registry().with(layer).with(targets).try_init();
    if init_result.is_ok() {
        std::panic::set_hook(Box::new(log_panic));
    }
}

/// Logs a panic. The message is logged only if it is a literal, because a formatted one may contain
/// request data.
fn log_panic(panic: &PanicHookInfo<'_>) {
    if !PANIC_LOG.admits() {
        return;
    }
    let panic_message = panic.payload().downcast_ref::<&'static str>().copied();
    let location = panic.location().map(tracing::field::display);
    tracing::error!(panic_message, location, "panic");
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::process::Command;

    use belfry_core::request::RequestId;
    use serde_json::{Value, json};

    use super::*;
    use crate::log::request_context::RequestContext;

    const CHILD_VARIABLE: &str = "TEST_PANICS";

    /// Runs itself in a separate process, because the logger and the panic hook are global.
    #[test]
    fn a_panic_is_logged_as_json_without_formatted_text() {
        if std::env::var_os(CHILD_VARIABLE).is_some() {
            start(LogSettings::default());
            let secret = "hunter2";
            std::thread::spawn(move || panic!("token {secret}")).join().unwrap_err();
            std::thread::spawn(|| panic!("no data")).join().unwrap_err();
            std::thread::spawn(panic_in_request).join().unwrap_err();
            return;
        }
        let name = "log::tests::a_panic_is_logged_as_json_without_formatted_text";
        let mut child = Command::new(std::env::current_exe().unwrap());
        let output = child.args([name, "--exact", "--nocapture"]).env(CHILD_VARIABLE, "1").output();
        let log = String::from_utf8(output.unwrap().stderr).unwrap();
        let lines: Vec<Value> =
            log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 3, "{log}");
        assert!(lines.iter().all(|line| line["location"].as_str().unwrap().contains("log.rs:")));
        assert!(!log.contains("hunter2"), "{log}");
        assert_eq!(lines[1]["panic_message"], "no data");
        let requests: Vec<Option<&Value>> = lines.iter().map(|line| line.get("request")).collect();
        let request = json!({ "id": "one", "method": "GET", "route": "/healthz" });
        assert_eq!(requests, [None, None, Some(&request)]);
    }

    fn panic_in_request() {
        let id = RequestId::parse(b"one").unwrap();
        let peer = ([127, 0, 0, 1], 0).into();
        let context = RequestContext::new(id, None, peer, "GET", "/healthz");
        let handler = pin!(async { panic!("no data") });
        futures_util::FutureExt::now_or_never(context.scope(handler));
    }
}
