//! "A first message" in `docs/push.md`, as a new user types it.

use std::process::Command;

use crate::interop::python::install;
use crate::readme::{code_blocks, console_commands};
use crate::support::ServerProcess;

const GUIDE: &str = include_str!("../../../../docs/push.md");

#[test]
fn the_first_message_of_the_guide_is_sent_and_decrypted() {
    let Some(python) = install() else { return };
    let blocks = code_blocks(GUIDE, "A first message");
    let [settings, program, subscribe, send] = blocks[..] else { panic!("{blocks:#?}") };
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("belfry.toml"), settings).unwrap();
    let server = ServerProcess::start(dir.path(), &[]);
    let push_service = format!("127.0.0.1\", {}", test_engines::free_port().unwrap());
    let program = program
        .replace("http://127.0.0.1:8080", &server.url)
        .replace("127.0.0.1\", 9000", &push_service)
        .replace("127.0.0.1:9000", &push_service.replace("\", ", ":"));
    std::fs::write(dir.path().join("first_message.py"), program).unwrap();

    let [install_command, commands @ .., start] = &console_commands(subscribe)[..] else {
        panic!("{subscribe}")
    };
    assert!(install_command.ends_with("install --quiet 'Mastodon.py[webpush]'"));
    // The program would wait forever for a message that is not accepted.
    let timed_python = format!("timeout 60 {}", python.display());
    let start = start.replace("venv/bin/python", &timed_python);
    let start = format!("{} > output &", start.strip_suffix(" &").unwrap());
    let wait = "until grep -q subscribed output; do kill -0 $!; sleep 0.1; done";
    let belfry = format!("belfry() {{ {} \"$@\"; }}", env!("CARGO_BIN_EXE_belfry"));
    let send_commands = console_commands(send).join("\n");
    let send_commands = send_commands.replace("http://127.0.0.1:8080", &server.url);
    let commands = commands.join("\n");
    let script = format!(
        "set -eu\n{belfry}\n{commands}\n{start}\n{wait}\n{}\nwait $!\ncat output\n",
        send_commands.replace("curl ", "curl -s ")
    );
    let output = Command::new("bash").args(["-c", &script]).current_dir(dir.path()).output();
    let output = output.unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stdout}\n{stderr}\n{}", server.log());

    let (_, printed) = stdout.split_once("{\"accepted\":1}").unwrap();
    let printed = printed.strip_prefix("subscribed\n").unwrap_or_else(|| panic!("{stdout}"));
    let (_, documented) = send.split_once("{\"accepted\":1}\n").unwrap();
    assert_eq!(without_token(printed), without_token(documented));
}

/// Removes the access token from a printed message.
fn without_token(message: &str) -> String {
    let (start, rest) = message.split_once("'access_token': '").unwrap();
    let (_, end) = rest.split_once('\'').unwrap();
    format!("{start}{end}")
}
