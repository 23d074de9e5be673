//! `belfry key …`

use std::io;
use std::path::PathBuf;

use belfry_runtime::file_access::describe_file_error;
use belfry_runtime::sealing::SealingKey;
use clap::Subcommand;

use super::CliError;
use super::output::print_message;

#[derive(Subcommand)]
pub(super) enum Command {
    /// Create a key that seals secrets in the database (secret_key_file); never replaces a file
    New {
        /// The file to create
        #[arg(default_value = "belfry.key")]
        file: PathBuf,
    },
}

impl Command {
    pub(super) fn run(&self) -> Result<(), CliError> {
        let Self::New { file } = self;
        let name = file.display();
        SealingKey::random().write_new(file).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                format!(
                    "{name} exists and is not replaced, because data sealed with it would become \
                     unreadable; choose a different file"
                )
            }
            _ => format!("cannot create {name}: {}", describe_file_error(file, &error)),
        })?;
        print_message(format_args!(
            "created {name}; copy it to every node and keep a copy: backups do not contain it"
        ));
        Ok(())
    }
}
