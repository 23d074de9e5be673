//! Logging to stderr: text on a terminal, otherwise JSON.

use std::io::{IsTerminal, stderr};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::config::{Log, LogFormat, LogLevel};

/// Starts logging, once per process; further calls have no effect.
pub fn start(log: Log) {
    let level = match log.level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    // At finer levels, libraries would log requests and statements with their tokens.
    let library_level = level.min(LevelFilter::WARN);
    let targets = Targets::new().with_target("belfry", level).with_default(library_level);
    let human = match log.format {
        LogFormat::Auto => stderr().is_terminal(),
        LogFormat::Human => true,
        LogFormat::Json => false,
    };
    let layer = if human {
        fmt::layer()
            .with_writer(stderr)
            .with_ansi(stderr().is_terminal())
            .with_target(false)
            .boxed()
    } else {
        fmt::layer().with_writer(stderr).json().flatten_event(true).boxed()
    };
    let _already_started =
        tracing_subscriber::registry().with(layer.with_filter(targets)).try_init();
}
