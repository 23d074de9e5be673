//! Files that a command reads: who owns them, and who else can read or change them.

use std::fs::write;
use std::os::unix::fs::chown;

use super::Workspace;
use crate::support::ServerProcess;
use crate::support::files::set_mode;
use crate::support::process::run_belfry;

/// A command run in `/tmp` must not use the settings of anyone who put a file there.
#[test]
fn a_configuration_file_that_another_user_controls_is_not_read() {
    let workspace = Workspace::sqlite();
    let file = workspace.path().join("belfry.toml");
    write(&file, "registration = 'closed'").unwrap();
    assert!(workspace.run(&["config", "check"]).contains("registration = \"closed\""));

    set_mode(&file, 0o666);
    let advice = "is not read; check it and use --config belfry.toml";
    let message = workspace.run_failing(&["config", "check"]);
    assert!(message.contains("is world-writable") && message.contains(advice));
    assert!(workspace.run_failing(&["serve"]).contains(advice));
    let output = workspace.run(&["config", "check", "--config", "belfry.toml"]);
    assert!(output.contains("registration = \"closed\""), "{output}");

    set_mode(&file, 0o644);
    // Only root can change the owner.
    if chown(&file, Some(65534), None).is_ok() {
        let message = workspace.run_failing(&["config", "check"]);
        assert!(message.contains("belongs to a different user") && message.contains(advice));
    }
}

const REGISTRATION: &str = "id: a\nas_token: secret\nsender_localpart: bot\n";

#[test]
fn files_with_secrets_that_everyone_can_read_cause_a_warning() {
    let workspace = Workspace::sqlite();
    let files = ["belfry.toml", "irc.yaml", "key.pem", "redis", "belfry.key"];
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let settings = "redis_file = 'redis'\nsecret_key_file = 'belfry.key'\nregistration = 'closed'\napplication_services = [\
                    'irc.yaml', { id = 'd', as_token = 'secret of d', sender_localpart = 'e' }]\n\
                    [tls]\ncertificate = 'cert.pem'\nkey = 'key.pem'\n";
    let key = certificate.signing_key.serialize_pem();
    let redis = "redis://:secret@127.0.0.1:1";
    let contents = [settings, REGISTRATION, &key, redis, "0123456789abcdef0123456789abcdef"];
    for (file, content) in files.iter().zip(contents) {
        write(workspace.path().join(file), content).unwrap();
        set_mode(&workspace.path().join(file), 0o600);
    }
    write(workspace.path().join("cert.pem"), certificate.cert.pem()).unwrap();
    // Temporary directories are private, and in a private directory file modes do not matter.
    set_mode(workspace.path(), 0o755);
    let warning_about =
        |file: &str| format!("{file} contains secrets and can be read by every user");
    let check_warnings = || {
        let output = run_belfry(workspace.path(), &["config", "check"]);
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(!check_warnings().contains("secrets"));

    for file in files {
        let path = workspace.path().join(file);
        set_mode(&path, 0o644);
        let messages = check_warnings();
        assert!(messages.contains(&format!("warning: {}", warning_about(file))), "{messages}");
        let server = ServerProcess::start(workspace.path(), &[]);
        assert!(server.log().contains(&warning_about(file)), "{}", server.log());
        set_mode(workspace.path(), 0o700);
        assert!(!check_warnings().contains("secrets"), "{file}");
        set_mode(workspace.path(), 0o755);
        set_mode(&path, 0o600);
    }
    write(workspace.path().join("belfry.toml"), "registration = 'closed'").unwrap();
    set_mode(&workspace.path().join("belfry.toml"), 0o644);
    assert_eq!(check_warnings(), "the settings are valid\n", "it contains no secret");
}

/// Data can have such modes after it was copied back, or if its directory was created by hand.
#[test]
fn data_that_others_can_read_or_change_causes_a_warning_at_startup() {
    let workspace = Workspace::sqlite();
    workspace.run(&["account", "add", "alice"]);
    let start_and_read_log = || ServerProcess::start(workspace.path(), &[]).log();
    assert!(!start_and_read_log().contains("every user"), "{}", start_and_read_log());
    set_mode(&workspace.path().join("data"), 0o755);
    assert!(
        !start_and_read_log().contains("every user"),
        "the files are private: {}",
        start_and_read_log()
    );
    set_mode(&workspace.path().join("data"), 0o700);
    for (file, mode, safe_mode, warning) in [
        (
            "data/belfry.db",
            0o644,
            0o600,
            "every user can read data/belfry.db, which contains password hashes",
        ),
        ("data/belfry.db", 0o602, 0o600, "every user can change data/belfry.db; use chmod o-rwx"),
        ("data", 0o777, 0o700, "every user can change data; use chmod o-rwx data"),
    ] {
        set_mode(&workspace.path().join(file), mode);
        let log = start_and_read_log();
        assert!(log.contains(warning), "{log}");
        let output = run_belfry(workspace.path(), &["config", "check"]);
        let messages = String::from_utf8(output.stderr).unwrap();
        assert!(messages.contains(&format!("belfry: warning: {warning}")), "{messages}");
        set_mode(&workspace.path().join(file), safe_mode);
    }
}
