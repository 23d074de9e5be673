//! Rows that are programs: each measures a part alone and prints `name<TAB>value<TAB>unit` lines.

use std::io::{self, Read};
use std::process::{Command, Stdio};

use test_engines::process_group::{OnDrop, ProcessGroup};
use test_engines::{Postgres, Redis};

use super::Bench;
use super::table::table;

/// A part of the package `bench`, and what it is told.
pub(super) struct Program {
    pub name: &'static str,
    /// What the program calls it.
    pub part: &'static str,
    pub arguments: &'static [&'static str],
    /// Whether it gets a durable PostgreSQL and a Redis, by the variables that tests get them by.
    pub engines: bool,
}

/// Runs the programs and prints the table; true if all came to their end.
pub(super) fn run_all(bench: &Bench, programs: &[&Program]) -> bool {
    let (mut rows, mut complete) = (vec![], true);
    for program in programs {
        println!("{} …", program.name);
        match program.run(bench) {
            Ok(lines) => rows.extend(lines),
            Err(error) => {
                println!("{}: {error}", program.name);
                complete = false;
            }
        }
    }
    println!("\n{}", table(&["", "measured", "unit"], &rows));
    complete
}

impl Program {
    fn run(&self, bench: &Bench) -> io::Result<Vec<Vec<String>>> {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new(&bench.parts);
        command
            .arg(self.part)
            .args(self.arguments)
            .current_dir(folder.path())
            .stdout(Stdio::piped());
        crate::cargo::forget_foreign(&mut command);
        let engines = if self.engines { Some(start_engines()?) } else { None };
        if let Some((postgres, redis)) = &engines {
            command.env("BELFRY_TEST_POSTGRES", postgres.url());
            command.env("BELFRY_TEST_REDIS", redis.url());
        }
        let mut group = ProcessGroup::spawn(command, &OnDrop::default())?;
        let mut output = String::new();
        if let Some(mut stdout) = group.stdout() {
            stdout.read_to_string(&mut output)?;
        }
        let status = group.wait()?;
        if !status.success() {
            return Err(io::Error::other(format!("{status}\n{output}")));
        }
        Ok(rows(&output))
    }
}

fn start_engines() -> io::Result<(Postgres, Redis)> {
    let postgres = Postgres::start_durable().map_err(io::Error::other)?;
    let redis = Redis::start().map_err(io::Error::other)?;
    Ok((postgres, redis))
}

/// The lines that are results; others are the program's talk.
fn rows(output: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
    output.lines().map(cells).filter(|cells| cells.len() == 3).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_three_cells_are_results() {
        let output = "filling the store\nsqlite, 64 callers\t54000\twrites/s\na\tb\n";
        assert_eq!(rows(output), [["sqlite, 64 callers", "54000", "writes/s"]]);
    }
}
