//! The user that this process runs as, for messages about files.

use std::fs;

use rustix::process::geteuid;

/// The name and the user's id: `belfry (uid 998)`. Without a line in `/etc/passwd`, as in many
/// containers, the id alone.
pub fn process_user() -> String {
    let id = geteuid().as_raw();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    match find_name(&users, id) {
        Some(name) => format!("{name} (uid {id})"),
        None => format!("uid {id}"),
    }
}

fn find_name(users: &str, id: u32) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, found) = (fields.next()?, fields.nth(1)?);
        (found.parse() == Ok(id)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_id() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbelfry:x:998:998::/:/usr/sbin/nologin\n";
        assert_eq!(find_name(users, 998), Some("belfry"));
        assert_eq!(find_name(users, 0), Some("root"));
        assert_eq!(find_name(users, 65_532), None);
        assert_eq!(find_name("", 0), None);
    }
}
