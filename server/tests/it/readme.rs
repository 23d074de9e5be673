//! The first five minutes of the README, as a new user types them.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::support::{ServerProcess, report_skipped};

const README: &str = include_str!("../../../README.md");

fn readme_blocks() -> Vec<&'static str> {
    code_blocks(README, "The first five minutes")
}

/// Returns the code blocks in a section of a document, without their fences.
pub(crate) fn code_blocks<'a>(document: &'a str, heading: &str) -> Vec<&'a str> {
    let (_, section) = document.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("```").skip(1).step_by(2);
    blocks.map(|block| block.split_once('\n').unwrap().1).collect()
}

/// Returns the commands of a `console` block, including continuation lines.
pub(crate) fn console_commands(block: &str) -> Vec<String> {
    let mut commands: Vec<String> = vec![];
    let mut is_continued = false;
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push(command.to_owned());
        } else if is_continued {
            let command = commands.last_mut().unwrap();
            *command = format!("{command}\n{line}");
        }
        // Within quotes, a command continues on the next line too.
        let command = commands.last().map_or("", String::as_str);
        is_continued = line.ends_with('\\') || command.matches('\'').count() % 2 == 1;
    }
    commands
}

#[test]
fn the_readme_shows_what_the_server_prints() {
    // script(1) provides a terminal, on which the log is text.
    let dir = tempfile::tempdir().unwrap();
    let command = format!("{} serve --listen 127.0.0.1:0", env!("CARGO_BIN_EXE_belfry"));
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).current_dir(dir.path()).env("NO_COLOR", "1");
    let Ok(mut server) = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        return report_skipped("script", "it is not installed");
    };
    let lines = BufReader::new(server.stdout.take().unwrap()).lines().take(3);
    let [started_line, key_line, ready_line] = &lines.map(Result::unwrap).collect::<Vec<_>>()[..]
    else {
        panic!("the server printed fewer lines")
    };
    // Ctrl-C
    server.stdin.take().unwrap().write_all(b"\x03").unwrap();
    server.wait().unwrap();
    let url = ready_line.trim_end().strip_prefix("belfry listening on ").unwrap();
    let block = readme_blocks()[0].replace("http://127.0.0.1:8080", url);
    let strip_time = |line: &str| line.trim_end().split_once(' ').unwrap().1.to_owned();
    let [expected_started_line, expected_key_line, expected_ready_line] =
        block.lines().collect::<Vec<_>>()[..]
    else {
        panic!("{block}")
    };
    assert_eq!(strip_time(started_line), strip_time(expected_started_line));
    assert_eq!(strip_time(key_line), strip_time(expected_key_line));
    assert_eq!(ready_line.trim_end(), expected_ready_line);
}

/// Runs all commands, but opens no page in a browser. The code is therefore unknown, and the error
/// `invalid_grant` shows that the last command reaches the token endpoint with valid credentials.
#[test]
fn the_first_five_minutes_commands_succeed() {
    let dir = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(dir.path(), &[]);
    let blocks = readme_blocks();
    let [_, rules_block, quota_block, app_block, token_block] = blocks[..] else {
        panic!("{blocks:#?}")
    };
    let program = format!("belfry() {{ {} \"$@\"; }}", env!("CARGO_BIN_EXE_belfry"));
    let commands: Vec<String> =
        [rules_block, app_block, token_block].into_iter().flat_map(console_commands).collect();
    let typed_script =
        commands.join("\n").replace("alias belfry=\"$PWD/target/release/belfry\"", &program);
    assert!(typed_script.starts_with(&program), "{typed_script}");
    let script = format!("set -eu\n{typed_script}\n").replace("http://127.0.0.1:8080", &server.url);
    let script = script.replace("curl ", "curl -s ").replace("read -r CODE", "CODE=unknown");
    let mut shell = Command::new("bash");
    shell.args(["-c", &script]).current_dir(dir.path());
    let output = shell.output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stdout}\n{stderr}");

    let rule_response = rules_block.lines().last().unwrap();
    assert!(stdout.contains(&format!("{{}}{rule_response}")), "{stdout}");
    let authorize_url = format!("{}/oauth/authorize?response_type=code&client_id=", server.url);
    assert!(stdout.contains(&authorize_url), "{stdout}");
    assert!(stdout.ends_with('}') && stdout.contains(r#""error":"invalid_grant""#), "{stdout}");
    for line in quota_block.lines() {
        let name = line.split(':').next().unwrap();
        let url = format!("{}/api/v1/instance", server.url);
        let headers = Command::new("curl").args(["-si", &url]).output().unwrap().stdout;
        assert!(String::from_utf8(headers).unwrap().contains(&format!("\r\n{name}: ")), "{name}");
    }
}
