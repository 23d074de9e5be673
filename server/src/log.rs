//! Log lines: to stderr, for people on a terminal, as JSON otherwise.

use std::io::{IsTerminal, stderr};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::config::{Log, LogFormat, LogLevel};

/// Begins to log. Only the first call of a process counts.
pub fn start(log: Log) {
    let level = match log.level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    // Libraries below us see requests and statements in the clear; what they have to say at the
    // finer levels would put tokens into the log.
    let quiet = level.min(LevelFilter::WARN);
    let targets = Targets::new().with_target("belfry", level).with_default(quiet);
    let human = match log.format {
        LogFormat::Auto => stderr().is_terminal(),
        LogFormat::Human => true,
        LogFormat::Json => false,
    };
    let lines = if human {
        fmt::layer()
            .with_writer(stderr)
            .with_ansi(stderr().is_terminal())
            .with_target(false)
            .boxed()
    } else {
        fmt::layer().with_writer(stderr).json().flatten_event(true).boxed()
    };
    let _already_started =
        tracing_subscriber::registry().with(lines.with_filter(targets)).try_init();
}
