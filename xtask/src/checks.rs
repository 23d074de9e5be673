//! `cargo xtask check`: fast checks of the source, which do not build Belfry.

mod documents;
mod imports;
mod sources;

use std::error::Error;

use clap::Args;

/// Check the source without building it
///
/// These checks are also part of `cargo xtask test`:
///
///   import cycles   modules of a crate that import each other in a loop
///   documents       files and headings named in documents, and tests named in the threat model,
///                   exist
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Options {
    /// Run only the checks whose names contain this text
    name: Option<String>,
}

/// A check prints its findings and returns whether it passed.
type Check = fn() -> Result<bool, Box<dyn Error>>;

pub(crate) const CHECKS: [(&str, Check); 2] =
    [("import cycles", imports::check), ("documents", documents::check)];

/// Runs the checks; returns whether all of them passed.
pub(crate) fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    let filter = options.name.as_deref().unwrap_or("");
    let mut all_passed = true;
    for (name, check) in CHECKS.iter().filter(|(name, _)| name.contains(filter)) {
        let passed = check()?;
        println!("{name}: {}", if passed { "ok" } else { "FAILED" });
        all_passed &= passed;
    }
    Ok(all_passed)
}
