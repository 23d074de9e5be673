//! Every command that takes an account accepts its name, id, e-mail address and user id.

use serde_json::json;

use super::Workspace;
use crate::support::on_both_engines;
use crate::support::process::belfry;

on_both_engines! {
    crate::commands::start:
    an_account_is_found_by_name_id_email_address_and_user_id,
    a_name_that_is_the_id_of_another_account_is_ambiguous,
}

async fn an_account_is_found_by_name_id_email_address_and_user_id(workspace: Workspace) {
    workspace.configure("server_name = 'ring.example'");
    workspace.run(&["account", "add", "alice", "--email", "alice@example.org"]);
    workspace.run(&["account", "add", "bob"]);
    workspace.execute("update accounts set unverified_email = 'b@x.org' where name = 'bob'").await;
    let id = workspace.json(&["account", "show", "alice"])[0]["id"].as_str().unwrap().to_owned();
    let hash_and_id = format!("#{id}");
    std::fs::write(workspace.path().join("e.json"), r#"{"type":"m.room.message"}"#).unwrap();
    for alice in ["alice", &id, &hash_and_id, "Alice@example.org", "@alice:ring.example", "@alice"]
    {
        let accounts = workspace.json(&["account", "show", alice]);
        assert_eq!(accounts[0]["name"], "alice", "{alice}");
        assert_eq!(workspace.run(&["account", "disable", alice]), "account alice disabled\n");
        assert_eq!(workspace.run(&["account", "enable", alice]), "account alice enabled\n");
        let role = workspace.run(&["account", "role", alice, "user"]);
        assert_eq!(role, "account alice has the role user\n");
        assert!(!workspace.run(&["token", "issue", alice]).is_empty());
        assert!(workspace.run(&["explain", "e.json", "--account", alice]).contains("notify"));
        let events = workspace.json(&["audit", "--account", alice, "--kind", "account_add"]);
        assert_eq!(events.len(), 1, "{alice}");
        assert_eq!(events[0]["account"], json!("alice"));
    }
    let password = workspace.run(&["account", "password", "alice@example.org"]);
    assert!(password.starts_with("password of alice changed"), "{password}");

    for (unknown, problem) in [
        ("carol", "there is no account \"carol\"; see belfry account list"),
        ("7", "there is no account with the name or the id \"7\"; see belfry account list"),
        ("#7", "there is no account with the id \"#7\""),
        ("@carol:ring.example", "there is no account \"@carol:ring.example\"; see"),
        (
            "@alice:other.example",
            "\"@alice:other.example\" is a user on \"other.example\", but this server's name is \
             \"ring.example\"; check server_name and base_url",
        ),
        (
            "b@x.org",
            "there is no account with the verified e-mail address \"b@x.org\"; belfry account \
             list --email b@x.org shows unverified ones too",
        ),
    ] {
        for command in [&["account", "delete", unknown][..], &["token", "issue", unknown]] {
            let message = workspace.fail(command);
            assert!(message.starts_with(&format!("belfry: {problem}")), "{unknown}: {message}");
        }
    }
    assert!(workspace.run(&["account", "delete", &id]).starts_with("account alice deleted"));
}

/// Anyone can sign up with such a name, and must not be mistaken for the other account.
async fn a_name_that_is_the_id_of_another_account_is_ambiguous(workspace: Workspace) {
    workspace.run(&["account", "add", "alice"]);
    let id = workspace.json(&["account", "show", "alice"])[0]["id"].as_str().unwrap().to_owned();
    workspace.run(&["account", "add", &id]);
    let message = workspace.fail(&["account", "role", &id, "admin"]);
    let expected = format!(
        "belfry: {id} is the name of an account and the id of another, alice; write '@{id}' for \
         the name, or '#{id}' for the id\n"
    );
    assert_eq!(message, expected);
    let name = |account: &str| workspace.json(&["account", "show", account])[0]["name"].clone();
    assert_eq!((name(&format!("@{id}")), name(&format!("#{id}"))), (json!(id), json!("alice")));
}

#[test]
fn help_lists_the_ways_to_select_an_account() {
    let workspace = Workspace::sqlite();
    for command in [&["account", "show"][..], &["token", "issue"], &["explain"], &["audit"]] {
        let help = belfry(workspace.path(), &[command, &["--help"]].concat()).output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("its name, id, e-mail address or user id"), "{help}");
    }
}
