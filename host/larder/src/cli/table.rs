//! Tables for terminals. All cells are sanitized.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::sanitize;

/// The maximum width of all columns but the first.
const MAX_WIDTH: usize = 48;

#[derive(Debug)]
pub(super) struct Table<const N: usize> {
    head: [&'static str; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(super) fn new(head: [&'static str; N]) -> Self {
        Self { head, rows: Vec::new() }
    }

    /// Adds a row. The first cell is not truncated, because users copy it.
    pub(super) fn row(&mut self, cells: [&str; N]) {
        let mut first = true;
        self.rows.push(cells.map(|cell| {
            let cell = sanitize::line(cell);
            if std::mem::take(&mut first) { cell.into_owned() } else { truncate(&cell) }
        }));
    }

    pub(super) fn show(&self, colour: bool) -> String {
        let mut widths = self.head.map(str::width);
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        let head = line(&self.head.map(str::to_owned), &widths);
        let head = if colour { format!("\x1b[1m{head}\x1b[0m") } else { head };
        let rows = self.rows.iter().map(|row| line(row, &widths));
        std::iter::once(head).chain(rows).map(|line| line + "\n").collect()
    }
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let mut out = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        out.push_str(cell);
        out.push_str(&" ".repeat(width - cell.width() + 2));
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
        .assert_eq(&table.show(false));
        assert!(table.show(true).starts_with("\x1b[1mURI"));
    }

    #[test]
    fn formats_bytes_with_a_unit() {
        assert_eq!(
            [0, 1023, 1024, 1536 << 10, 5 << 30].map(bytes),
            ["0 B", "1023 B", "1.0 KiB", "1.5 MiB", "5.0 GiB"]
        );
    }
}
