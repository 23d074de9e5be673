//! Running external programs, such as gzip and sha256sum.

use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

use crate::PackagingError;

/// Runs a command that must succeed, and returns its output.
pub(crate) fn run(command: &mut Command) -> Result<String, PackagingError> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", program_name(command.get_program())))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "{}: {}\n{reason}",
            program_name(command.get_program()),
            output.status
        )
        .into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Compresses the data, without a file name and time, so the result depends only on the data.
pub(crate) fn gzip(data: &[u8]) -> Result<Vec<u8>, PackagingError> {
    pipe_through("gzip", &["--no-name"], data)
}

/// Returns the SHA-256 digest in hexadecimal.
pub(crate) fn sha256(data: &[u8]) -> Result<String, PackagingError> {
    digest("sha256sum", data)
}

/// Returns the MD5 digest in hexadecimal. dpkg uses it to verify installed files.
pub(crate) fn md5(data: &[u8]) -> Result<String, PackagingError> {
    digest("md5sum", data)
}

fn digest(program: &str, data: &[u8]) -> Result<String, PackagingError> {
    let line = String::from_utf8(pipe_through(program, &[], data)?)?;
    Ok(line.split_whitespace().next().unwrap_or_default().to_owned())
}

/// Passes the data through a program.
fn pipe_through(program: &str, arguments: &[&str], data: &[u8]) -> Result<Vec<u8>, PackagingError> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{program}: {error}"))?;
    let input = child.stdin.take();
    let output = thread::scope(|scope| {
        // In a thread, because the program may write output before it has read all input.
        scope.spawn(move || input.map(|mut input| input.write_all(data)));
        child.wait_with_output()
    })?;
    if !output.status.success() {
        return Err(format!("{program}: {}", output.status).into());
    }
    Ok(output.stdout)
}

fn program_name(program: &OsStr) -> String {
    program.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_of_known_data_are_correct() {
        let sha256_of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc").unwrap(), sha256_of_abc);
        assert_eq!(md5(b"abc").unwrap(), "900150983cd24fb0d6963f7d28e17f72");
    }

    #[test]
    fn data_larger_than_a_pipe_buffer_is_compressed_reproducibly() {
        let data = vec![7; 1_000_000];
        let compressed = gzip(&data).unwrap();
        assert!(compressed.len() < 10_000 && compressed.starts_with(&[0x1f, 0x8b]));
        assert_eq!(gzip(&data).unwrap(), compressed);
    }

    #[test]
    fn an_error_names_the_program_that_failed() {
        let error = run(&mut Command::new("no-such-program")).unwrap_err().to_string();
        assert!(error.starts_with("no-such-program: "), "{error}");
        let error = run(Command::new("sh").args(["-c", "echo why >&2; exit 3"])).unwrap_err();
        assert_eq!(error.to_string(), "sh: exit status: 3\nwhy\n");
    }
}
