//! Aligned Markdown tables.

use std::fmt::Write as _;

/// Formats a table; all columns except the first are right-aligned.
pub(crate) fn format_table(header: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        // Markdown separators have at least three characters.
        widest.max(header[column].chars().count()).max(3)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let mut text = String::new();
    let mut add_line = |cells: &[String]| {
        for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let _ = match column {
                0 => write!(text, "| {cell:<width$} |"),
                _ => write!(text, " {cell:>width$} |"),
            };
        }
        text.push('\n');
    };
    add_line(&header.iter().map(|&cell| cell.to_owned()).collect::<Vec<_>>());
    let separator = |(column, width): (usize, &usize)| match column {
        0 => "-".repeat(*width),
        _ => "-".repeat(width - 1) + ":",
    };
    add_line(&widths.iter().enumerate().map(separator).collect::<Vec<_>>());
    for row in rows {
        add_line(row);
    }
    text
}
