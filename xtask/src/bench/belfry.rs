//! A Belfry on fresh data, and its command line.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::http::{self, Response};
use super::request::Request;
use super::served::Served;

/// A running Belfry on data of its own.
pub(super) struct Belfry {
    pub served: Served,
    folder: TempDir,
    program: PathBuf,
    arguments: Vec<String>,
}

impl Belfry {
    /// Starts it with `arguments` for `serve`.
    pub(super) fn start(program: &Path, arguments: &[&str]) -> io::Result<Self> {
        Self::start_in(tempfile::tempdir()?, program, arguments)
    }

    /// Starts it in a folder that may hold settings and data.
    pub(super) fn start_in(
        folder: TempDir,
        program: &Path,
        arguments: &[&str],
    ) -> io::Result<Self> {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.into()).collect();
        let served = serve(program, &folder, &arguments)?;
        Ok(Self { served, folder, program: program.to_owned(), arguments })
    }

    /// Starts it again on the same data, at another address.
    pub(super) fn start_again(&mut self) -> io::Result<()> {
        self.served.stop()?;
        self.served = serve(&self.program, &self.folder, &self.arguments)?;
        Ok(())
    }

    /// Runs a command of Belfry's on the same data; what it printed, without the last newline.
    pub(super) fn command(&self, arguments: &[&str]) -> io::Result<String> {
        let output = command(&self.program, &self.folder, arguments).output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
        }
        let error = String::from_utf8_lossy(&output.stderr);
        Err(io::Error::other(format!("belfry {}: {error}", arguments.join(" "))))
    }

    /// Sends the request once; an answer that it does not accept is an error.
    pub(super) fn ask(&self, request: &Request) -> io::Result<Response> {
        let response = http::send(self.served.address, request)?;
        if request.accepts(response.status) {
            return Ok(response);
        }
        let body = String::from_utf8_lossy(&response.body);
        let Request { method, path, .. } = request;
        Err(io::Error::other(format!("{method} {path} answers {}: {body}", response.status)))
    }

    /// Where a row may keep its files.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

fn serve(program: &Path, folder: &TempDir, arguments: &[String]) -> io::Result<Served> {
    let mut serve = command(program, folder, &["serve", "--listen", "127.0.0.1:0"]);
    serve.args(arguments);
    Served::start(serve, folder.path())
}

/// Away from the repository, so that no `belfry.toml` of the person's is read.
fn command(program: &Path, folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).arg("--data").arg(folder.path().join("data"));
    command.current_dir(folder.path());
    crate::cargo::forget_foreign(&mut command);
    command
}
