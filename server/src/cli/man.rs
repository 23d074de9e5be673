//! `belfry man`: one manual page with a section for every command.

use std::collections::BTreeSet;
use std::io::{self, Write, stdout};

use clap::{Arg, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::{CliError, parser};

pub(super) fn run() -> Result<(), CliError> {
    Ok(stdout().write_all(render_page(parser())?.as_bytes())?)
}

/// Renders the page in roff, the format of man.
fn render_page(parser: Command) -> io::Result<String> {
    let mut belfry = parser.disable_help_subcommand(true);
    belfry.build();
    let man = Man::new(belfry.clone());
    let mut page = Vec::new();
    // Written by hand, because clap_mangen omits an empty date, and "belfry 0.1.0" would be read as
    // one.
    let version = belfry.get_version().unwrap_or_default();
    writeln!(page, ".TH BELFRY 1 \"\" \"belfry {version}\" \"Belfry Manual\"")?;
    man.render_name_section(&mut page)?;
    let usage = belfry.render_usage().to_string();
    let synopsis = bold(usage.trim_start_matches("Usage: "));
    Roff::new().control("SH", ["SYNOPSIS"]).text([synopsis]).to_writer(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    Roff::new().control("SH", ["COMMANDS"]).to_writer(&mut page)?;
    for command in belfry.get_subcommands() {
        write_commands(&belfry, command, &mut page)?;
    }
    let notes = belfry.get_after_help().map(ToString::to_string).unwrap_or_default();
    Roff::new().control("SH", ["NOTES"]).text([roman(notes)]).to_writer(&mut page)?;
    Ok(remove_repetitions(&String::from_utf8_lossy(&page)))
}

/// Removes repeated apostrophe definitions (`.ie`, `.el`), empty lines and consecutive `.br`, which
/// clap_mangen writes.
fn remove_repetitions(page: &str) -> String {
    let mut definitions = BTreeSet::new();
    let mut lines: Vec<&str> = page
        .lines()
        .filter(|line| {
            let is_definition = line.starts_with(".ie ") || line.starts_with(".el ");
            !line.is_empty() && (!is_definition || definitions.insert(*line))
        })
        .collect();
    lines.dedup_by(|line, before| line == before && *line == ".br");
    lines.join("\n") + "\n"
}

/// Writes a section for a command, or for each of its subcommands if it has any.
fn write_commands(belfry: &Command, command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    if command.has_subcommands() {
        for subcommand in command.get_subcommands() {
            write_commands(belfry, subcommand, page)?;
        }
        return Ok(());
    }
    let usage = command.clone().render_usage().to_string();
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string);
    Roff::new()
        .control("SS", [usage.trim_start_matches("Usage: ")])
        .text([roman(about.unwrap_or_default())])
        .to_writer(page)?;
    // Options that `belfry` itself has are in the OPTIONS section.
    let is_global =
        |arg: &Arg| belfry.get_arguments().any(|global| global.get_id() == arg.get_id());
    let own_options =
        command.clone().mut_args(|arg| if is_global(&arg) { arg.hide(true) } else { arg });
    let mut rendered_options = Vec::new();
    Man::new(own_options).render_options_section(&mut rendered_options)?;
    let options = String::from_utf8_lossy(&rendered_options).replace(".SH OPTIONS\n", "");
    page.write_all(options.as_bytes())
}
