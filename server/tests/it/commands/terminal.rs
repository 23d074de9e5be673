//! Output on a terminal: column headers of lists, and no control characters in messages.

use std::process::Command;

use super::Workspace;
use crate::support::report_skipped;

/// Runs a command in script(1), so that its standard output is a terminal. Returns `None` if
/// script(1) is not installed.
fn run_on_terminal(workspace: &Workspace, arguments: &str) -> Option<String> {
    let program = env!("CARGO_BIN_EXE_belfry");
    let command = format!("'{program}' {arguments}");
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).current_dir(workspace.path());
    for (variable, _) in std::env::vars_os() {
        if variable.to_string_lossy().starts_with("BELFRY_") {
            script.env_remove(variable);
        }
    }
    let Ok(output) = script.output() else {
        report_skipped("script", "it is not installed");
        return None;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    Some(text.replace("\r\n", "\n"))
}

#[test]
fn lists_on_a_terminal_have_headers_and_aligned_columns() {
    let workspace = Workspace::sqlite();
    workspace.run(&["account", "add", "alexandra"]);
    workspace.run(&["account", "add", "bo"]);
    workspace.run(&["token", "issue", "bo"]);
    for (list, headers) in [
        ("account list", "NAME ID E-MAIL CREATED STATE ROLE DELETION"),
        ("app list", "ID NAME REGISTERED STATE"),
        ("audit", "TIME KIND OUTCOME COUNT ACCOUNT APP ORIGIN ADDRESS REQUEST DETAIL"),
    ] {
        let Some(table) = run_on_terminal(&workspace, list) else { return };
        let header_line = table.lines().next().unwrap();
        assert_eq!(header_line.split_whitespace().collect::<Vec<_>>().join(" "), headers);
        assert!(!table.contains('\t'), "{table}");
        let arguments: Vec<&str> = list.split(' ').collect();
        let piped_output = workspace.run(&arguments);
        assert_eq!(table.lines().count(), piped_output.lines().count() + 1, "{table}");
        assert!(!piped_output.contains(headers.split(' ').next().unwrap()), "{piped_output}");
    }
    let accounts = run_on_terminal(&workspace, "account list").unwrap();
    let id_positions: Vec<usize> = accounts.lines().map(|line| column_start(line, 1)).collect();
    assert_eq!(id_positions, ["alexandra".len() + 2; 3], "{accounts}");
    let json = run_on_terminal(&workspace, "account list --json").unwrap();
    assert!(json.starts_with('{'), "{json}");
    let empty_table = run_on_terminal(&workspace, "audit --outcome denied").unwrap();
    assert_eq!(empty_table.lines().count(), 1, "{empty_table}");
}

/// Returns the position at which a column of a line begins.
fn column_start(line: &str, column: usize) -> usize {
    let words: Vec<&str> = line.split_whitespace().collect();
    line.find(words[column]).unwrap()
}

/// Someone else may have named the file.
#[test]
fn messages_cannot_control_the_terminal() {
    let workspace = Workspace::sqlite();
    let message = workspace.run_failing(&["restore", "\u{1b}[31mx\u{9b}\u{202e}\n.db"]);
    let file = r"\u{1b}[31mx\u{9b}\u{202e}\u{a}.db";
    let reason = "No such file or directory (os error 2)";
    assert_eq!(message, format!("belfry: cannot read {file}: {reason}\n"));
}
