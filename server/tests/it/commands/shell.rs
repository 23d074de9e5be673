//! Completions and the manual pages.

#[expect(dead_code, reason = "only main is unused")]
#[path = "../../../examples/man.rs"]
mod man_example;

use std::io::Write;
use std::process::{Command, Stdio};

use test_engines::shared::report_skipped;

use super::Workspace;
use crate::support::process::run_belfry;

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

#[test]
fn the_manual_pages_are_rendered_without_warnings() {
    let dir = tempfile::tempdir().unwrap();
    man_example::write_pages(dir.path()).unwrap();
    for (name, flag) in [
        ("belfry", "BELFRY_DATABASE_FILE"),
        ("belfry-serve", "\\-\\-base\\-url"),
        ("belfry-push-key-new", "\\-\\-replace\\-lost\\-key"),
    ] {
        let page = std::fs::read_to_string(dir.path().join(format!("{name}.1"))).unwrap();
        assert!(page.contains(flag), "{name}: {page}");
        if let Some((warnings, _)) = pipe_through("mandoc", &["-T", "lint", "-W", "warning"], &page)
        {
            // The pages have no date, so that builds are reproducible.
            let is_unexpected = |line: &&str| !line.contains("date");
            let unexpected_warnings: Vec<&str> = warnings.lines().filter(is_unexpected).collect();
            assert_eq!(unexpected_warnings, [""; 0], "{name}");
        }
    }
}

/// Packagers run this command where no server is configured.
#[test]
fn completions_need_no_valid_configuration() {
    let workspace = Workspace::sqlite();
    std::fs::write(workspace.path().join("belfry.toml"), "nonsense").unwrap();
    assert!(run_belfry(workspace.path(), &["completions", "fish"]).status.success());
    assert_eq!(run_belfry(workspace.path(), &["completions", "csh"]).status.code(), Some(2));
    assert!(!workspace.path().join("data").exists());
}
