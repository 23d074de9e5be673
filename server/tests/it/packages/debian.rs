//! The Debian package, installed by dpkg into a directory and run like its systemd unit.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use test_engines::{free_port, programs};

use super::machine::{Machine, install_program};
use super::{GUIDE, can_install, console_commands, expect_success, packages};
use crate::support::ServerProcess;

const SETTINGS_PATH: &str = "etc/belfry/belfry.toml";
const DATA_DIR: &str = "var/lib/belfry";

/// Returns a machine with the package installed.
fn machine_with_package() -> Machine {
    let machine = Machine::new();
    machine.add_installed_packages(&["libc6", "libgcc-s1", "init-system-helpers", "systemd"]);
    machine.dpkg(&["--install", packages().debian.to_str().unwrap()]);
    machine
}

/// Returns the values of a key in the installed unit.
fn unit_values(machine: &Machine, key: &str) -> Vec<String> {
    let unit = fs::read_to_string(machine.path("usr/lib/systemd/system/belfry.service")).unwrap();
    let lines = unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    lines.map(str::to_owned).collect()
}

/// Returns the user and group id of `belfry`.
fn service_user(machine: &Machine) -> (u32, u32) {
    let users = fs::read_to_string(machine.path("etc/passwd")).unwrap();
    let user = users.lines().find(|line| line.starts_with("belfry:")).unwrap();
    let fields: Vec<&str> = user.split(':').collect();
    assert_eq!(fields[5..], ["/var/lib/belfry", "/usr/sbin/nologin"]);
    (fields[2].parse().unwrap(), fields[3].parse().unwrap())
}

/// Starts the service as systemd would, with a socket for notifications.
fn start_service(machine: &Machine) -> (UnixDatagram, ServerProcess) {
    let socket = UnixDatagram::bind(machine.path("run/notify")).unwrap();
    socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    fs::set_permissions(machine.path("run/notify"), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(unit_values(machine, "User"), ["belfry"]);
    let (user, group) = service_user(machine);
    let command_line = unit_values(machine, "ExecStart").remove(0);
    let words: Vec<&str> = command_line.split(' ').collect();
    let mut command = machine.command_as(&format!("{user}:{group}"), &words);
    command.env("NOTIFY_SOCKET", "/run/notify").env("WATCHDOG_USEC", "1000000");
    command.env("STATE_DIRECTORY", "/var/lib/belfry");
    let server = ServerProcess::launch(command, &machine.path("tmp"));
    (socket, server)
}

/// Returns the first line of the next notification.
fn receive_notification(socket: &UnixDatagram) -> String {
    let mut buffer = [0; 1024];
    let length = socket.recv(&mut buffer).unwrap();
    str::from_utf8(&buffer[..length]).unwrap().lines().next().unwrap().to_owned()
}

/// Returns the commands in the guide that add an account and issue a token, without `sudo`.
fn documented_commands() -> [String; 2] {
    let commands = console_commands(GUIDE, "Debian package");
    assert!(commands[0].starts_with("sudo apt install ./belfry_"), "{commands:?}");
    let add_account = commands[1].strip_prefix("sudo ").unwrap().to_owned();
    let (_, issue_token) = commands[2].split_once("$(sudo ").unwrap();
    [add_account, issue_token.split_once(')').unwrap().0.to_owned()]
}

#[tokio::test]
#[ignore = "long: builds the packages"]
async fn the_installed_service_and_commands_share_settings_and_data() {
    if !can_install() {
        return;
    }
    let machine = machine_with_package();
    let (user, group) = service_user(&machine);
    assert_eq!(machine.owner_and_mode(SETTINGS_PATH), (0, group, 0o640));
    assert_eq!(machine.owner_and_mode(DATA_DIR), (user, group, 0o700));
    let enabled_link = "etc/systemd/system/multi-user.target.wants/belfry.service";
    assert!(machine.path(enabled_link).symlink_metadata().is_ok(), "the service is enabled");

    let port = free_port().unwrap();
    let settings = fs::read_to_string(machine.path(SETTINGS_PATH)).unwrap();
    let settings = settings.replace("127.0.0.1:8080", &format!("127.0.0.1:{port}"));
    fs::write(machine.path(SETTINGS_PATH), &settings).unwrap();
    let (socket, mut server) = start_service(&machine);
    assert_eq!(receive_notification(&socket), "READY=1");
    assert_eq!(receive_notification(&socket), "WATCHDOG=1");

    let [add_account, issue_token] = documented_commands();
    let output = expect_success(&mut machine.command(&add_account.split(' ').collect::<Vec<_>>()));
    assert!(output.contains("account alice added"), "{output}");
    let token = expect_success(&mut machine.command(&issue_token.split(' ').collect::<Vec<_>>()));
    let url = format!("{}/_matrix/client/v3/pushrules/global/content/cake", server.url);
    let request = reqwest::Client::new().put(url).bearer_auth(token.trim());
    let response = request.body(r#"{"pattern":"cake","actions":["notify"]}"#).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let health = expect_success(&mut machine.command(&["belfry", "health", "--ready"]));
    assert!(health.starts_with(&format!("http://127.0.0.1:{port}/readyz: 200")), "{health}");
    for file in fs::read_dir(machine.path(DATA_DIR)).unwrap() {
        let name = format!("{DATA_DIR}/{}", file.unwrap().file_name().to_str().unwrap());
        assert_eq!(machine.owner_and_mode(&name).0, user, "{name} belongs to the service");
    }

    server.signal("TERM");
    while receive_notification(&socket) != "STOPPING=1" {}
    assert_eq!(server.wait(), Some(0));

    machine.dpkg(&["--install", packages().debian.to_str().unwrap()]);
    let kept_settings = fs::read_to_string(machine.path(SETTINGS_PATH)).unwrap();
    assert_eq!(kept_settings, settings, "an upgrade keeps changed settings");
    machine.dpkg(&["--remove", "belfry"]);
    assert!(machine.path(SETTINGS_PATH).exists() && !machine.path("usr/bin/belfry").exists());
    let purge_output = machine.dpkg(&["--purge", "belfry"]);
    assert!(purge_output.contains("the data in /var/lib/belfry is not deleted"), "{purge_output}");
    assert!(
        !machine.path(SETTINGS_PATH).exists() && machine.path(DATA_DIR).join("belfry.db").exists()
    );
    assert!(machine.path(enabled_link).symlink_metadata().is_err(), "the service is not enabled");
}

#[test]
#[ignore = "long: builds the packages"]
fn root_commands_use_the_services_credentials() {
    if !can_install() {
        return;
    }
    let machine = machine_with_package();
    let credential_store = machine.path("etc/credstore");
    fs::create_dir(&credential_store).unwrap();
    let credential = credential_store.join("belfry.database");
    fs::write(&credential, "postgres://me:hunter2@db.internal/belfry?sslmode=require\n").unwrap();
    for (path, mode) in [(&credential_store, 0o700), (&credential, 0o600)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    copy_certificates(&machine);
    let output = expect_success(&mut machine.command(&["belfry", "config", "check"]));
    assert!(output.contains("postgres://me:***@db.internal/belfry"), "{output}");
    assert!(output.contains("systemd credential"), "{output}");

    let output = machine.command(&["belfry", "account", "show", "a b"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let file_names = |path: &str| -> Vec<String> {
        let entries = fs::read_dir(machine.path(path)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    assert_eq!(file_names("run"), [""; 0], "no copy of the credential is left");
}

/// Copies the certificate authorities of this machine, which `sslmode=require` needs.
fn copy_certificates(machine: &Machine) {
    let path = "etc/ssl/certs/ca-certificates.crt";
    fs::create_dir_all(machine.path(path).parent().unwrap()).unwrap();
    fs::copy(Path::new("/").join(path), machine.path(path)).unwrap();
}

/// Returns a machine with `/usr/bin/belfry`, which runs this Perl script instead of the packaged
/// program.
fn machine_with_program(script: &str) -> Machine {
    let machine = Machine::new();
    let program = format!("#!/usr/bin/perl\n$| = 1;\n{script}");
    let command = include_str!("../../../../packaging/files/debian/belfry");
    let source = machine.path("source");
    for (path, content) in [("usr/lib/belfry/belfry", &*program), ("usr/bin/belfry", command)] {
        fs::write(&source, content).unwrap();
        install_program(&source, &machine.path(path));
    }
    fs::write(machine.path("etc/passwd"), "belfry:x:4321:4321::/:/usr/sbin/nologin\n").unwrap();
    fs::write(machine.path("etc/group"), "belfry:x:4321:\n").unwrap();
    machine
}

/// Starts `belfry` as root on a terminal, by script(1). The terminal does not echo: the kernel
/// echoes `^C` after it has sent the signal, before or after the output of the program. Signals
/// have their default actions, even if the tests run in the background and ignore SIGINT.
fn start_on_terminal(machine: &Machine) -> Child {
    let root = machine.path("");
    let command = format!(
        "stty -echo && exec env --default-signal chroot {} /usr/bin/belfry",
        root.display()
    );
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).env("PATH", programs::search_path());
    script.env("LC_ALL", "C").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// The ioctl TIOCSTI works only where `dev.tty.legacy_tiocsti` is 1, and only for the controlling
/// terminal.
#[test]
fn the_service_user_cannot_type_into_roots_terminal() {
    if !can_install() {
        return;
    }
    let script = r#"
        my $key = "x";
        print "$<: ", ioctl(STDIN, 0x5412, $key) ? "typed" : "refused", "\n";"#;
    let output = start_on_terminal(&machine_with_program(script)).wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "4321: refused\r\n");
}

#[test]
fn ctrl_c_stops_a_command_run_by_root() {
    if !can_install() {
        return;
    }
    let script = r#"
        $SIG{TERM} = sub { print "stopped\n"; exit 3 };
        print "ready\n";
        sleep 1 while 1;"#;
    let machine = machine_with_program(script);
    let mut terminal = start_on_terminal(&machine);
    let mut lines = BufReader::new(terminal.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    // Dropped at the end: script(1) must not read the end of its input while it exits.
    let mut keyboard = terminal.stdin.take().unwrap();
    keyboard.write_all(b"\x03").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "stopped");
    assert_eq!(terminal.wait().unwrap().code(), Some(3));
}

#[test]
fn a_command_run_by_root_has_its_input_output_and_exit_code() {
    if !can_install() {
        return;
    }
    let machine =
        machine_with_program("print \"@ARGV: \", <STDIN>; print STDERR \"failed\"; exit 7;");
    let mut command = machine.command(&["belfry", "a b", "c"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"one\ntwo").unwrap();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    assert_eq!(
        (status.code(), &*stdout, &*stderr),
        (Some(7), &b"a b c: one\ntwo"[..], &b"failed"[..])
    );
}

#[test]
#[ignore = "long: builds the packages"]
fn users_other_than_root_run_the_program_directly() {
    if !can_install() {
        return;
    }
    let machine = machine_with_package();
    let version = expect_success(&mut machine.command_as("4321:4321", &["belfry", "--version"]));
    assert_eq!(version, format!("belfry {}\n", super::VERSION));
    let output = machine.command_as("4321:4321", &["belfry", "account", "list"]).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    let expected = "belfry: cannot read /etc/belfry/belfry.toml: Permission denied";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
#[ignore = "long: builds the packages"]
fn dpkg_describes_the_package_and_verifies_its_files() {
    if !can_install() {
        return;
    }
    let package = packages().debian.to_str().unwrap();
    let fields = expect_success(Command::new("dpkg-deb").args(["--field", package]));
    for line in ["Package: belfry", "Section: net", "Recommends: ca-certificates"] {
        assert!(fields.lines().any(|field| field == line), "{line}: {fields}");
    }
    assert!(fields.contains("\nDepends: libc6 (>= 2."), "{fields}");
    let machine = machine_with_package();
    assert_eq!(machine.dpkg(&["--verify", "belfry"]), "");
    fs::write(machine.path("usr/lib/systemd/system/belfry.service"), "").unwrap();
    let mut verify = Command::new("dpkg");
    verify.arg(format!("--root={}", machine.path("").display())).args(["--verify", "belfry"]);
    let changed_files = String::from_utf8(verify.output().unwrap().stdout).unwrap();
    assert!(changed_files.contains("/usr/lib/systemd/system/belfry.service"), "{changed_files}");
}
