//! Matrix user ids: `@localpart:server`.

/// Formats the user id of an account.
pub fn user_id(name: &str, server_name: &str) -> String {
    ["@", name, ":", server_name].concat()
}

/// Returns the localpart of a user id, or `None` if the id belongs to another server.
pub fn localpart<'a>(id: &'a str, server_name: &str) -> Option<&'a str> {
    let (localpart, server) = id.strip_prefix('@')?.split_once(':')?;
    (server == server_name && !localpart.is_empty()).then_some(localpart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn localpart_is_returned_for_ids_of_this_server_only() {
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
