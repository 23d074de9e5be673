//! Checks of file access, and descriptions of file errors for the operator.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::process::geteuid;

/// Describes why a file cannot be read, written or created. For a missing permission, names the
/// owner of the file or directory, the user that this process runs as, and a remedy.
pub fn describe_file_error(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => describe_denial(path),
        io::ErrorKind::ReadOnlyFilesystem => format!(
            "{} is on a read-only file system; remount it read-write (if the kernel made it \
             read-only after an error, dmesg shows the cause)",
            path.display()
        ),
        _ => error.to_string(),
    }
}

/// Checks that this process may read a file, or reach the files in a directory.
///
/// # Errors
/// If access is denied, or the file does not exist.
pub fn check_readable(path: &Path) -> io::Result<()> {
    check_access(path, if path.is_dir() { Access::EXEC_OK } else { Access::READ_OK })
}

/// Checks that this process may write a file, or create files in a directory.
///
/// # Errors
/// If access is denied, or the file does not exist.
pub fn check_writable(path: &Path) -> io::Result<()> {
    let search_access = if path.is_dir() { Access::EXEC_OK } else { Access::empty() };
    check_access(path, Access::WRITE_OK | search_access)
}

/// Checks that root does not create files in a directory of another user, who could not read
/// them. A missing directory is fine: it will belong to the user of this process.
///
/// # Errors
/// A message with the owner and the command to run instead.
pub fn reject_root_in_directory_of_other_user(directory: &Path) -> Result<(), String> {
    let owner = fs::metadata(directory).map_or(0, |metadata| metadata.uid());
    if owner == 0 || !geteuid().is_root() {
        return Ok(());
    }
    let passwd = read_passwd();
    Err(format!(
        "{} belongs to {}, who could not read root's files; run belfry as the owner: sudo -u {} belfry …",
        directory.display(),
        describe_user(&passwd, owner),
        sudo_name(&passwd, owner),
    ))
}

fn check_access(path: &Path, access: Access) -> io::Result<()> {
    Ok(accessat(CWD, path, access, AtFlags::EACCESS)?)
}

fn describe_denial(path: &Path) -> String {
    let absolute_path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    // The file itself; if it is missing or not accessible, the nearest accessible directory above.
    let nearest = absolute_path.ancestors().find_map(|path| Some((path, fs::metadata(path).ok()?)));
    let Some((nearest_path, metadata)) = nearest else { return "permission denied".to_owned() };
    let (path, owner, process_uid) = (nearest_path.display(), metadata.uid(), geteuid().as_raw());
    let passwd = read_passwd();
    let this_user = describe_user(&passwd, process_uid);
    if owner == process_uid {
        let mode = metadata.mode() & 0o7777;
        return format!(
            "permission denied: {path} belongs to {this_user}, the user of this process, but has \
             mode {mode:04o}; change it with chmod"
        );
    }
    format!(
        "permission denied: {path} belongs to {}, but belfry runs as {this_user}; run it as the \
         owner (sudo -u {} belfry …), or give this user access with chown or chmod",
        describe_user(&passwd, owner),
        sudo_name(&passwd, owner),
    )
}

fn read_passwd() -> String {
    fs::read_to_string("/etc/passwd").unwrap_or_default()
}

/// Returns the argument for `sudo -u` that selects this user.
fn sudo_name(passwd: &str, id: u32) -> String {
    find_user_name(passwd, id).map_or_else(|| format!("'#{id}'"), str::to_owned)
}

/// Returns the name and the id of a user: `belfry (uid 998)`. A user without a line in
/// `/etc/passwd`, as in many containers, has only an id.
fn describe_user(passwd: &str, id: u32) -> String {
    match find_user_name(passwd, id) {
        Some(name) => format!("{name} (uid {id})"),
        None => format!("uid {id}"),
    }
}

fn find_user_name(passwd: &str, id: u32) -> Option<&str> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let uid = fields.nth(1)?;
        (uid.parse() == Ok(id)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_described_by_name_and_id() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nbelfry:x:998:998::/:/usr/sbin/nologin\n";
        assert_eq!(describe_user(passwd, 998), "belfry (uid 998)");
        assert_eq!(describe_user(passwd, 0), "root (uid 0)");
        assert_eq!(describe_user(passwd, 65_532), "uid 65532");
        assert_eq!(describe_user("", 0), "uid 0");
    }
}
