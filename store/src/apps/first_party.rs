//! Apps that the server creates for tokens issued without OAuth. Client ids of registered apps are
//! random, so that these are recognised by theirs.

/// The client id of the app that tokens of Matrix clients belong to.
pub const MATRIX_CLIENT_ID: &str = "matrix";
/// Prefix of the client ids of command-line apps; the title follows.
pub const COMMAND_LINE_PREFIX: &str = "cli:";

/// Whether the server created an app, in statements about `apps`.
macro_rules! is_first_party {
    () => {
        "(client_id = 'matrix' or client_id like 'cli:%')"
    };
}

pub(crate) use is_first_party;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_the_client_ids_of_first_party_apps() {
        let expected = format!(
            "(client_id = '{MATRIX_CLIENT_ID}' or client_id like '{COMMAND_LINE_PREFIX}%')"
        );
        assert_eq!(is_first_party!(), expected);
    }
}
