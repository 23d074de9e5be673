//! Starts the servers of a benchmark row: Belfry, and the reference server, which returns a fixed
//! response.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use test_engines::{Redis, Server};

use super::Build;
use super::request::{Request, Response};
use crate::cargo;

/// A file in the directory of an [`Instance`]. When Belfry starts, it trusts only the certificate
/// authority in this file, if it exists.
pub(super) const AUTHORITY_FILE: &str = "authority.pem";

/// The configuration and data of a server, and the request to measure.
#[derive(Clone, Copy)]
pub(super) struct Setup {
    /// Arguments of `belfry serve`, in addition to `--listen` and `--redis`.
    pub arguments: &'static [&'static str],
    /// The contents of `belfry.toml`.
    pub settings: &'static str,
    /// The number of accounts to create. In a request, `{account}` is a random account number and
    /// `{token}` its access token.
    pub account_count: u32,
    /// True if each of these accounts has ten push rules.
    pub has_rules: bool,
    /// True if rate limits are counted in Redis.
    pub uses_redis: bool,
    pub prepare: fn(&RunningBelfry) -> io::Result<Request>,
}

/// A running server, and the request to load it with.
pub(super) struct Instance {
    server: Option<Server>,
    command: Box<dyn Fn() -> Command>,
    dir: PathBuf,
    pub request: Request,
    _redis: Option<Redis>,
    _dir: Option<TempDir>,
}

impl Setup {
    /// Creates the data and starts Belfry.
    pub(super) fn start(&self, build: &Build) -> io::Result<Instance> {
        let dir = tempfile::tempdir()?;
        fs::write(dir.path().join("belfry.toml"), self.settings)?;
        let token_template = self.add_accounts(build, dir.path())?;
        let redis =
            if self.uses_redis { Some(Redis::start().map_err(io::Error::other)?) } else { None };
        let redis_url = redis.as_ref().map(Redis::url);
        let program = build.belfry.clone();
        let path = dir.path().to_owned();
        let arguments = self.arguments;
        let command = move || {
            let mut command =
                belfry_command(&program, &path, &["serve", "--listen", "127.0.0.1:0"]);
            command.args(arguments);
            if let Some(url) = &redis_url {
                command.args(["--redis", url]);
            }
            let authority_file = path.join(AUTHORITY_FILE);
            if authority_file.exists() {
                command.env("SSL_CERT_FILE", authority_file);
            }
            command
        };
        let server = Server::start(command(), dir.path())?;
        let belfry = RunningBelfry { server: &server, program: &build.belfry, dir: dir.path() };
        let request = (self.prepare)(&belfry)?.with_accounts(self.account_count, &token_template);
        Ok(Instance {
            server: Some(server),
            command: Box::new(command),
            dir: dir.path().to_owned(),
            request,
            _redis: redis,
            _dir: Some(dir),
        })
    }

    /// Adds accounts to the data directory, and returns the template of their access tokens, in which
    /// `{padded}` stands for the account number with ten digits.
    fn add_accounts(&self, build: &Build, dir: &Path) -> io::Result<String> {
        if self.account_count == 0 {
            return Ok(String::new());
        }
        let bench = &build.bench;
        let mut command = Command::new(bench);
        command.current_dir(dir).arg("fill").arg(self.account_count.to_string());
        if self.has_rules {
            command.arg("--rules");
        }
        let output = command
            .output()
            .map_err(|error| io::Error::other(format!("{}: {error}", bench.display())))?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            return Err(io::Error::other(format!("cannot add accounts: {error}")));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

impl Instance {
    /// Starts a reference server that returns the same response as this one.
    pub(super) fn start_reference(&self, program: &Path) -> io::Result<Self> {
        let response = self.request.send(self.server()?.address)?;
        let body = self.dir.join("body");
        fs::write(&body, response.body)?;
        // The reference server adds these headers itself.
        let own_headers = ["connection", "content-length", "date"];
        let headers: Vec<String> = response
            .headers
            .iter()
            .filter(|(name, _)| !own_headers.contains(&name.as_str()))
            .map(|(name, value)| format!("{name}:{value}"))
            .collect();
        let program = program.to_owned();
        let status = response.status.to_string();
        let command = move || {
            let mut command = Command::new(&program);
            command.args(["--listen", "127.0.0.1:0", "--status", &status]);
            command.arg("--body-file").arg(&body);
            for header in &headers {
                command.args(["--header", header]);
            }
            command
        };
        Ok(Self {
            server: Some(Server::start(command(), &self.dir)?),
            command: Box::new(command),
            dir: self.dir.clone(),
            request: self.request.clone(),
            _redis: None,
            _dir: None,
        })
    }

    /// Restarts the server with the same data, on a different port.
    pub(super) fn restart(&mut self) -> io::Result<()> {
        self.server = None;
        self.server = Some(Server::start((self.command)(), &self.dir)?);
        Ok(())
    }

    pub(super) fn server(&self) -> io::Result<&Server> {
        self.server.as_ref().ok_or_else(|| io::Error::other("the server did not restart"))
    }

    /// Returns the directory for this server's files.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }
}

/// A running Belfry server, which a benchmark row prepares.
pub(super) struct RunningBelfry<'a> {
    server: &'a Server,
    program: &'a Path,
    dir: &'a Path,
}

impl RunningBelfry<'_> {
    /// Runs a `belfry` command on the same data and returns its output.
    pub(super) fn run(&self, arguments: &[&str]) -> io::Result<String> {
        let output = belfry_command(self.program, self.dir, arguments).output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
        }
        let error = String::from_utf8_lossy(&output.stderr);
        Err(io::Error::other(format!("belfry {}: {error}", arguments.join(" "))))
    }

    pub(super) fn send(&self, request: &Request) -> io::Result<Response> {
        request.send(self.server.address)
    }
}

/// Creates a `belfry` command that runs in `dir` and uses the data and the `belfry.toml` there.
pub(super) fn belfry_command(program: &Path, dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(dir);
    cargo::remove_inherited_variables(&mut command);
    command
}
