//! `belfry app …`

use serde_json::{Value, json};

use super::{Workspace, printed_value};
use crate::support::on_both_engines;

const URI: &str = "https://app.example/cb";

async fn an_app_is_added_with_a_secret_that_is_shown_once(workspace: Workspace) {
    workspace.run(&["account", "add", "alice"]);
    let add = ["app", "add", "Tusky", "--redirect-uri", URI, "--redirect-uri", "tuba://cb"];
    let more = ["--scopes", "read push", "--website", "https://tusky.app"];
    let output = workspace.run(&[&add[..], &more].concat());
    let (client_id, secret) =
        (printed_value(&output, "client_id: "), printed_value(&output, "client_secret: "));
    assert_eq!((client_id.len(), secret.len()), (64, 64), "{output}");

    let details = workspace.json(&["app", "show", &client_id]).remove(0);
    let id = details["id"].as_str().unwrap();
    assert!(output.starts_with(&format!("app {id} (Tusky) added\n")), "{output}");
    workspace.run(&["app", "add", "svc"]);
    let service = workspace.json(&["app", "show", "svc"]).remove(0);
    assert_eq!(service["redirect_uris"], json!(["urn:ietf:wg:oauth:2.0:oob"]));
    workspace.run(&["app", "delete", "svc"]);
    let list_entry = json!({
        "id": id,
        "client_id": client_id,
        "name": "Tusky",
        "website": "https://tusky.app",
        "scopes": ["read", "push"],
        "redirect_uris": [URI, "tuba://cb"],
        "state": "active",
        "created_at": details["created_at"],
        "disabled_at": null,
    });
    assert_eq!(workspace.json(&["app", "list"]), std::slice::from_ref(&list_entry));
    let mut expected = list_entry;
    expected["previous_secret_until"] = Value::Null;
    expected["tokens"] = json!(0);
    expected["last_used_at"] = Value::Null;
    expected["last_token_at"] = Value::Null;
    assert_eq!(details, expected);
    for arguments in [&["app", "show", id][..], &["app", "list"], &["audit"]] {
        assert!(!workspace.run(arguments).contains(&secret), "{arguments:?}");
    }
    let events = workspace.json(&["audit", "--app", id]);
    assert_eq!(events.iter().map(|event| &event["kind"]).collect::<Vec<_>>(), ["app_add"]);
    let unused = workspace.run(&["app", "list", "--unused"]);
    assert_eq!(unused, "", "an app that an operator added is not deleted as unused");
}

/// The rules are those of `POST /api/v1/apps`.
#[test]
fn an_added_app_is_validated_like_a_registered_one() {
    let workspace = Workspace::sqlite();
    workspace.run(&["account", "add", "alice"]);
    for (name, uri, scopes, website, problem) in [
        (" ", URI, "read", "", "Application name can't be blank"),
        ("a\u{1b}[2J", URI, "read", "", "Application name is invalid"),
        ("a", "http://app.example/cb", "read", "", "Redirect URI "),
        ("a", "javascript:x", "read", "", "Redirect URI is forbidden by the server."),
        (
            "a",
            "steam://run",
            "read",
            "",
            "Redirect URI must have the scheme https, one that contains a dot like com.example.app, \
             or one that the operator of the server has allowed. Allow its scheme in \
             oauth.redirect_schemes.",
        ),
        (
            "a",
            URI,
            "read fly",
            "",
            "Scopes doesn't match those configured on the server: fly is unknown.",
        ),
        ("a", URI, "read", "tusky.app", "Application website is not a valid URL"),
        ("", URI, "fly", "", "Application name can't be blank, Scopes doesn't match"),
    ] {
        let add = ["app", "add", name, "--redirect-uri", uri, "--scopes", scopes];
        let message = workspace.fail(&[&add[..], &["--website", website]].concat());
        assert!(message.starts_with(&format!("belfry: {problem}")), "{message}");
    }
    assert_eq!(workspace.run(&["app", "list"]), "");
}

async fn a_secret_is_rotated_and_the_old_one_expires(workspace: Workspace) {
    workspace.run(&["account", "add", "alice"]);
    let add = ["app", "add", "Tusky", "--redirect-uri", URI];
    let app = workspace.json(&add).remove(0);
    let [id, secret] = ["id", "client_secret"].map(|key| app[key].as_str().unwrap());
    let until = || workspace.json(&["app", "show", id])[0]["previous_secret_until"].clone();

    let output = workspace.run(&["app", "secret", id]);
    let new_secret = printed_value(&output, "client_secret: ");
    assert!(new_secret.len() == 64 && new_secret != secret, "{output}");
    let end = until().as_str().unwrap().to_owned();
    let first_line =
        format!("app {id} (Tusky) has a new client secret, the old one is accepted until {end}\n");
    assert!(output.starts_with(&first_line), "{output}");
    let events = workspace.json(&["audit", "--app", id]);
    let change = events.iter().find(|event| event["kind"] == "app_secret_change").unwrap();
    let time = |text: &str| text.parse::<jiff::Timestamp>().unwrap();
    let overlap = time(&end).duration_since(time(change["at"].as_str().unwrap()));
    assert_eq!(overlap, jiff::SignedDuration::from_hours(24));
    let details = workspace.run(&["app", "show", id]);
    assert!(details.contains(&format!("old secret     accepted until {end}\n")), "{details}");
    assert!(!details.contains(&new_secret) && !details.contains(secret));

    let output = workspace.run(&["app", "secret", id, "--keep-old", "7d"]);
    assert!(
        output.contains("an older secret, which was still accepted, is rejected from now on"),
        "{output}"
    );
    let output = workspace.run(&["app", "secret", id, "--keep-old", "0"]);
    assert!(output.contains("the old one is rejected from now on\n"), "{output}");
    assert_eq!(until(), Value::Null);
    let rotation = workspace.json(&["app", "secret", id, "--keep-old", "30m"]).remove(0);
    assert_eq!((&rotation["id"], &rotation["client_id"]), (&app["id"], &app["client_id"]));
    assert_eq!(rotation["previous_secret_until"], until());

    let events = workspace.json(&["audit", "--app", id]);
    let changes = events.iter().filter(|event| event["kind"] == "app_secret_change").count();
    assert_eq!((events.len(), changes), (5, 4));
    assert!(!workspace.run(&["audit"]).contains(&new_secret));
}

#[test]
fn an_invalid_rotation_is_rejected() {
    let workspace = Workspace::sqlite();
    workspace.run(&["account", "add", "alice"]);
    workspace.run(&["token", "issue", "alice"]);
    let message = workspace.fail(&["app", "secret", "cli:Command line"]);
    assert!(message.contains("(Command line) is part of belfry and has no secret"));
    let message = workspace.fail(&["app", "secret", "7"]);
    assert_eq!(message, "belfry: there is no app \"7\"; see belfry app list\n");
    for keep_old in ["soon", "-1h", "1"] {
        let argument = format!("--keep-old={keep_old}");
        let output = workspace.run_with_input(&["app", "secret", "7", &argument], "");
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("expected a duration such as"), "{message}");
    }
}

async fn the_tokens_and_last_use_of_an_app_are_shown(workspace: Workspace) {
    workspace.run(&["account", "add", "alice"]);
    for _ in 0..3 {
        workspace.run(&["token", "issue", "alice"]);
    }
    let token = workspace.run(&["token", "issue", "alice"]);
    workspace.run(&["token", "revoke", token.trim_end()]);
    let details = workspace.json(&["app", "show", "cli:Command line"]).remove(0);
    assert_eq!(details["tokens"], 3);
    let last = details["last_token_at"].as_str().unwrap();
    let text = workspace.run(&["app", "show", "cli:Command line"]);
    assert!(text.contains(&format!("tokens         3 valid, last issued {last}\n")), "{text}");
    assert!(text.contains("last used      never\n"), "{text}");
    // The last use is recorded once an hour, so it may precede the last token.
    workspace.execute("update apps set last_used_at = 1700000000").await;
    let text = workspace.run(&["app", "show", "cli:Command line"]);
    let last_used = "last used      2023-11-14T22:13:20Z, to the hour\n";
    assert!(text.contains(last_used), "{text}");
    workspace.run(&["app", "add", "Tusky"]);
    let text = workspace.run(&["app", "show", "Tusky"]);
    assert!(text.contains("tokens         0 valid, last issued never\n"), "{text}");
}

async fn an_app_is_found_by_a_unique_name(workspace: Workspace) {
    workspace.run(&["account", "add", "alice"]);
    let add = |name: &str| {
        let app = workspace.json(&["app", "add", name, "--redirect-uri", URI]).remove(0);
        app["id"].as_str().unwrap().to_owned()
    };
    let (tusky, nightly) = (add("Tusky"), add("Tusky Nightly"));
    assert_eq!(workspace.json(&["app", "show", "Tusky"])[0]["id"], *tusky);
    assert_eq!(workspace.json(&["app", "show", "tusky nightly"])[0]["id"], *nightly);
    assert_eq!(workspace.json(&["app", "secret", "Tusky"])[0]["id"], *tusky);
    for (command, done) in [("disable", "disabled"), ("enable", "enabled")] {
        let output = workspace.run(&["app", command, "Tusky"]);
        assert_eq!(output, format!("app {tusky} (Tusky) {done}\n"));
    }
    let message = workspace.fail(&["app", "show", "Tusk"]);
    assert_eq!(message, "belfry: there is no app \"Tusk\"; see belfry app list\n");

    // A name that several apps share selects none of them.
    let other = add("TUSKY");
    for command in ["show", "secret", "disable", "enable", "delete"] {
        let message = workspace.fail(&["app", command, "Tusky"]);
        let ids =
            format!("several apps are named \"Tusky\": {tusky}, {other}; use one of these ids");
        assert!(message.contains(&ids), "{message}");
    }
    assert_eq!(workspace.json(&["app", "list"]).len(), 3);
    workspace.run(&["app", "delete", &other]);
    assert!(
        workspace.run(&["app", "delete", "Tusky"]).starts_with(&format!("app {tusky} (Tusky)"))
    );
    for _ in 0..12 {
        add("Bot");
    }
    let message = workspace.fail(&["app", "show", "Bot"]);
    assert!(message.contains("; use one of these ids"), "{message}");
    assert_eq!(message.matches(", ").count(), 9, "{message}");
}

/// Registration rejects such names, but rows may come from elsewhere.
async fn control_characters_in_names_do_not_reach_the_terminal(workspace: Workspace) {
    workspace.run(&["account", "add", "alice"]);
    let app = workspace.json(&["app", "add", "Tusky", "--redirect-uri", URI]).remove(0);
    let id = app["id"].as_str().unwrap();
    let name = "\u{1b}]0;owned\u{7}\u{9b}2J\tevil\u{202e}";
    workspace.execute(&format!("update apps set name = '{name}', website = '{name}'")).await;
    let escaped = r"\u{1b}]0;owned\u{7}\u{9b}2J\u{9}evil\u{202e}";
    for arguments in
        [&["app", "list"][..], &["app", "show", id], &["audit"], &["app", "disable", id]]
    {
        let output = workspace.run(arguments);
        assert!(output.contains(escaped), "{arguments:?}: {output:?}");
        let is_safe = |c: char| matches!(c, '\n' | '\t') || !c.is_control() && c != '\u{202e}';
        assert!(output.chars().all(is_safe), "{arguments:?}: {output:?}");
    }
    for arguments in [&["app", "list"][..], &["app", "show", id]] {
        assert_eq!(workspace.json(arguments)[0]["name"], name);
        let text = workspace.run(&[arguments, &["--json"]].concat());
        assert!(text.trim_end().chars().all(|c| !c.is_control()), "{text:?}");
    }
    assert!(workspace.run(&["app", "delete", id]).contains(escaped));
}

on_both_engines! {
    crate::commands::start:
    an_app_is_added_with_a_secret_that_is_shown_once,
    a_secret_is_rotated_and_the_old_one_expires,
    the_tokens_and_last_use_of_an_app_are_shown,
    an_app_is_found_by_a_unique_name,
    control_characters_in_names_do_not_reach_the_terminal,
}
