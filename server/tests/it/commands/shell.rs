//! Completions and the manual page.

use std::io::Write;
use std::process::{Command, Stdio};

use test_engines::shared::report_skipped;

use super::Workspace;
use crate::support::process::run_belfry;

/// Returns the completion script for a shell.
fn completion_script(shell: &str) -> String {
    Workspace::sqlite().run(&["completions", shell])
}

/// Runs a program with this input, and returns its standard output and standard error. Returns
/// `None` if it is not installed.
fn pipe_through(program: &str, arguments: &[&str], input: &str) -> Option<(String, String)> {
    let spawn_result = Command::new(program)
        .args(arguments)
        .env("MANWIDTH", "100")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = spawn_result else {
        report_skipped(program, "it is not installed");
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    drop(writer.join());
    let to_text = |bytes| String::from_utf8(bytes).unwrap();
    Some((to_text(output.stdout), to_text(output.stderr)))
}

/// Returns the completions in bash for the last word of a line.
fn bash_completions(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let program = format!(
        "{}\nCOMP_WORDS=({})\nCOMP_CWORD={}\n_belfry belfry \"{}\" \"{}\"\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        completion_script("bash"),
        words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
        words.len() - 1,
        words[words.len() - 1],
        words[words.len() - 2],
    );
    let (completions, errors) = pipe_through("bash", &["--norc"], &program).unwrap();
    assert_eq!(errors, "");
    completions.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_and_their_flags() {
    assert_eq!(bash_completions("belfry acc"), ["account"]);
    let completions = bash_completions("belfry account ");
    for command in ["add", "list", "delete"] {
        assert!(completions.iter().any(|word| word == command), "{completions:?}");
    }
    assert_eq!(bash_completions("belfry account add --em"), ["--email"]);
    assert_eq!(bash_completions("belfry completions z"), ["zsh"]);
}

#[test]
fn bash_completes_global_flags_before_and_after_the_command() {
    let flags = ["--data", "--database", "--database-file"];
    for line in ["belfry --data", "belfry account list --data", "belfry serve --data"] {
        assert_eq!(bash_completions(line), flags, "{line}");
    }
    assert_eq!(bash_completions("belfry --base"), ["--base-url"]);
    assert_eq!(bash_completions("belfry serve --base"), ["--base-url"]);
    assert_eq!(bash_completions("belfry token issue --base"), [""; 0]);
}

#[test]
fn zsh_and_fish_accept_their_completion_scripts() {
    for shell in ["zsh", "fish"] {
        let script = completion_script(shell);
        for word in ["account", "database-file", "completions"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        if let Some((_, errors)) = pipe_through(shell, &["-n", "/dev/stdin"], &script) {
            assert_eq!(errors, "", "{shell}");
        }
    }
    let input = format!("{}\ncomplete -C 'belfry acc'\n", completion_script("fish"));
    if let Some((completions, _)) = pipe_through("fish", &["--no-config"], &input) {
        assert!(completions.starts_with("account"), "{completions}");
    }
}

/// Asserts that the manual page has a section for a command, or for each of its subcommands, and
/// describes the flags that their help lists.
fn assert_described(page: &str, workspace: &Workspace, command: &[&str]) {
    let help = workspace.run(&[command, &["--help"]].concat());
    let (_, command_list) = help.split_once("\nCommands:\n").unwrap_or_default();
    let subcommands: Vec<&str> = command_list
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .collect();
    for subcommand in &subcommands {
        assert_described(page, workspace, &[command, &[subcommand]].concat());
    }
    let (common_options, sections) = page.split_once("\n.SH COMMANDS\n").unwrap();
    let section = if subcommands.is_empty() {
        let heading = format!(".SS \"belfry {} ", command.join(" "));
        let text = sections.split_once(&heading).unwrap_or_else(|| panic!("{heading}: {page}")).1;
        text.split("\n.S").next().unwrap()
    } else {
        ""
    };
    for line in help.lines().filter(|line| line.trim_start().starts_with('-')) {
        let flag = line.split_whitespace().find(|word| word.starts_with("--")).unwrap();
        let roff_flag = format!("\\fB{}\\fR", flag.replace('-', "\\-"));
        let is_described = common_options.contains(&roff_flag) || section.contains(&roff_flag);
        assert!(is_described, "{command:?} {flag}: {page}");
    }
}

#[test]
fn the_manual_page_describes_every_command_and_flag() {
    let workspace = Workspace::sqlite();
    let page = workspace.run(&["man"]);
    for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "NOTES"] {
        assert_eq!(page.matches(&format!("\n.SH {section}\n")).count(), 1, "{section}");
    }
    assert_described(&page, &workspace, &[]);
    assert!(page.contains("BELFRY_DATABASE_FILE"), "{page}");
    assert_eq!(page.matches("\\-\\-database\\-file").count(), 1, "global flags are described once");
}

#[test]
fn the_manual_page_is_rendered_without_warnings() {
    let page = Workspace::sqlite().run(&["man"]);
    if let Some((warnings, _)) = pipe_through("mandoc", &["-T", "lint", "-W", "warning"], &page) {
        // The page has no date, so that builds are reproducible.
        let is_expected = |line: &&str| line.contains("missing date");
        let unexpected_warnings: Vec<&str> =
            warnings.lines().filter(|line| !is_expected(line)).collect();
        assert_eq!(unexpected_warnings, [""; 0]);
    }
}

/// Packagers run these commands where no server is configured.
#[test]
fn completions_and_the_manual_page_need_no_valid_configuration() {
    let workspace = Workspace::sqlite();
    std::fs::write(workspace.path().join("belfry.toml"), "nonsense").unwrap();
    for command in [&["man"][..], &["completions", "fish"]] {
        assert!(run_belfry(workspace.path(), command).status.success(), "{command:?}");
    }
    assert_eq!(run_belfry(workspace.path(), &["completions", "csh"]).status.code(), Some(2));
    assert!(!workspace.path().join("data").exists());
}
