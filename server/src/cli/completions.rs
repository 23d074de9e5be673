//! `belfry completions …`

use std::io::{Write, stdout};

use clap::{Args, ValueEnum};
use clap_complete::generate;
use clap_complete::shells::{Bash, Fish, Zsh};

use super::{CliError, parser};

#[derive(Args)]
pub(super) struct Command {
    /// Shell
    shell: Shell,
}

#[derive(Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Command {
    pub(super) fn run(&self) -> Result<(), CliError> {
        let (mut command, mut script) = (parser(), Vec::new());
        match self.shell {
            Shell::Bash => generate(Bash, &mut command, "belfry", &mut script),
            Shell::Zsh => generate(Zsh, &mut command, "belfry", &mut script),
            Shell::Fish => generate(Fish, &mut command, "belfry", &mut script),
        }
        Ok(stdout().write_all(&script)?)
    }
}
