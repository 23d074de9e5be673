//! The command line: what can be typed, and what runs.

#![expect(clippy::doc_markdown, reason = "doc comments here are the text of --help")]

mod account;
mod app;
mod check;
mod explain;
mod serve;
mod token;

use std::error::Error;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use jiff::Timestamp;

use crate::clock::{Clock, SystemClock};
use crate::config::{Config, Overrides};
use crate::store::Store;

/// Who may ring, how often, and which bells you hear: OAuth 2.0, rate limits and push rules for
/// your chat, social or collaboration product, in one service.
///
/// Without a command it serves. No file, no flag and no other server is needed: data goes into
/// ./data, and http://127.0.0.1:8080 answers.
#[derive(Parser)]
#[command(name = "belfry", version, max_term_width = 100)]
#[command(
    after_help = "Settings can also stand in ./belfry.toml; flags beat variables, variables \
                        beat the file.\nFirst steps: belfry account add alice, then belfry token \
                        issue alice --scopes \"read write push\"."
)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    serve: ServeFlags,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Where help lists the flags that hold for every command: apart, or they would stand between its own.
const EVERYWHERE: &str = "Options of every command";

/// Flags that hold for every command, before or after its name.
#[derive(Args)]
struct Common {
    /// The folder of the data [env: BELFRY_DATA] [default: ./data]
    #[arg(long, global = true, value_name = "DIR", help_heading = EVERYWHERE)]
    data: Option<String>,
    /// A PostgreSQL to use instead of SQLite in the data folder: postgres://…
    /// [env: BELFRY_DATABASE]
    #[arg(long, global = true, value_name = "URL", help_heading = EVERYWHERE)]
    database: Option<String>,
    /// The file of settings [env: BELFRY_CONFIG] [default: ./belfry.toml, if it is there]
    #[arg(long, global = true, value_name = "FILE", help_heading = EVERYWHERE)]
    config: Option<String>,
}

/// Flags of `serve`.
#[derive(Args, Default)]
struct ServeFlags {
    /// The address to listen on [env: BELFRY_LISTEN] [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// A Redis or Valkey that counts for all nodes: redis://… or rediss://… [env: BELFRY_REDIS]
    /// [default: count in this process]
    #[arg(long, value_name = "URL")]
    redis: Option<String>,
    /// The address under which clients reach this service [env: BELFRY_BASE_URL]
    /// [default: http://LISTEN]
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Rate limits: enforce, shadow (count and report, never refuse) or off
    /// [env: BELFRY_LIMITS] [default: enforce]
    #[arg(long, value_name = "MODE")]
    limits: Option<String>,
    /// Another address for /metrics [env: BELFRY_METRICS_LISTEN] [default: the main one]
    #[arg(long, value_name = "ADDR")]
    metrics_listen: Option<String>,
    /// The certificate for HTTPS, a PEM file [env: BELFRY_TLS_CERTIFICATE] [default: plain HTTP]
    #[arg(long, value_name = "FILE")]
    tls_certificate: Option<String>,
    /// The key of the certificate, a PEM file [env: BELFRY_TLS_KEY]
    #[arg(long, value_name = "FILE")]
    tls_key: Option<String>,
    /// What is logged: error, warn, info, debug or trace [env: BELFRY_LOG_LEVEL] [default: info]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    /// How it is logged: human, json, or auto (human on a terminal) [env: BELFRY_LOG_FORMAT]
    /// [default: auto]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
}

#[derive(Subcommand)]
enum Command {
    /// Serve until SIGTERM or SIGINT (also what happens without a command)
    Serve(ServeFlags),
    /// Add, list, disable and enable accounts, or change a password
    #[command(subcommand)]
    Account(account::Command),
    /// Issue and revoke access tokens
    #[command(subcommand)]
    Token(token::Command),
    /// List, show, disable and enable registered apps
    #[command(subcommand)]
    App(app::Command),
    /// Judge an event by an account's push rules, and tell how the verdict comes about
    Explain(explain::Arguments),
    /// Look at the settings
    #[command(subcommand)]
    Config(check::Command),
}

/// What went wrong, for the person at the terminal.
type Failure = Box<dyn Error + Send + Sync>;

/// Runs the command that the arguments name.
#[must_use]
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let (env, warnings) = Overrides::from_env(std::env::vars());
    for warning in warnings {
        eprintln!("belfry: warning: {warning}");
    }
    match run_command(cli, env) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("belfry: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run_command(cli: Cli, env: Overrides) -> Result<(), Failure> {
    let flags = cli.common.overrides();
    let (command, serve_flags) = match cli.command {
        None => (None, cli.serve.overrides()),
        Some(Command::Serve(after)) => (None, after.overrides().or(cli.serve.overrides())),
        Some(other) => (Some(other), Overrides::default()),
    };
    let flags = serve_flags.or(flags);
    let load = move || Config::load(&flags, &env);
    match command {
        None | Some(Command::Serve(_)) => serve::run(load),
        Some(Command::Account(command)) => with_store(&load()?, account::run(command)),
        Some(Command::Token(command)) => {
            let config = load()?;
            with_store(&config, token::run(command, config.oauth.token_lifetime))
        }
        Some(Command::App(command)) => with_store(&load()?, app::run(command)),
        Some(Command::Explain(arguments)) => {
            let config = load()?;
            with_store(&config, explain::run(arguments, &config))
        }
        Some(Command::Config(check::Command::Check)) => check::run(&load()?),
    }
}

/// Opens the store, beside a running server or alone, for one command.
fn with_store(
    config: &Config,
    command: impl AsyncFnOnce(&Store, Timestamp) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let now = SystemClock.now();
        let store = Store::open(&config.database(), &config.store, now).await?;
        command(&store, now).await?;
        // A server beside us looks for foreign writes this often; by then it has seen ours.
        tokio::time::sleep(Store::VISIBILITY_DELAY).await;
        Ok(())
    })
}

impl Common {
    fn overrides(self) -> Overrides {
        let Self { data, database, config } = self;
        Overrides::from_flags([("data", data), ("database", database), ("config", config)])
    }
}

impl ServeFlags {
    fn overrides(self) -> Overrides {
        Overrides::from_flags([
            ("listen", self.listen),
            ("redis", self.redis),
            ("base-url", self.base_url),
            ("limits", self.limits),
            ("metrics-listen", self.metrics_listen),
            ("tls-certificate", self.tls_certificate),
            ("tls-key", self.tls_key),
            ("log-level", self.log_level),
            ("log-format", self.log_format),
        ])
    }
}
