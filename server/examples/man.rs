//! Writes the manual pages of `belfry` and its commands to a directory:
//! `cargo run --release --example man -- DIR`

use std::io;
use std::path::PathBuf;

fn main() -> io::Result<()> {
    let directory = std::env::args_os().nth(1).map(PathBuf::from);
    let directory = directory.ok_or_else(|| io::Error::other("usage: man DIR"))?;
    clap_mangen::generate_to(belfry::cli::parser(), directory)
}
