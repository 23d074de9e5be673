//! Formats the rows of a list: as JSON, separated by tabs for programs, or aligned below column
//! headers on a terminal.

use std::io::{IsTerminal, stdout};

use serde_json::Value;

use super::{format_json_line, format_tab_separated_line};
use crate::escape::escape;

/// The space between aligned columns.
const GAP: &str = "  ";

/// A list that is printed page by page.
pub(in crate::cli) struct Table {
    headers: &'static [&'static str],
    format: Format,
    /// The widths of the aligned columns, which grow with the pages; empty before the first page.
    widths: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Tabs,
    Aligned,
}

impl Table {
    /// Creates a list with these columns: as JSON if requested, otherwise aligned on a terminal and
    /// tab-separated elsewhere.
    pub(in crate::cli) fn new(headers: &'static [&'static str], as_json: bool) -> Self {
        let format = match (as_json, stdout().is_terminal()) {
            (true, _) => Format::Json,
            (false, true) => Format::Aligned,
            (false, false) => Format::Tabs,
        };
        Self { headers, format, widths: Vec::new() }
    }

    /// Formats the next page of rows. Aligned output starts with the column headers, even if there
    /// are no rows.
    pub(in crate::cli) fn format_page<T>(
        &mut self,
        rows: &[T],
        to_columns: impl Fn(&T) -> Vec<String>,
        to_json: impl Fn(&T) -> Value,
    ) -> String {
        match self.format {
            Format::Json => rows.iter().map(|row| format_json_line(&to_json(row))).collect(),
            Format::Tabs => {
                rows.iter().map(|row| format_tab_separated_line(&to_columns(row))).collect()
            }
            Format::Aligned => self.align(rows.iter().map(to_columns).collect()),
        }
    }

    fn align(&mut self, mut rows: Vec<Vec<String>>) -> String {
        if self.widths.is_empty() {
            rows.insert(0, self.headers.iter().map(|header| header.to_uppercase()).collect());
        }
        for row in &mut rows {
            self.widths.resize(self.widths.len().max(row.len()), 0);
            for (column, width) in row.iter_mut().zip(&mut self.widths) {
                *column = escape(column).into_owned();
                *width = column.chars().count().max(*width);
            }
        }
        let format_line = |row: &Vec<String>| {
            let cells = row.iter().zip(&self.widths).map(|(text, width)| format!("{text:width$}"));
            format!("{}\n", cells.collect::<Vec<_>>().join(GAP).trim_end())
        };
        rows.iter().map(format_line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_aligned_below_column_headers_which_are_printed_once() {
        let mut table =
            Table { headers: &["name", "id"], format: Format::Aligned, widths: Vec::new() };
        let to_columns = |row: &(&str, &str)| vec![row.0.to_owned(), row.1.to_owned()];
        let mut format_page =
            |rows: &[(&str, &str)]| table.format_page(rows, to_columns, |_| Value::Null);
        assert_eq!(
            format_page(&[("alice", "1"), ("ö\t", "22")]),
            "NAME    ID\nalice   1\nö\\u{9}  22\n"
        );
        assert_eq!(format_page(&[("alexandra", "3"), ("b", "4")]), "alexandra  3\nb          4\n");
        assert_eq!(format_page(&[]), "");
    }

    #[test]
    fn rows_for_programs_are_tab_separated_and_without_headers() {
        let mut table = Table { headers: &["name"], format: Format::Tabs, widths: Vec::new() };
        let to_columns = |row: &&str| vec![(*row).to_owned(), "x".to_owned()];
        assert_eq!(
            table.format_page(&["alice", "b"], to_columns, |_| Value::Null),
            "alice\tx\nb\tx\n"
        );
    }
}
