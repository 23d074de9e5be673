//! Tables in Markdown, aligned so that they can be read as they are.

use std::fmt::Write as _;

/// A table; all columns but the first stand to the right.
pub(super) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let cells = |column: usize| rows.iter().filter_map(move |row| row.get(column));
    let width = |column: usize| {
        let widest = cells(column).map(|cell| cell.chars().count()).max().unwrap_or(0);
        widest.max(head[column].chars().count()).max(3)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |row: &[&str]| {
        let mut line = String::from("|");
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = match column {
                0 => write!(line, " {cell:<width$} |"),
                _ => write!(line, " {cell:>width$} |"),
            };
        }
        line + "\n"
    };
    let rules: Vec<String> = widths
        .iter()
        .enumerate()
        .map(
            |(column, width)| {
                if column == 0 { "-".repeat(*width) } else { "-".repeat(width - 1) + ":" }
            },
        )
        .collect();
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let mut text = line(head) + &line(&rules);
    for row in rows {
        text += &line(&row.iter().map(String::as_str).collect::<Vec<_>>());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["GET /".into(), "12".into()], vec!["é".into(), "34000".into()]];
        assert_eq!(
            table(&["path", "ours/s"], &rows),
            "| path  | ours/s |\n\
             | ----- | -----: |\n\
             | GET / |     12 |\n\
             | é     |  34000 |\n"
        );
    }
}
