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
    describe_error(path, None, error)
}

/// Describes why the data directory or a file in it cannot be read, written or created. The remedy
/// for a missing permission covers all files of the directory.
pub fn describe_data_error(data_dir: &Path, path: &Path, error: &io::Error) -> String {
    describe_error(path, Some(data_dir), error)
}

fn describe_error(path: &Path, data_dir: Option<&Path>, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => describe_denial(path, data_dir),
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

fn describe_denial(path: &Path, data_dir: Option<&Path>) -> String {
    let absolute_path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    // The file itself; if it is missing or not accessible, the nearest accessible directory above.
    let nearest = absolute_path.ancestors().find_map(|path| Some((path, fs::metadata(path).ok()?)));
    let Some((nearest_path, metadata)) = nearest else { return "permission denied".to_owned() };
    let process_uid = geteuid().as_raw();
    let parent_metadata = nearest_path.parent().and_then(|parent| fs::metadata(parent).ok());
    let nearest_path = nearest_path.display();
    let passwd = read_passwd();
    let this_user = describe_user(&passwd, process_uid);
    if metadata.uid() == process_uid {
        let mode = metadata.mode() & 0o7777;
        return format!(
            "permission denied: {nearest_path} belongs to {this_user}, the user of this process, \
             but has mode {mode:04o}; change it with chmod"
        );
    }
    let owner = describe_user(&passwd, metadata.uid());
    let run_as_owner =
        format!("run it as the owner (sudo -u {} belfry …)", sudo_name(&passwd, metadata.uid()));
    // `None` if the data directory is not accessible. No remedy is given for the directories above
    // it, because they may contain other data.
    let data_dir =
        data_dir.and_then(|dir| Some((std::path::absolute(dir).ok()?, dir.try_exists().ok()?)));
    let remedy = match data_dir {
        Some((data_dir, exists)) => {
            let name = find_user_name(&passwd, process_uid)
                .map_or_else(|| process_uid.to_string(), str::to_owned);
            let data_owner = fs::metadata(&data_dir).map(|metadata| metadata.uid()).ok();
            let data_dir = data_dir.display();
            let chown = format!("change the owner of all files (chown -R {name} {data_dir})");
            match metadata.uid() {
                _ if !exists => {
                    format!(
                        "create the directory as root (install -d -m 0700 -o {name} {data_dir})"
                    )
                }
                // Another user ran the command that created the file.
                _ if data_owner == Some(process_uid) => chown,
                0 => format!("{chown}, or {run_as_owner}"),
                _ => format!("{run_as_owner}, or {chown}"),
            }
        }
        None if parent_metadata.is_some_and(|metadata| metadata.uid() == process_uid) => {
            "change the owner with chown".to_owned()
        }
        None => format!("{run_as_owner}, or give this user access with chown or chmod"),
    };
    format!(
        "permission denied: {nearest_path} belongs to {owner}, but belfry runs as {this_user}; \
         {remedy}"
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
