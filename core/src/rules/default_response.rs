//! Response of `GET /pushrules/` for a user without rules of their own.
//!
//! Most users have none. Serialising the built-in rules takes longer than all other work of such a
//! request, and caching the response would take 3 KB per user. So it is serialised once, with
//! placeholders that are replaced by the id and the localpart of each user.

use std::sync::LazyLock;

use super::builtin::{LOCALPART, USER_ID};
use super::{RulesetsResponse, User};
use crate::json;

/// Serialises the response for this user.
pub fn default_response(user: User<'_>) -> Vec<u8> {
    static TEMPLATE: LazyLock<String> =
        LazyLock::new(|| serialize(User { id: USER_ID, localpart: LOCALPART }));
    let quote = |text: &str| format!("\"{text}\"");
    let [id, localpart] = [user.id, user.localpart].map(|name| json::to_bytes(&name));
    let [id, localpart] = [id, localpart].map(|name| String::from_utf8(name).expect("UTF-8"));
    TEMPLATE.replace(&quote(USER_ID), &id).replace(&quote(LOCALPART), &localpart).into_bytes()
}

fn serialize(user: User<'_>) -> String {
    String::from_utf8(json::to_bytes(&RulesetsResponse::new([], user))).expect("UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_response_equals_the_serialised_rules() {
        for id in
            ["@alice:ring.example", "@a:[::1]:8448", "@\"\\:x", "@<user id>:x", "@<localpart>:x"]
        {
            let user = User::new(id);
            let response = String::from_utf8(default_response(user)).unwrap();
            assert_eq!(response, serialize(user), "{id}");
        }
    }
}
