//! Detection of misspelt keys and parameters where unknown ones are allowed.

/// Matrix keys that resemble keys of this API. They are accepted, because Matrix clients copy
/// members of an event or a response into a request.
const MATRIX_KEYS: [&str; 4] = ["creator", "events", "rooms", "user_ids"];

/// Returns the known key that `key` probably misspells: it has one character added, removed or
/// replaced, or two adjacent ones swapped. Case, `_` and `-` are ignored, but the lengths may
/// differ by at most two bytes. A key with a dot is namespaced, such as `org.example.until`, and
/// never counts as misspelt.
pub(crate) fn find_suggestion<'a>(key: &str, known_keys: &[&'a str]) -> Option<&'a str> {
    if key.contains('.') || known_keys.contains(&key) || MATRIX_KEYS.contains(&key) {
        return None;
    }
    let is_suggestion = |known: &&&str| {
        key.len().abs_diff(known.len()) <= 2
            && is_within_one_edit(&normalize_key(key), &normalize_key(known))
    };
    known_keys.iter().find(is_suggestion).copied()
}

/// Returns a key in lower case and without separators, for comparisons.
fn normalize_key(key: &str) -> Vec<char> {
    key.to_lowercase().chars().filter(|c| !matches!(c, '_' | '-')).collect()
}

/// Returns whether at most one edit makes two words equal.
fn is_within_one_edit(first: &[char], second: &[char]) -> bool {
    let prefix = first.iter().zip(second).take_while(|(a, b)| a == b).count();
    let first = &first[prefix..];
    let second = &second[prefix..];
    let suffix = first.iter().rev().zip(second.iter().rev()).take_while(|(a, b)| a == b).count();
    match (&first[..first.len() - suffix], &second[..second.len() - suffix]) {
        ([a, b], [c, d]) => (a, b) == (d, c),
        (first, second) => first.len() <= 1 && second.len() <= 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_one_edit_from_a_known_one_is_misspelt() {
        let known_keys = ["until", "room", "member_count", "user_id", "event", "display_name"];
        for (key, suggestion) in [
            // One character added, removed or replaced, or two swapped.
            ("untill", Some("until")),
            ("ntil", Some("until")),
            ("untii", Some("until")),
            ("utnil", Some("until")),
            ("rom", Some("room")),
            ("oroom", Some("room")),
            ("eveñt", Some("event")),
            ("member_cuont", Some("member_count")),
            // Case and separators.
            ("Until", Some("until")),
            ("memberCount", Some("member_count")),
            ("member-count", Some("member_count")),
            ("displayName", Some("display_name")),
            ("displayname", Some("display_name")),
            ("userid", Some("user_id")),
            // Known keys.
            ("until", None),
            ("room", None),
            // Two or more edits.
            ("util_l", None),
            ("unlit", None),
            ("rm", None),
            ("x", None),
            ("", None),
            // Too different in length.
            ("____until____", None),
            // Other Matrix keys, and namespaced keys.
            ("events", None),
            ("rooms", None),
            ("user_ids", None),
            ("room_id", None),
            ("actions", None),
            ("conditions", None),
            ("pattern", None),
            ("rule_id", None),
            ("default", None),
            ("enabled", None),
            ("org.example.until", None),
            (".until", None),
        ] {
            assert_eq!(find_suggestion(key, &known_keys), suggestion, "{key}");
        }
        assert_eq!(find_suggestion("creator", &["creators"]), None);
    }
}
