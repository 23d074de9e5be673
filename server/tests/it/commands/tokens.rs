//! `belfry token …`

use super::Workspace;

#[test]
fn an_unknown_scope_is_rejected() {
    let workspace = Workspace::sqlite();
    workspace.run(&["account", "add", "alice"]);
    let message = workspace.fail(&["token", "issue", "alice", "--scopes", "read everything"]);
    assert!(message.contains("everything"), "{message}");
}

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
