//! Output of commands: lists page by page, JSON lines, records and messages, all escaped.

mod table;

use std::fmt::{Display, Write as _};
use std::io::{self, Write as _, stderr, stdout};

use belfry_store::StoreError;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, value_parser};
use serde_json::Value;

pub(super) use self::table::Table;
use super::CliError;
use crate::escape::{escape, escape_json};

/// Number of rows that are read and printed at a time.
const PAGE_SIZE: i64 = 1000;

/// Formats a number with its noun, given in the plural: `1 token`, `2 tokens`.
pub(super) fn format_count<T: Copy + Display + Eq + From<u8>>(number: T, plural: &str) -> String {
    let is_one = number == T::from(1);
    let noun = if is_one { plural.strip_suffix('s').unwrap_or(plural) } else { plural };
    format!("{number} {noun}")
}

/// The options of every list command.
#[derive(Args)]
pub(super) struct ListOptions {
    /// Maximum number of rows [default: all]
    #[arg(long, value_name = "N", value_parser = value_parser!(i64).range(1..))]
    limit: Option<i64>,
    /// Print each row as a line of JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl ListOptions {
    /// Prints a list with these column headers, page by page. `read_page` returns up to the given
    /// number of rows after the given row, or from the start; `to_columns` and `to_json` format a
    /// row.
    pub(super) async fn print<T>(
        &self,
        headers: &'static [&'static str],
        mut read_page: impl AsyncFnMut(Option<&T>, i64) -> Result<Vec<T>, StoreError>,
        to_columns: impl Fn(&T) -> Vec<String>,
        to_json: impl Fn(&T) -> Value,
    ) -> Result<(), CliError> {
        let mut table = Table::new(headers, self.json);
        let mut remaining_rows = self.limit.unwrap_or(i64::MAX);
        let mut last_row = None;
        while remaining_rows > 0 {
            let limit = remaining_rows.min(PAGE_SIZE);
            let mut page = read_page(last_row.as_ref(), limit).await?;
            print(&table.format_page(&page, &to_columns, &to_json))?;
            remaining_rows -= i64::try_from(page.len())?;
            // A page can be short, because rows that cannot be read are omitted.
            let Some(row) = page.pop() else { break };
            last_row = Some(row);
        }
        Ok(())
    }
}

/// Prints text in one write instead of one per line.
pub(super) fn print(text: &str) -> io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Prints a line on stderr, escaped because errors may quote files and responses of other systems.
/// Unlike `eprintln!`, it does not panic if stderr is closed, as in
/// `belfry config check 2>&1 | head -1`.
pub(super) fn print_message(message: impl Display) {
    let _closed = writeln!(stderr(), "{}", escape(&message.to_string()));
}

/// Prints a record: a line for each name and value.
pub(super) fn print_record(rows: &[(&str, String)]) -> io::Result<()> {
    let mut lines = String::new();
    for (name, value) in rows {
        let _infallible = writeln!(lines, "{name:<14} {}", escape(value));
    }
    print(&lines)
}

/// Joins columns into a tab-separated line.
fn format_tab_separated_line(columns: &[String]) -> String {
    let columns: Vec<_> = columns.iter().map(|column| escape(column)).collect();
    format!("{}\n", columns.join("\t"))
}

/// Returns a value as a line of JSON in which every character is printable.
pub(super) fn format_json_line(value: &Value) -> String {
    format!("{}\n", escape_json(&value.to_string()))
}

/// Returns a parser that accepts the names of `values`.
pub(super) fn one_of<T: Copy + Send + Sync + 'static>(
    values: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(values.iter().map(|value| name(*value)));
    names.try_map(move |argument| {
        values.iter().copied().find(|value| name(*value) == argument).ok_or("unknown value")
    })
}
