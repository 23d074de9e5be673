//! `belfry completions …`

use std::io::{Write, stdout};

use clap::Args;
use clap_complete::{Shell, generate};

use super::{CliError, parser};

#[derive(Args)]
pub(super) struct Command {
    /// Shell
    shell: Shell,
}

impl Command {
    pub(super) fn run(&self) -> Result<(), CliError> {
        let mut script = Vec::new();
        generate(self.shell, &mut parser(), "belfry", &mut script);
        Ok(stdout().write_all(&script)?)
    }
}
