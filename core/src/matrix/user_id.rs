//! The id of a user: `@name:server`.

/// The id of an account of this server.
#[must_use]
pub fn user_id(name: &str, server_name: &str) -> String {
    ["@", name, ":", server_name].concat()
}

/// The account that an id names, if it is one of this server.
#[must_use]
pub fn localpart<'a>(id: &'a str, server_name: &str) -> Option<&'a str> {
    let (localpart, server) = id.strip_prefix('@')?.split_once(':')?;
    (server == server_name && !localpart.is_empty()).then_some(localpart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_an_account_of_its_own_server_only() {
        for (id, name) in [
            (user_id("alice", "x.org:8448").as_str(), Some("alice")),
            ("@alice:x.org", None),
            ("@alice", None),
            ("alice:x.org:8448", None),
            ("@:x.org:8448", None),
            ("", None),
        ] {
            assert_eq!(localpart(id, "x.org:8448"), name, "{id}");
        }
    }
}
