//! A Belfry as a row wants it: with these settings, accounts and engines.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use test_engines::Redis;

use super::Bench;
use super::belfry::Belfry;
use super::request::Request;
use super::served::Served;

/// What a Belfry starts with.
#[derive(Clone, Copy)]
pub(super) struct Setup {
    /// For `belfry serve`, beside its address and data.
    pub serve: &'static [&'static str],
    /// What stands in `belfry.toml`.
    pub settings: &'static str,
    /// How many accounts there are before it starts, each with a token: `{account}` is one of
    /// them at random, `bench-{account}` its token.
    pub accounts: u32,
    /// Whether each of them has ten rules of its own.
    pub rules: bool,
    /// Where calls are counted.
    pub counters: Counters,
    /// Puts into the running Belfry what the request needs, and makes the request.
    pub prepare: fn(&Belfry) -> io::Result<Request>,
}

/// Where calls are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Counters {
    /// In the process.
    Memory,
    /// In a Redis, which fares like this once calls have begun.
    Redis(Health),
}

/// How an engine fares.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    Well,
    /// It takes connections and answers nothing.
    Hangs,
    Gone,
}

/// A server under load, and what it is asked.
pub(super) struct Running {
    server: Server,
    pub request: Request,
    redis: Option<Redis>,
    counters: Counters,
}

enum Server {
    Belfry(Belfry),
    /// With the folder where its files are.
    Bare(Served, PathBuf),
}

impl Setup {
    pub(super) fn start(&self, bench: &Bench) -> io::Result<Running> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("belfry.toml"), self.settings)?;
        if self.accounts > 0 {
            self.fill(&bench.parts, folder.path())?;
        }
        let redis = match self.counters {
            Counters::Memory => None,
            Counters::Redis(_) => Some(Redis::start().map_err(io::Error::other)?),
        };
        let url = redis.as_ref().map(Redis::url);
        let redis_flag = url.as_ref().map(|url| ["--redis", url.as_str()]);
        let serve: Vec<&str> =
            self.serve.iter().copied().chain(redis_flag.into_iter().flatten()).collect();
        let belfry = Belfry::start_in(folder, &bench.belfry, &serve)?;
        let request = Request { accounts: self.accounts, ..(self.prepare)(&belfry)? };
        let server = Server::Belfry(belfry);
        Ok(Running { server, request, redis, counters: self.counters })
    }

    /// Puts accounts into the data folder.
    fn fill(&self, parts: &Path, folder: &Path) -> io::Result<()> {
        let mut command = Command::new(parts);
        command.current_dir(folder).arg("fill").arg(self.accounts.to_string());
        if self.rules {
            command.arg("--rules");
        }
        let status = command.status()?;
        if status.success() { Ok(()) } else { Err(io::Error::other("the accounts were not added")) }
    }
}

impl Running {
    /// A server that does nothing but give the same answers as this one.
    pub(super) fn bare(&self, program: &Path) -> io::Result<Self> {
        let Server::Belfry(belfry) = &self.server else {
            return Err(io::Error::other("a bare server has no settings"));
        };
        let answer = belfry.ask(&self.request)?;
        let folder = belfry.folder();
        let body = folder.join("body");
        fs::write(&body, &answer.body)?;
        let mut command = Command::new(program);
        command.args(["--listen", "127.0.0.1:0", "--status", &answer.status.to_string()]);
        command.arg("--body-file").arg(body);
        for (name, value) in &answer.headers {
            // These are the connection's; the bare server has its own.
            if !["connection", "content-length", "date"].contains(&name.as_str()) {
                command.arg("--header").arg(format!("{name}:{value}"));
            }
        }
        let server = Server::Bare(Served::start(command, folder)?, folder.to_owned());
        let (request, counters) = (self.request.clone(), Counters::Memory);
        Ok(Self { server, request, redis: None, counters })
    }

    pub(super) fn served(&self) -> &Served {
        match &self.server {
            Server::Belfry(belfry) => &belfry.served,
            Server::Bare(served, _) => served,
        }
    }

    /// Where its files are.
    pub(super) fn folder(&self) -> &Path {
        match &self.server {
            Server::Belfry(belfry) => belfry.folder(),
            Server::Bare(_, folder) => folder,
        }
    }

    /// Starts a Belfry again, so that nothing is in its memory.
    pub(super) fn start_again(&mut self) -> io::Result<()> {
        match &mut self.server {
            Server::Belfry(belfry) => belfry.start_again(),
            Server::Bare(..) => Ok(()),
        }
    }

    /// Lets its engine fare as the row is about.
    pub(super) fn let_fare(&mut self) -> io::Result<()> {
        let Some(redis) = &mut self.redis else { return Ok(()) };
        let done = match self.counters {
            Counters::Redis(Health::Hangs) => redis.pause(),
            Counters::Redis(Health::Gone) => redis.stop(),
            Counters::Redis(Health::Well) | Counters::Memory => Ok(()),
        };
        done.map_err(io::Error::other)
    }
}
