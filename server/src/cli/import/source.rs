//! A file of accounts, which is read twice: to validate all lines, and to add the accounts.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, stdin};
use std::os::fd::AsFd;
use std::path::Path;

use belfry_core::import::{AccountFileReader, ImportLimits, ImportedAccount};
use belfry_runtime::file_access::describe_file_error;
use jiff::Timestamp;

use crate::cli::CliError;
use crate::cli::output::print_message;
use crate::config::{Config, RegistrationSource};

/// Maximum size of a line, in bytes.
const MAX_LINE_BYTES: u64 = 8 * 1024 * 1024;
/// Maximum size of piped input in bytes, which is stored in memory because it is read twice.
const MAX_PIPE_BYTES: u64 = 256 * 1024 * 1024;
/// Maximum number of messages about invalid lines.
const MAX_MESSAGES: u64 = 20;

pub(super) struct AccountSource {
    name: String,
    reader: Box<dyn SeekRead>,
    limits: ImportLimits,
    /// The ids of the application services, by the names of their accounts.
    senders: HashMap<String, String>,
    now: Timestamp,
}

trait SeekRead: BufRead + Seek {}
impl<T: BufRead + Seek> SeekRead for T {}

impl AccountSource {
    pub(super) fn open(name: &str, config: &Config, now: Timestamp) -> Result<Self, CliError> {
        let describe_error = |error: io::Error| {
            format!("cannot read {name}: {}", describe_file_error(Path::new(name), &error))
        };
        let open_result = match name {
            "-" => stdin().as_fd().try_clone_to_owned().map(File::from),
            _ => File::open(name),
        };
        let mut file = open_result.map_err(describe_error)?;
        let reader: Box<dyn SeekRead> = match file.rewind() {
            Ok(()) => Box::new(BufReader::new(file)),
            Err(_) => Box::new(read_pipe(file).map_err(describe_error)?),
        };
        let services = config.application_services.iter().map(RegistrationSource::read);
        let senders = services
            .map(|service| service.map(|service| (service.sender, service.id)))
            .collect::<Result<_, _>>()?;
        let limits =
            ImportLimits { rules: config.rules.limits(), rule: config.rules.new_rule_limits() };
        Ok(Self { name: name.to_owned(), reader, limits, senders, now })
    }

    /// Checks every line and returns the number of accounts. If lines are invalid, prints messages
    /// about the first of them and returns an error.
    pub(super) fn validate(&mut self) -> Result<u64, CliError> {
        let mut account_count = 0;
        let mut invalid_lines = 0;
        let mut lines = self.lines()?;
        while let Some(line) = lines.next()? {
            match line {
                Ok(_) => account_count += 1,
                Err(message) => {
                    invalid_lines += 1;
                    if invalid_lines <= MAX_MESSAGES {
                        print_message(format_args!("belfry: {message}"));
                    }
                }
            }
        }
        match invalid_lines {
            0 => Ok(account_count),
            1 => Err("1 line is invalid; nothing was imported".into()),
            _ => Err(format!("{invalid_lines} lines are invalid; nothing was imported").into()),
        }
    }

    /// Returns a reader of the lines, from the start of the file.
    pub(super) fn lines(&mut self) -> Result<AccountLines<'_>, CliError> {
        self.reader.rewind().map_err(|error| format!("cannot read {}: {error}", self.name))?;
        let parser = AccountFileReader::new(self.limits, self.senders.clone(), self.now);
        Ok(AccountLines { source: self, parser, bytes: Vec::new() })
    }
}

fn read_pipe(pipe: impl Read) -> io::Result<Cursor<Vec<u8>>> {
    let mut bytes = Vec::new();
    pipe.take(MAX_PIPE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_PIPE_BYTES {
        let message = "more than 256 MiB; write it to a file first";
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(Cursor::new(bytes))
}

pub(super) struct AccountLines<'a> {
    source: &'a mut AccountSource,
    parser: AccountFileReader,
    bytes: Vec<u8>,
}

impl AccountLines<'_> {
    /// Returns the next account, or the message about an invalid line; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Result<ImportedAccount, String>>, CliError> {
        let name = &self.source.name;
        loop {
            self.bytes.clear();
            let mut limited = (&mut self.source.reader).take(MAX_LINE_BYTES + 1);
            let length = limited.read_until(b'\n', &mut self.bytes);
            match length.map_err(|error| format!("cannot read {name}: {error}"))? as u64 {
                0 => return Ok(None),
                // Fatal, because the rest of this line would be read as the next one.
                length if length > MAX_LINE_BYTES => {
                    let number = self.parser.line_number() + 1;
                    return Err(format!("{name}, line {number} is longer than 8 MiB").into());
                }
                _ => {}
            }
            match self.parser.parse_line(&self.bytes) {
                Ok(None) => {}
                Ok(Some(account)) => return Ok(Some(Ok(account))),
                Err(error) => return Ok(Some(Err(format!("{name}, {error}")))),
            }
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.parser.line_number()
    }

    /// Returns the size of the current line, in bytes.
    pub(super) fn line_bytes(&self) -> usize {
        self.bytes.len()
    }
}
