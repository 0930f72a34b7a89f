//! Tables: aligned for terminals, and separated by tabs for other programs. All cells are sanitized.

use std::io;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::{out, sanitize};

/// The maximum width of all columns except the first one.
const MAX_WIDTH: usize = 48;
/// The maximum width to which the first column is padded. Longer cells are not truncated, because users copy them.
const MAX_FIRST_WIDTH: usize = 100;

#[derive(Debug)]
pub(super) struct Table<const N: usize> {
    head: [&'static str; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(super) fn new(head: [&'static str; N]) -> Self {
        Self {
            head,
            rows: Vec::new(),
        }
    }

    pub(super) fn row(&mut self, cells: [&str; N]) {
        self.rows
            .push(cells.map(|cell| sanitize::line(cell).into_owned()));
    }

    /// Formats the table for stdout, which may be a terminal or not.
    pub(super) fn show(&self) -> String {
        if out::is_terminal() {
            self.aligned(out::colour())
        } else {
            self.separated()
        }
    }

    /// Prints the table, or a note if it has no rows.
    pub(super) fn print_or(&self, note: &str) -> io::Result<()> {
        if self.rows.is_empty() {
            out::note(note);
            return Ok(());
        }
        out::text(&self.show())
    }

    /// Formats the table with aligned columns.
    pub(super) fn aligned(&self, colour: bool) -> String {
        let rows: Vec<_> = self.rows.iter().map(truncate_row).collect();
        let mut widths = self.head.map(str::width);
        for row in &rows {
            let limits = std::iter::once(MAX_FIRST_WIDTH).chain(std::iter::repeat(usize::MAX));
            for ((width, cell), limit) in widths.iter_mut().zip(row).zip(limits) {
                *width = (*width).max(cell.width().min(limit));
            }
        }
        let head = line(&self.head.map(str::to_owned), &widths);
        let head = if colour {
            format!("\x1b[1m{head}\x1b[0m")
        } else {
            head
        };
        let rows = rows.iter().map(|row| line(row, &widths));
        std::iter::once(head)
            .chain(rows)
            .map(|line| line + "\n")
            .collect()
    }

    /// Formats the table with a tab between cells, which are complete.
    pub(super) fn separated(&self) -> String {
        let rows = self.rows.iter().map(|row| row.join("\t"));
        std::iter::once(self.head.join("\t"))
            .chain(rows)
            .map(|line| line + "\n")
            .collect()
    }
}

fn truncate_row<const N: usize>(row: &[String; N]) -> [String; N] {
    let mut is_first = true;
    row.each_ref().map(|cell| {
        if std::mem::take(&mut is_first) {
            cell.clone()
        } else {
            truncate(cell)
        }
    })
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let mut out = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        out.push_str(cell);
        out.push_str(&" ".repeat(width.saturating_sub(cell.width()) + 2));
    }
    out.truncate(out.trim_end().len());
    out
}

fn truncate(text: &str) -> String {
    if text.width() <= MAX_WIDTH {
        return text.to_owned();
    }
    let mut width = 1;
    let fits = |c: &char| {
        width += c.width().unwrap_or(0);
        width <= MAX_WIDTH
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// Formats a number of bytes with a unit.
pub(super) fn bytes(count: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.into_iter().find(|(unit, _)| count >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", count as f64 / unit as f64),
        None => format!("{count} B"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn aligns_and_sanitizes_columns() {
        let mut table = Table::new(["URI", "NAME", "SIZE"]);
        table.row(["file:///a", "漢字", "12 B"]);
        table.row(["file:///longer", "evil\x1b[2J\nname", ""]);
        table.row(["x:y", &"long ".repeat(20), "1.0 KiB"]);
        expect![[r#"
            URI             NAME                                              SIZE
            file:///a       漢字                                              12 B
            file:///longer  evil\u001b[2J name
            x:y             long long long long long long long long long lo…  1.0 KiB
        "#]]
        .assert_eq(&table.aligned(false));
        assert!(table.aligned(true).starts_with("\x1b[1mURI"));
    }

    #[test]
    fn output_for_programs_is_complete_and_not_padded() {
        let mut table = Table::new(["URI", "NAME", "SIZE"]);
        table.row(["file:///a\tb", &"long ".repeat(20), ""]);
        table.row([&format!("x:{}", "y".repeat(5_000)), "", "1.0 KiB"]);
        let text = table.separated();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "URI\tNAME\tSIZE");
        assert_eq!(lines[1], format!("file:///a b\t{}\t", "long ".repeat(20)));
        assert!(lines[2].ends_with("y\t\t1.0 KiB"));
        // In a terminal, one long cell does not make all lines long.
        assert!(table.aligned(false).lines().nth(1).unwrap().len() < 200);
    }

    #[test]
    fn formats_bytes_with_a_unit() {
        assert_eq!(
            [0, 1023, 1024, 1536 << 10, 5 << 30].map(bytes),
            ["0 B", "1023 B", "1.0 KiB", "1.5 MiB", "5.0 GiB"]
        );
    }
}
