//! Rows that load a path of Belfry and a bare server, in alternation.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use xtask::engines::Redis;
use xtask::folder::Folder;

use super::Bench;
use super::belfry::Belfry;
use super::http::Response;
use super::median::median;
use super::request::Request;
use super::served::Served;
use super::table::table;
use super::wrk::{self, Seen};

/// How often each side is loaded.
pub(super) const ROUNDS: u32 = 9;

/// A path under load.
pub(super) struct Load {
    pub name: &'static str,
    pub connections: u16,
    /// The least part of the bare server's throughput that we want; 0 where it is not about that.
    pub floor: f64,
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

/// Where the calls of a row are counted.
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

const HEAD: &[&str] = &[
    "path", "ours/s", "bare/s", "ratio", "floor", "", "p50 ms", "p99 ms", "CPU µs", "bare µs",
    "peak MB",
];

/// Measures the rows and prints the table; true if all could be measured.
pub(super) fn measure_all(bench: &Bench, loads: &[&Load]) -> bool {
    let mut rows = vec![];
    for load in loads {
        match load.measure(bench) {
            Ok(row) => rows.push(row),
            Err(error) => println!("{}: {error}", load.name),
        }
    }
    println!("\n{}", table(HEAD, &rows));
    rows.len() == loads.len()
}

/// One side of one round.
#[derive(Clone, Copy)]
struct Side {
    seen: Seen,
    /// Processor time for each call, which a busy machine changes less than anything else.
    cpu_us: f64,
}

impl Load {
    fn measure(&self, bench: &Bench) -> io::Result<Vec<String>> {
        println!("{} …", self.name);
        let folder = Folder::new("belfry-bench")?;
        fs::write(folder.path().join("belfry.toml"), self.settings)?;
        if self.accounts > 0 {
            self.fill(&bench.parts, folder.path())?;
        }
        let mut redis = match self.counters {
            Counters::Memory => None,
            Counters::Redis(_) => Some(Redis::start().map_err(io::Error::other)?),
        };
        let url = redis.as_ref().map(Redis::url);
        let redis_flag = url.as_ref().map(|url| ["--redis", url.as_str()]);
        let serve: Vec<&str> =
            self.serve.iter().copied().chain(redis_flag.into_iter().flatten()).collect();
        let belfry = Belfry::start_in(folder, &bench.belfry, &serve)?;
        let request = Request { accounts: self.accounts, ..(self.prepare)(&belfry)? };
        let answer = belfry.ask(&request)?;
        let bare = bare(&bench.bare, &answer, belfry.folder())?;

        let (mut ours, mut theirs) = (vec![], vec![]);
        let script = belfry.folder().join("load.lua");
        for round in 0..=ROUNDS {
            fs::write(&script, request.script(round))?;
            // The first, a short one, only warms up.
            let seconds = if round == 0 { 1 } else { bench.seconds };
            let load = |served: &Served| -> io::Result<Side> {
                let before = served.cpu_us();
                let seen = wrk::load(served.address, &script, self.connections, seconds)?;
                Ok(Side { seen, cpu_us: (served.cpu_us() - before) / seen.calls })
            };
            // Whoever is first changes, so that a machine that slows down is unfair to both.
            let (our, their) = if round % 2 == 0 {
                let our = load(&belfry.served)?;
                (our, load(&bare)?)
            } else {
                let their = load(&bare)?;
                (load(&belfry.served)?, their)
            };
            if round > 0 {
                ours.push(our);
                theirs.push(their);
            } else if let Some(redis) = &mut redis {
                self.let_fare(redis)?;
            }
        }
        Ok(self.row(&request, &ours, &theirs, belfry.served.peak_memory()))
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

    fn let_fare(&self, redis: &mut Redis) -> io::Result<()> {
        let done = match self.counters {
            Counters::Redis(Health::Hangs) => redis.pause(),
            Counters::Redis(Health::Gone) => redis.stop(),
            Counters::Redis(Health::Well) | Counters::Memory => Ok(()),
        };
        done.map_err(io::Error::other)
    }

    fn row(&self, request: &Request, ours: &[Side], bare: &[Side], peak: f64) -> Vec<String> {
        let middle = |sides: &[Side], figure: fn(&Side) -> f64| median(sides.iter().map(figure));
        let rate = |sides| middle(sides, |side| side.seen.per_second);
        // Of neighbours in time, which had the same machine more than all together had.
        let pairs = ours.iter().zip(bare);
        let ratio = median(pairs.map(|(ours, bare)| ours.seen.per_second / bare.seen.per_second));
        let success_wanted = request.status.is_none_or(|status| status < 400);
        let lost = |seen: &Seen| seen.broken + if success_wanted { seen.refused } else { 0 };
        let lost: u64 = ours.iter().map(|side| lost(&side.seen)).sum();
        let verdict = match lost {
            0 if ratio >= self.floor => "ok".to_owned(),
            0 => "below".to_owned(),
            lost => format!("{lost} lost"),
        };
        vec![
            self.name.to_owned(),
            format!("{:.0}", rate(ours)),
            format!("{:.0}", rate(bare)),
            format!("{ratio:.2}"),
            if self.floor > 0.0 { format!("{:.2}", self.floor) } else { String::new() },
            verdict,
            format!("{:.2}", middle(ours, |side| side.seen.p50_ms)),
            format!("{:.2}", middle(ours, |side| side.seen.p99_ms)),
            format!("{:.1}", middle(ours, |side| side.cpu_us)),
            format!("{:.1}", middle(bare, |side| side.cpu_us)),
            format!("{peak:.1}"),
        ]
    }
}

/// A server that does nothing but answer the same bytes.
fn bare(program: &Path, answer: &Response, folder: &Path) -> io::Result<Served> {
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
    Served::start(command, folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: Load = Load {
        name: "GET /",
        connections: 1,
        floor: 0.75,
        serve: &[],
        settings: "",
        accounts: 0,
        rules: false,
        counters: Counters::Memory,
        prepare: |_| Ok(Request::default()),
    };

    fn side(per_second: f64) -> Side {
        let seen = Seen { per_second, p50_ms: 1.0, p99_ms: 2.0, ..Seen::default() };
        Side { seen, cpu_us: 9.5 }
    }

    #[test]
    fn the_ratio_is_the_median_of_neighbours_and_stands_beside_its_floor() {
        let get = Request::new("GET", "/");
        let bare = [side(100.0), side(1000.0), side(200.0)];
        let ours = [side(80.0), side(900.0), side(2.0)];
        let row = ROW.row(&get, &ours, &bare, 12.34);
        assert_eq!(
            row,
            ["GET /", "80", "200", "0.80", "0.75", "ok", "1.00", "2.00", "9.5", "9.5", "12.3"]
        );
        assert_eq!(ROW.row(&get, &[side(70.0)], &bare, 1.0)[5], "below");
    }

    #[test]
    fn refusals_are_lost_unless_the_row_is_about_them() {
        let mut ours = [side(100.0)];
        ours[0].seen.refused = 5;
        let about_refusals = Request { status: Some(429), ..Request::new("GET", "/") };
        assert_eq!(ROW.row(&Request::new("GET", "/"), &ours, &ours, 1.0)[5], "5 lost");
        assert_eq!(ROW.row(&about_refusals, &ours, &ours, 1.0)[5], "ok");
    }
}
