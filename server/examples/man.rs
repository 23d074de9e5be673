//! Writes the manual pages of `belfry` and its commands to a directory:
//! `cargo run --release --example man -- DIR`

use std::io;
use std::path::Path;

use clap::Command;
use clap_mangen::Man;

fn main() -> io::Result<()> {
    let directory = std::env::args_os().nth(1);
    let directory = directory.ok_or_else(|| io::Error::other("usage: man DIR"))?;
    write_pages(Path::new(&directory))
}

/// Writes a page for each command.
pub(crate) fn write_pages(directory: &Path) -> io::Result<()> {
    let mut belfry = belfry::cli::parser().disable_help_subcommand(true);
    belfry.build();
    write_page(&belfry, directory)
}

fn write_page(command: &Command, directory: &Path) -> io::Result<()> {
    for subcommand in command.get_subcommands() {
        write_page(subcommand, directory)?;
    }
    // Without a date, the version would be read as one.
    Man::new(command.clone()).date(" ").generate_to(directory).map(drop)
}
