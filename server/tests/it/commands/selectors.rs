//! Every command that takes an account accepts its name, id, e-mail address and user id.

use serde_json::json;

use super::Workspace;
use crate::support::on_both_engines;
use crate::support::process::belfry_command;

on_both_engines! {
    crate::commands::create_workspace:
    an_account_is_found_by_name_id_email_address_and_user_id,
    a_name_that_is_the_id_of_another_account_is_ambiguous,
}

async fn an_account_is_found_by_name_id_email_address_and_user_id(workspace: Workspace) {
    workspace.configure("server_name = 'ring.example'");
    workspace.run(&["account", "add", "alice", "--email", "alice@example.org"]);
    workspace.run(&["account", "add", "bob"]);
    workspace
        .execute_sql("update accounts set unverified_email = 'b@x.org' where name = 'bob'")
        .await;
    let id =
        workspace.run_json(&["account", "show", "alice"])[0]["id"].as_str().unwrap().to_owned();
    let id_with_hash = format!("#{id}");
    std::fs::write(workspace.path().join("e.json"), r#"{"type":"m.room.message"}"#).unwrap();
    for selector in
        ["alice", &id, &id_with_hash, "Alice@example.org", "@alice:ring.example", "@alice"]
    {
        let accounts = workspace.run_json(&["account", "show", selector]);
        assert_eq!(accounts[0]["name"], "alice", "{selector}");
        assert_eq!(workspace.run(&["account", "disable", selector]), "account alice disabled\n");
        assert_eq!(workspace.run(&["account", "enable", selector]), "account alice enabled\n");
        let output = workspace.run(&["account", "role", selector, "user"]);
        assert_eq!(output, "account alice has the role user\n");
        assert!(!workspace.run(&["token", "issue", selector]).is_empty());
        assert!(workspace.run(&["explain", "e.json", "--account", selector]).contains("notify"));
        let events = workspace.run_json(&["audit", "--account", selector, "--kind", "account_add"]);
        assert_eq!(events.len(), 1, "{selector}");
        assert_eq!(events[0]["account"], json!("alice"));
    }
    let output = workspace.run(&["account", "password", "alice@example.org"]);
    assert!(output.starts_with("password of alice changed"), "{output}");

    for (selector, problem) in [
        ("carol", "there is no account \"carol\"; run `belfry account list`"),
        ("7", "there is no account with the name or the id \"7\"; run `belfry account list`"),
        ("#7", "there is no account with the id \"#7\""),
        ("@carol:ring.example", "there is no account \"@carol:ring.example\"; run"),
        (
            "@alice:other.example",
            "\"@alice:other.example\" is a user on \"other.example\", but this server's name is \
             \"ring.example\"; check server_name and base_url",
        ),
        (
            "b@x.org",
            "there is no account with the verified e-mail address \"b@x.org\"; `belfry account \
             list --email b@x.org` also shows unverified ones",
        ),
    ] {
        for command in [&["account", "delete", selector][..], &["token", "issue", selector]] {
            let message = workspace.run_failing(command);
            assert!(message.starts_with(&format!("belfry: {problem}")), "{selector}: {message}");
        }
    }
    assert!(workspace.run(&["account", "delete", &id]).starts_with("account alice deleted"));
}

/// Anyone can sign up with such a name, and must not be mistaken for the other account.
async fn a_name_that_is_the_id_of_another_account_is_ambiguous(workspace: Workspace) {
    workspace.run(&["account", "add", "alice"]);
    let id =
        workspace.run_json(&["account", "show", "alice"])[0]["id"].as_str().unwrap().to_owned();
    workspace.run(&["account", "add", &id]);
    let message = workspace.run_failing(&["account", "role", &id, "admin"]);
    let expected = format!(
        "belfry: {id} is the name of an account and the id of another, alice; write '@{id}' for \
         the name, or '#{id}' for the id\n"
    );
    assert_eq!(message, expected);
    let account_name =
        |account: &str| workspace.run_json(&["account", "show", account])[0]["name"].clone();
    assert_eq!(
        (account_name(&format!("@{id}")), account_name(&format!("#{id}"))),
        (json!(id), json!("alice"))
    );
}

#[test]
fn help_lists_the_ways_to_select_an_account() {
    let workspace = Workspace::sqlite();
    for command in [&["account", "show"][..], &["token", "issue"], &["explain"], &["audit"]] {
        let output =
            belfry_command(workspace.path(), &[command, &["--help"]].concat()).output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("its name, id, e-mail address or user id"), "{help}");
    }
}
