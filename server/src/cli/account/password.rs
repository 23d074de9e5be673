//! Passwords set by `belfry account` commands.

use std::io::{Write, stdout};

use belfry_core::account::check_password;
use belfry_core::secret::Secret;
use belfry_runtime::random;

use crate::auth::passwords::Passwords;
use crate::cli::{CliError, read_secret};

/// Reads a password from standard input or generates one, rejects it if it is weak or resembles an
/// identifier, and hashes it. Returns the hash, and the password itself if it was generated.
pub(super) async fn read_or_generate_password<'a>(
    from_stdin: bool,
    identifiers: impl IntoIterator<Item = &'a str>,
) -> Result<(String, Option<Secret>), CliError> {
    let password = if from_stdin { read_secret()? } else { Secret::new(random::password()) };
    check_password(&password, identifiers).map_err(|error| format!("the password {error}"))?;
    let hash = Passwords::new(None).hash(password.clone()).await?;
    Ok((hash, (!from_stdin).then_some(password)))
}

pub(super) fn print_password(generated_password: Option<Secret>) -> Result<(), CliError> {
    if let Some(password) = generated_password {
        writeln!(stdout(), "password: {}", password.reveal())?;
    }
    Ok(())
}
