//! `belfry token …`

use belfry_core::secret::SplitToken;
use belfry_store::test::options;
use belfry_store::{Database, Store};
use jiff::{SignedDuration, Timestamp};

use super::Workspace;
use crate::support::process::{add_account, run_successfully};

/// Arguments are visible to every user of the machine.
#[test]
fn a_token_can_be_revoked_without_naming_it_in_the_arguments() {
    let workspace = Workspace::sqlite();
    workspace.run(&["account", "add", "alice"]);
    let revoke = |argument: &str, input: &str| {
        let output = workspace.run_with_input(&["token", "revoke", argument], input);
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    for argument in ["--stdin", "-"] {
        let token = workspace.run(&["token", "issue", "alice"]);
        assert_eq!(revoke(argument, &token), "token revoked\n");
        assert_eq!(
            revoke(argument, "x\n"),
            "belfry: no such token: it is incomplete, or it was deleted with its app or account\n"
        );
    }
    assert!(revoke("--stdin=x", "").contains("error: "));
}

#[tokio::test]
async fn a_token_issued_on_the_command_line_has_the_configured_lifetime() {
    let dir = tempfile::tempdir().unwrap();
    add_account(dir.path(), "alice");
    for (settings, lifetime) in
        [("", None), ("[oauth]\ntoken_lifetime = \"1h\"\n", Some(SignedDuration::from_hours(1)))]
    {
        std::fs::write(dir.path().join("belfry.toml"), settings).unwrap();
        let token = run_successfully(dir.path(), &["token", "issue", "alice"]);
        let database = Database::Sqlite(dir.path().join("data").join("belfry.db"));
        let store = Store::open(&database, &options(), Timestamp::UNIX_EPOCH).await.unwrap();
        let stored_token = store
            .token(SplitToken::parse(token.trim()).unwrap().hashed_secret())
            .await
            .unwrap()
            .unwrap();
        let actual_lifetime =
            stored_token.expires_at.map(|expiry| expiry.duration_since(stored_token.created_at));
        assert_eq!(actual_lifetime, lifetime, "{settings}");
    }
}
