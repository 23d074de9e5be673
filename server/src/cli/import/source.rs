//! A file of accounts, which is read twice: to validate all lines, and to add the accounts.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, stdin};

use belfry_core::import::{AccountFile, ImportLimits, ImportedAccount};
use jiff::Timestamp;

use crate::cli::CliError;
use crate::cli::output::print_message;
use crate::config::Config;

/// Maximum size of a line.
const MAX_LINE: u64 = 8 * 1024 * 1024;
/// Maximum size of a pipe, which is stored in memory because it is read twice.
const MAX_PIPE: u64 = 256 * 1024 * 1024;
/// Maximum number of messages about invalid lines.
const MAX_MESSAGES: u64 = 20;

/// A file of accounts.
pub(super) struct Source {
    name: String,
    reader: Box<dyn SeekRead>,
    limits: ImportLimits,
    /// The ids of the application services, by the names of their accounts.
    senders: HashMap<String, String>,
    now: Timestamp,
}

trait SeekRead: BufRead + Seek {}
impl<T: BufRead + Seek> SeekRead for T {}

/// A valid line.
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) bytes: usize,
    pub(super) account: ImportedAccount,
}

impl Source {
    pub(super) fn open(name: &str, config: &Config, now: Timestamp) -> Result<Self, CliError> {
        let failed = |error: io::Error| format!("cannot read {name}: {error}");
        let reader: Box<dyn SeekRead> = if name == "-" {
            Box::new(read_pipe(stdin()).map_err(failed)?)
        } else {
            let file = File::open(name).map_err(failed)?;
            let kind = file.metadata().map_err(failed)?.file_type();
            if kind.is_file() || kind.is_dir() {
                Box::new(BufReader::new(file))
            } else {
                Box::new(read_pipe(file).map_err(failed)?)
            }
        };
        let mut senders = HashMap::new();
        for source in &config.application_services {
            let service = source.read()?;
            senders.insert(service.sender, service.id);
        }
        let limits =
            ImportLimits { rules: config.rules.limits(), rule: config.rules.new_rule_limits() };
        Ok(Self { name: name.to_owned(), reader, limits, senders, now })
    }

    /// Checks every line, prints the first messages about invalid ones, and returns the number of
    /// accounts.
    pub(super) fn validate(&mut self) -> Result<u64, CliError> {
        let (mut accounts, mut invalid) = (0, 0);
        let mut lines = self.lines()?;
        while let Some(line) = lines.next()? {
            match line {
                Ok(_) => accounts += 1,
                Err(message) => {
                    invalid += 1;
                    if invalid <= MAX_MESSAGES {
                        print_message(format_args!("belfry: {message}"));
                    }
                }
            }
        }
        match invalid {
            0 => Ok(accounts),
            1 => Err("1 line is invalid; nothing was imported".into()),
            _ => Err(format!("{invalid} lines are invalid; nothing was imported").into()),
        }
    }

    /// Reads the lines from the start.
    pub(super) fn lines(&mut self) -> Result<Lines<'_>, CliError> {
        self.reader.rewind().map_err(|error| format!("cannot read {}: {error}", self.name))?;
        let file = AccountFile::new(self.limits, self.now);
        Ok(Lines { source: self, file, bytes: Vec::new() })
    }
}

/// Reads a pipe into memory.
fn read_pipe(pipe: impl Read) -> io::Result<Cursor<Vec<u8>>> {
    let mut bytes = Vec::new();
    pipe.take(MAX_PIPE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_PIPE {
        let message = "more than 256 MiB; write it to a file first";
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(Cursor::new(bytes))
}

/// The lines of a file.
pub(super) struct Lines<'a> {
    source: &'a mut Source,
    file: AccountFile,
    /// The current line.
    bytes: Vec<u8>,
}

impl Lines<'_> {
    /// The next account, or the message about an invalid line; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Result<Line, String>>, CliError> {
        let name = &self.source.name;
        loop {
            self.bytes.clear();
            let mut limited = (&mut self.source.reader).take(MAX_LINE + 1);
            let length = limited.read_until(b'\n', &mut self.bytes);
            match length.map_err(|error| format!("cannot read {name}: {error}"))? as u64 {
                0 => return Ok(None),
                // The rest of the file would not be read line by line.
                length if length > MAX_LINE => {
                    let number = self.file.line() + 1;
                    return Err(format!("{name}, line {number}: is longer than 8 MiB").into());
                }
                _ => {}
            }
            match self.file.read(&self.bytes) {
                Ok(None) => {}
                Ok(Some(account)) => return Ok(Some(self.check_sender(account))),
                Err(error) => return Ok(Some(Err(format!("{name}, {error}")))),
            }
        }
    }

    /// Rejects the account of an application service, which `belfry serve` creates.
    fn check_sender(&self, account: ImportedAccount) -> Result<Line, String> {
        let (number, bytes) = (self.file.line(), self.bytes.len());
        match self.source.senders.get(&account.name) {
            None => Ok(Line { number, bytes, account }),
            Some(service) => Err(format!(
                "{}, line {number}: {} is the sender_localpart of the application service \
                 {service:?}, and belfry serve creates its account; delete the line",
                self.source.name, account.name
            )),
        }
    }
}
