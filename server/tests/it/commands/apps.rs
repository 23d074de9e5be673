//! `belfry app …`

use serde_json::{Value, json};

use super::{Workspace, printed_value};
use crate::support::on_both_engines;

const REDIRECT_URI: &str = "https://app.example/cb";

async fn an_app_is_added_with_a_secret_that_is_shown_once(workspace: Workspace) {
    workspace.run(&["account", "add", "alice"]);
    let add =
        ["app", "add", "Tusky", "--redirect-uri", REDIRECT_URI, "--redirect-uri", "tuba://cb"];
    let optional_flags = ["--scopes", "read push", "--website", "https://tusky.app"];
    let output = workspace.run(&[&add[..], &optional_flags].concat());
    let client_id = printed_value(&output, "client_id: ");
    let secret = printed_value(&output, "client_secret: ");
    assert_eq!((client_id.len(), secret.len()), (64, 64), "{output}");

    let details = workspace.run_json(&["app", "list", &client_id]).remove(0);
    let id = details["id"].as_str().unwrap();
    assert!(output.starts_with(&format!("app {id} (Tusky) added\n")), "{output}");
    workspace.run(&["app", "add", "svc"]);
    let service = workspace.run_json(&["app", "list", "svc"]).remove(0);
    assert_eq!(service["redirect_uris"], json!(["urn:ietf:wg:oauth:2.0:oob"]));
    workspace.run(&["app", "delete", "svc"]);
    let list_entry = json!({
        "id": id,
        "client_id": client_id,
        "name": "Tusky",
        "website": "https://tusky.app",
        "scopes": ["read", "push"],
        "redirect_uris": [REDIRECT_URI, "tuba://cb"],
        "issuer": "oauth",
        "auth_method": "client_secret",
        "registered_by": "operator",
        "state": "active",
        "created_at": details["created_at"],
        "disabled_at": null,
    });
    assert_eq!(workspace.run_json(&["app", "list"]), std::slice::from_ref(&list_entry));
    let mut expected = list_entry;
    expected["previous_secret_until"] = Value::Null;
    expected["tokens"] = json!(0);
    expected["last_used_at"] = Value::Null;
    expected["last_token_at"] = Value::Null;
    assert_eq!(details, expected);
    for arguments in [&["app", "list", id][..], &["app", "list"], &["audit"]] {
        assert!(!workspace.run(arguments).contains(&secret), "{arguments:?}");
    }
    let events = workspace.run_json(&["audit", "--app", id]);
    assert_eq!(events.iter().map(|event| &event["kind"]).collect::<Vec<_>>(), ["app_add"]);
    let unused_apps = workspace.run(&["app", "list", "--unused"]);
    assert_eq!(unused_apps, "", "an app that an operator added is not deleted as unused");
}

/// The rules are those of `POST /api/v1/apps`.
#[test]
fn an_added_app_is_validated_like_a_registered_one() {
    let workspace = Workspace::sqlite();
    workspace.run(&["account", "add", "alice"]);
    for (name, uri, scopes, website, problem) in [
        (" ", REDIRECT_URI, "read", "", "Application name can't be blank"),
        ("a\u{1b}[2J", REDIRECT_URI, "read", "", "Application name is invalid"),
        ("a", "http://app.example/cb", "read", "", "Redirect URI "),
        ("a", "javascript:x", "read", "", "Redirect URI is forbidden by the server."),
        (
            "a",
            REDIRECT_URI,
            "read fly",
            "",
            "Scopes doesn't match those configured on the server: fly is unknown",
        ),
        ("a", REDIRECT_URI, "read", "tusky.app", "Application website is not a valid URL"),
        ("", REDIRECT_URI, "fly", "", "Application name can't be blank, Scopes doesn't match"),
    ] {
        let add = ["app", "add", name, "--redirect-uri", uri, "--scopes", scopes];
        let message = workspace.run_failing(&[&add[..], &["--website", website]].concat());
        assert!(message.starts_with(&format!("belfry: {problem}")), "{message}");
    }
    assert_eq!(workspace.run(&["app", "list"]), "");
}

async fn a_secret_is_rotated_and_the_old_one_expires(workspace: Workspace) {
    workspace.run(&["account", "add", "alice"]);
    let add = ["app", "add", "Tusky", "--redirect-uri", REDIRECT_URI];
    let app = workspace.run_json(&add).remove(0);
    let [id, secret] = ["id", "client_secret"].map(|key| app[key].as_str().unwrap());
    let old_secret_expiry =
        || workspace.run_json(&["app", "list", id])[0]["previous_secret_until"].clone();

    let output = workspace.run(&["app", "secret", id]);
    let new_secret = printed_value(&output, "client_secret: ");
    assert!(new_secret.len() == 64 && new_secret != secret, "{output}");
    let expiry = old_secret_expiry().as_str().unwrap().to_owned();
    let first_line = format!(
        "app {id} (Tusky) has a new client secret, the old one is accepted until {expiry}\n"
    );
    assert!(output.starts_with(&first_line), "{output}");
    let events = workspace.run_json(&["audit", "--app", id]);
    let change_event = events.iter().find(|event| event["kind"] == "app_secret_change").unwrap();
    let parse_time = |text: &str| text.parse::<jiff::Timestamp>().unwrap();
    let overlap =
        parse_time(&expiry).duration_since(parse_time(change_event["at"].as_str().unwrap()));
    assert_eq!(overlap, jiff::SignedDuration::from_hours(24));
    let details = workspace.run(&["app", "list", id]);
    assert!(details.contains(&format!("old secret     accepted until {expiry}\n")), "{details}");
    assert!(!details.contains(&new_secret) && !details.contains(secret));

    let output = workspace.run(&["app", "secret", id, "--keep-old", "7d"]);
    assert!(
        output.contains("an older secret, which was still accepted, is rejected from now on"),
        "{output}"
    );
    let output = workspace.run(&["app", "secret", id, "--keep-old", "0"]);
    assert!(output.contains("the old one is rejected from now on\n"), "{output}");
    assert_eq!(old_secret_expiry(), Value::Null);
    let rotation = workspace.run_json(&["app", "secret", id, "--keep-old", "30m"]).remove(0);
    assert_eq!((&rotation["id"], &rotation["client_id"]), (&app["id"], &app["client_id"]));
    assert_eq!(rotation["previous_secret_until"], old_secret_expiry());

    let events = workspace.run_json(&["audit", "--app", id]);
    let change_count = events.iter().filter(|event| event["kind"] == "app_secret_change").count();
    assert_eq!((events.len(), change_count), (5, 4));
    assert!(!workspace.run(&["audit"]).contains(&new_secret));
}

#[test]
fn an_invalid_rotation_is_rejected() {
    let workspace = Workspace::sqlite();
    workspace.run(&["account", "add", "alice"]);
    workspace.run(&["token", "issue", "alice"]);
    let message = workspace.run_failing(&["app", "secret", "cli:Command line"]);
    assert!(message.contains("(Command line) is part of belfry and has no secret"));
    let message = workspace.run_failing(&["app", "secret", "7"]);
    assert_eq!(message, "belfry: there is no app \"7\"; run `belfry app list`\n");
    for keep_old in ["soon", "-1h", "1"] {
        let argument = format!("--keep-old={keep_old}");
        let output = workspace.run_with_input(&["app", "secret", "7", &argument], "");
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("expected a duration such as"), "{message}");
    }
}

async fn an_apps_tokens_and_last_use_are_shown(workspace: Workspace) {
    workspace.run(&["account", "add", "alice"]);
    for _ in 0..3 {
        workspace.run(&["token", "issue", "alice"]);
    }
    let token = workspace.run(&["token", "issue", "alice"]);
    workspace.run(&["token", "revoke", token.trim_end()]);
    let details = workspace.run_json(&["app", "list", "cli:Command line"]).remove(0);
    assert_eq!(details["tokens"], 3);
    let last_token_at = details["last_token_at"].as_str().unwrap();
    let output = workspace.run(&["app", "list", "cli:Command line"]);
    assert!(
        output.contains(&format!("tokens         3 valid, last issued {last_token_at}\n")),
        "{output}"
    );
    assert!(output.contains("last used      never\n"), "{output}");
    // The last use is recorded once an hour, so it may precede the last token.
    workspace.execute_sql("update apps set last_used_at = 1700000000").await;
    let output = workspace.run(&["app", "list", "cli:Command line"]);
    let last_used = "last used      within the hour of 2023-11-14T22:13:20Z\n";
    assert!(output.contains(last_used), "{output}");
    workspace.run(&["app", "add", "Tusky"]);
    let output = workspace.run(&["app", "list", "Tusky"]);
    assert!(output.contains("tokens         0 valid, last issued never\n"), "{output}");
}

async fn an_app_is_found_by_a_unique_name(workspace: Workspace) {
    workspace.run(&["account", "add", "alice"]);
    let add_app = |name: &str| {
        let app =
            workspace.run_json(&["app", "add", name, "--redirect-uri", REDIRECT_URI]).remove(0);
        app["id"].as_str().unwrap().to_owned()
    };
    let tusky_id = add_app("Tusky");
    let nightly_id = add_app("Tusky Nightly");
    assert_eq!(workspace.run_json(&["app", "list", "Tusky"])[0]["id"], *tusky_id);
    assert_eq!(workspace.run_json(&["app", "list", "tusky nightly"])[0]["id"], *nightly_id);
    assert_eq!(workspace.run_json(&["app", "secret", "Tusky"])[0]["id"], *tusky_id);
    for (command, state) in [("disable", "disabled"), ("enable", "enabled")] {
        let output = workspace.run(&["app", command, "Tusky"]);
        assert_eq!(output, format!("app {tusky_id} (Tusky) {state}\n"));
    }
    let message = workspace.run_failing(&["app", "list", "Tusk"]);
    assert_eq!(message, "belfry: there is no app \"Tusk\"; run `belfry app list`\n");

    // A name that several apps share selects none of them.
    let other_id = add_app("TUSKY");
    for command in ["show", "secret", "disable", "enable", "delete"] {
        let message = workspace.run_failing(&["app", command, "Tusky"]);
        let expected = format!(
            "several apps are named \"Tusky\": {tusky_id}, {other_id}; use one of these ids"
        );
        assert!(message.contains(&expected), "{message}");
    }
    assert_eq!(workspace.run_json(&["app", "list"]).len(), 3);
    workspace.run(&["app", "delete", &other_id]);
    assert!(
        workspace.run(&["app", "delete", "Tusky"]).starts_with(&format!("app {tusky_id} (Tusky)"))
    );
    for _ in 0..12 {
        add_app("Bot");
    }
    let message = workspace.run_failing(&["app", "list", "Bot"]);
    assert!(message.contains("; use one of these ids"), "{message}");
    assert_eq!(message.matches(", ").count(), 9, "{message}");
}

/// Registration rejects such names, but rows may come from elsewhere.
async fn control_characters_in_names_do_not_reach_the_terminal(workspace: Workspace) {
    workspace.run(&["account", "add", "alice"]);
    let app =
        workspace.run_json(&["app", "add", "Tusky", "--redirect-uri", REDIRECT_URI]).remove(0);
    let id = app["id"].as_str().unwrap();
    let name = "\u{1b}]0;owned\u{7}\u{9b}2J\tevil\u{202e}";
    workspace.execute_sql(&format!("update apps set name = '{name}', website = '{name}'")).await;
    let escaped_name = r"\u{1b}]0;owned\u{7}\u{9b}2J\u{9}evil\u{202e}";
    for arguments in
        [&["app", "list"][..], &["app", "list", id], &["audit"], &["app", "disable", id]]
    {
        let output = workspace.run(arguments);
        assert!(output.contains(escaped_name), "{arguments:?}: {output:?}");
        let is_safe = |c: char| matches!(c, '\n' | '\t') || !c.is_control() && c != '\u{202e}';
        assert!(output.chars().all(is_safe), "{arguments:?}: {output:?}");
    }
    for arguments in [&["app", "list"][..], &["app", "list", id]] {
        assert_eq!(workspace.run_json(arguments)[0]["name"], name);
        let output = workspace.run(&[arguments, &["--json"]].concat());
        assert!(output.trim_end().chars().all(|c| !c.is_control()), "{output:?}");
    }
    assert!(workspace.run(&["app", "delete", id]).contains(escaped_name));
}

on_both_engines! {
    crate::commands::create_workspace:
    an_app_is_added_with_a_secret_that_is_shown_once,
    a_secret_is_rotated_and_the_old_one_expires,
    an_apps_tokens_and_last_use_are_shown,
    an_app_is_found_by_a_unique_name,
    control_characters_in_names_do_not_reach_the_terminal,
}
