//! The command-line interface.

#![expect(clippy::doc_markdown, reason = "doc comments here are the text of --help")]

mod account;
mod app;
mod audit;
mod backup;
mod config;
mod doctor;
mod explain;
mod health;
mod http_client;
mod import;
mod key;
mod lock;
mod output;
mod push;
mod restore;
mod serve;
#[cfg(test)]
mod tests;
mod token;

use std::error::Error;
use std::fmt::Display;
use std::io::{self, Read, Write, stdin, stdout};
use std::process::ExitCode;

use belfry_core::audit::{AuditKind, NewAuditEvent, NewAuditEvents};
use belfry_core::secret::Secret;
use belfry_runtime::clock::{Clock, SystemClock};
use belfry_store::{Access, Database, Options, SchemaPolicy, Store};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::{Shell, generate};
use jiff::Timestamp;

use self::output::{print, print_message};
use crate::config::{Config, ConfigError, EXAMPLE, Overrides, global_flags, serve_flags};

/// OAuth 2.0, rate limits, push rules and delivery for chat, social and collaboration products, in
/// one service.
///
/// Without a command, belfry runs the server. It requires no configuration and no other services:
/// it stores its data in ./data and listens on http://127.0.0.1:8080.
#[derive(Parser)]
#[command(name = "belfry", version, long_version = env!("LONG_VERSION"))]
#[command(max_term_width = 100)]
#[command(after_help = "Settings can also be set in ./belfry.toml. Flags override environment \
                  variables, which override the file.\nFirst steps: belfry account \
                  add alice, then belfry token issue alice --scopes \"read write push\".")]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server until SIGTERM or SIGINT (the default command)
    Serve,
    /// Manage accounts
    #[command(subcommand)]
    Account(AccountCommand),
    /// Issue and revoke access tokens
    #[command(subcommand)]
    Token(token::Command),
    /// Manage registered apps
    #[command(subcommand)]
    App(app::Command),
    /// Manage the receivers of push notifications, their delivery log and the VAPID keys
    #[command(subcommand)]
    Push(push::Command),
    /// Evaluate an event against an account's push rules and explain the result
    Explain(explain::Command),
    /// Show the audit trail: time, kind, outcome, count, account, app, origin, address, request,
    /// detail
    Audit(audit::Command),
    /// Write a consistent copy of all data to a file, even while the server runs
    ///
    /// The file contains neither the sealing key, which is needed to use the receivers of push
    /// notifications in it, nor the notifications that wait for delivery.
    Backup(backup::Command),
    /// Restore a backup into an empty SQLite or PostgreSQL database
    Restore(restore::Command),
    /// Check whether a server responds: exit status 0 if it does, otherwise 1 and the reason
    Health(health::Command),
    /// Check settings, files, engines, certificate and proxy, and suggest fixes
    Doctor(doctor::Command),
    /// Inspect the configuration
    #[command(subcommand)]
    Config(config::Command),
    /// Create the key that seals secrets in the database
    #[command(subcommand)]
    Key(key::Command),
    /// Print the completion script for a shell
    Completions {
        /// Shell
        shell: Shell,
    },
}

#[derive(Subcommand)]
enum AccountCommand {
    #[command(flatten)]
    Manage(account::Command),
    /// Add the accounts in a file, with password hashes and push rules; existing ones are skipped
    Import(import::Command),
}

/// An error message for the terminal.
type CliError = Box<dyn Error + Send + Sync>;

/// A command's access to the database.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DatabaseUse {
    /// Reads an existing database.
    Read,
    /// Writes to an existing database.
    Write,
    /// Writes, and creates a missing database.
    Create,
}

/// Returns the argument parser, which also generates the completions and the manual pages.
pub fn parser() -> clap::Command {
    Cli::command()
        .args(global_flags())
        .args(serve_flags())
        .mut_subcommand("serve", |serve| serve.args(serve_flags()))
        .mut_subcommand("health", |health| health.args(serve_flags()))
        .mut_subcommand("doctor", |doctor| doctor.args(serve_flags()))
        .mut_subcommand("config", |config| {
            config.mut_subcommand("check", |check| check.args(serve_flags()))
        })
}

/// Runs the command given by the process arguments.
pub fn run() -> ExitCode {
    let matches = parser().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let command = cli.command.unwrap_or(Command::Serve);
    match run_command(command, Overrides::from_matches(&matches)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            match error.downcast_ref::<ConfigError>() {
                Some(ConfigError { problems }) => {
                    for problem in problems {
                        print_message(format_args!("belfry: {problem}"));
                    }
                }
                None => print_message(format_args!("belfry: {error}")),
            }
            ExitCode::FAILURE
        }
    }
}

fn run_command(command: Command, overrides: Overrides) -> Result<(), CliError> {
    // Called only by commands that need settings; the others work with an invalid configuration
    // file.
    let load_config = || Config::load(&overrides);
    match command {
        Command::Serve => {
            // Printed, because logging has not started.
            let config = Config::load(&overrides)?;
            serve::run(config, overrides)
        }
        Command::Account(AccountCommand::Import(command)) => command.run(&load_config()?),
        Command::Account(AccountCommand::Manage(command)) => command.run_with(&load_config()?),
        Command::Token(command) => command.run_with(&load_config()?),
        Command::App(command) => command.run_with(&load_config()?),
        Command::Push(command) => command.run_with(&load_config()?),
        Command::Explain(command) => command.run_with(&load_config()?),
        Command::Audit(command) => command.run_with(&load_config()?),
        Command::Backup(command) => command.run_with(&load_config()?),
        Command::Restore(command) => command.run(&load_config()?),
        Command::Health(command) => command.run(load_config),
        Command::Doctor(command) => command.run(Config::load(&overrides)),
        // Does not use `load_config`, because `check` prints the warnings about the settings.
        Command::Config(config::Command::Check) => config::check(&Config::load(&overrides)?),
        Command::Config(config::Command::Example) => Ok(print(EXAMPLE)?),
        Command::Key(command) => command.run(),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            generate(shell, &mut parser(), "belfry", &mut script);
            Ok(stdout().write_all(&script)?)
        }
    }
}

fn print_warnings(warnings: &[String]) {
    for warning in warnings {
        print_message(format_args!("belfry: warning: {warning}"));
    }
}

/// Returns the audit event for a change made on the command line.
fn command_events(now: Timestamp, kind: AuditKind) -> NewAuditEvents {
    NewAuditEvent::for_command(now, kind).into()
}

/// The parts of a command's environment: an open store, the settings and the time.
#[derive(Clone, Copy)]
struct Context<'a> {
    store: &'a Store,
    config: &'a Config,
    now: Timestamp,
}

/// A command that needs an open store.
trait StoreCommand: Sized {
    fn database_use(&self) -> DatabaseUse;

    /// Checks the arguments before a database is created.
    fn check(&self, _: &Config) -> Result<(), CliError> {
        Ok(())
    }

    async fn run(self, context: Context<'_>) -> Result<(), CliError>;

    fn run_with(self, config: &Config) -> Result<(), CliError> {
        self.check(config)?;
        with_store(config, self.database_use(), async |context| self.run(context).await)
    }
}

/// Calls `run` with an open store. The schema is never upgraded, because an older server may be
/// using it.
fn with_store(
    config: &Config,
    database_use: DatabaseUse,
    run: impl AsyncFnOnce(Context<'_>) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let (schema, access) = match database_use {
        DatabaseUse::Read => (SchemaPolicy::Require, Access::Read),
        DatabaseUse::Write => (SchemaPolicy::Require, Access::ReadWrite),
        DatabaseUse::Create => (SchemaPolicy::Create, Access::ReadWrite),
    };
    let options = Options { schema, access, ..config.store };
    let database = config.database();
    let mut created_file = None;
    if database_use == DatabaseUse::Create {
        lock::check_owner(&database)?;
        if let Database::Sqlite(path) = &database
            && !path.exists()
        {
            created_file = Some(std::path::absolute(path)?);
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let now = SystemClock.now();
        let store = Store::open(&database, &options, now).await?;
        if let Some(path) = created_file {
            print_message(format_args!("belfry: created the database {}", path.display()));
        }
        run(Context { store: &store, config, now }).await?;
        if database_use != DatabaseUse::Read {
            // Gives running servers time to detect the writes.
            tokio::time::sleep(Store::VISIBILITY_DELAY).await;
        }
        Ok(())
    })
}

/// Formats a value; a dash if there is none.
fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// Formats a time; `never` if there is none.
fn or_never(time: Option<impl Display>) -> String {
    time.map_or_else(|| "never".to_owned(), |time| time.to_string())
}

/// Reads a secret from standard input, without the newline that `echo` and editors add.
fn read_secret() -> io::Result<Secret> {
    let mut input = String::new();
    stdin().take(4096).read_to_string(&mut input)?;
    Ok(Secret::new(input.trim_end_matches(['\r', '\n'])))
}

/// Returns whether standard output was closed early, as in `belfry account list | head -1`.
fn is_broken_pipe(error: &(dyn Error + Send + Sync + 'static)) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
