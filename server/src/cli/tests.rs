//! Checks that the commands and flags in the documents exist.

use std::fs;
use std::iter::Peekable;
use std::path::{Path, PathBuf};

use clap::Command;

/// Returns the paths of README.md, CONTRIBUTING.md and all documents below `docs`.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut documents = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    let mut dirs = vec![root.join("docs")];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                documents.push(path);
            }
        }
    }
    documents
}

/// Returns the arguments of each `belfry` command in a document's code blocks and code spans.
fn belfry_commands(document: &str) -> Vec<Vec<String>> {
    let mut lines = document.lines().peekable();
    let mut code = Vec::new();
    let mut paragraph = String::new();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if let Some(language) = line.strip_prefix("```") {
            let block = lines.by_ref().map(str::trim).take_while(|line| !line.starts_with("```"));
            code.extend(shell_lines(language, block.peekable()));
        } else if line.is_empty() || line.starts_with('|') {
            // The paragraph ends. Each table row is a paragraph.
            code.extend(code_spans(&paragraph));
            line.clone_into(&mut paragraph);
        } else {
            // A code span may continue on the next line.
            paragraph = format!("{paragraph} {line}");
        }
    }
    code.extend(code_spans(&paragraph));
    code.iter().flat_map(|code| belfry_arguments(code)).collect()
}

fn code_spans(paragraph: &str) -> impl Iterator<Item = String> {
    paragraph.split('`').skip(1).step_by(2).map(str::to_owned)
}

/// Returns the commands in a code block, with continuation lines joined.
fn shell_lines<'a>(
    language: &str,
    mut block: Peekable<impl Iterator<Item = &'a str>>,
) -> Vec<String> {
    let mut commands = Vec::new();
    while let Some(line) = block.next() {
        let mut command = line.to_owned();
        while command.ends_with('\\') {
            command.pop();
            command.push_str(block.next().unwrap_or_default());
        }
        match language {
            "sh" | "bash" => commands.push(command),
            // Other lines are output.
            "console" => {
                let prompted_command =
                    ["$ ", "# "].iter().find_map(|prompt| command.strip_prefix(prompt));
                commands.extend(prompted_command.map(str::to_owned));
            }
            _ => {}
        }
    }
    commands
}

/// Returns the arguments of each `belfry` command in a line.
fn belfry_arguments(line: &str) -> Vec<Vec<String>> {
    let substitutions = line.split("$(").skip(1).filter_map(|text| text.split(')').next());
    let commands = [line].into_iter().chain(substitutions);
    commands
        .flat_map(|command| command.split(['|', '&', ';']))
        .filter_map(|command| {
            let mut words = command.split_whitespace().take_while(|&word| word != "#").peekable();
            // Skips programs such as `sudo -u USER`, which run the command that follows.
            while let Some(word) = words.next_if(|&word| !is_belfry(word)) {
                match word {
                    "sudo" | "docker" | "compose" | "nice" => {}
                    "-u" | "exec" => drop(words.next()),
                    _ if word.contains('=') => {}
                    _ => return None,
                }
            }
            words.next()?;
            Some(words.map(str::to_owned).collect())
        })
        .collect()
}

fn is_belfry(word: &str) -> bool {
    word == "belfry" || word.ends_with("/belfry")
}

/// Compares the arguments with the subcommands and flags of the parser. Values are not checked.
fn check_arguments(parser: &Command, arguments: &[String]) -> Result<(), String> {
    let mut command = parser;
    let mut words = arguments.iter().map(|word| word.trim_matches(['[', ']']));
    while let Some(word) = words.next() {
        if word.starts_with('-') && word != "-" {
            let name = word.split('=').next().unwrap_or_default();
            let flag = command.get_arguments().find(|argument| {
                let long = argument.get_long().map(|long| format!("--{long}"));
                let short = argument.get_short().map(|short| format!("-{short}"));
                [long, short].into_iter().flatten().any(|spelling| spelling == name)
            });
            let flag = flag.ok_or_else(|| format!("{} has no flag {name}", full_name(command)))?;
            if flag.get_action().takes_values() && !word.contains('=') {
                words.next();
            }
        } else if command.has_subcommands() {
            if is_placeholder(word) {
                return Ok(());
            }
            let subcommand = command.find_subcommand(word);
            command = subcommand
                .ok_or_else(|| format!("{} has no command {word}", full_name(command)))?;
        }
    }
    Ok(())
}

/// Returns the name of a command with its parents: `belfry account add`.
fn full_name(command: &Command) -> &str {
    command.get_bin_name().unwrap_or_else(|| command.get_name())
}

/// Returns whether a word stands for any command, or is a redirection.
fn is_placeholder(word: &str) -> bool {
    word.starts_with(['…', '>', '<']) || !word.contains(|c: char| c.is_lowercase())
}

/// Returns the parser, with inherited flags and `--help` in every subcommand.
fn complete_parser() -> Command {
    let mut parser = super::parser();
    parser.build();
    parser
}

#[test]
fn the_commands_in_the_documents_exist() {
    let parser = complete_parser();
    let mut command_count = 0;
    let mut findings = Vec::new();
    for path in documents() {
        for arguments in belfry_commands(&fs::read_to_string(&path).unwrap()) {
            command_count += 1;
            if let Err(problem) = check_arguments(&parser, &arguments) {
                findings.push(format!("{}: {problem}: {arguments:?}", path.display()));
            }
        }
    }
    assert_eq!(findings, [""; 0]);
    assert!(command_count > 50, "only {command_count} commands found");
}
