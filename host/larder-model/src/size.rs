//! Sizes in the form in which people write them.

/// How to write a size.
pub const HINT: &str = "write a whole number and a unit, such as \"64MiB\", \"512KiB\" or \"1GB\"";

/// Formats a number of bytes for a message: `64 MiB`, `100 KB`, or rounded, such as `1.5 KiB`.
pub fn show(bytes: u64) -> String {
    let binary = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let decimal = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB")];
    let largest = binary.into_iter().find(|(unit, _)| bytes >= *unit);
    let is_multiple = |(unit, _): &(u64, &str)| bytes >= *unit && bytes.is_multiple_of(*unit);
    match (
        largest
            .filter(is_multiple)
            .or_else(|| decimal.into_iter().find(is_multiple)),
        largest,
    ) {
        (Some((unit, name)), _) => format!("{} {name}", bytes / unit),
        (None, Some((unit, name))) => format!("{:.1} {name}", bytes as f64 / unit as f64),
        (None, None) => format!("{bytes} bytes"),
    }
}

/// Parses a number of bytes: `64MiB`, `512 KiB`, `1GB`, `100B`, or a plain number.
// Hand-written, because the crates for this accept fractions and bits, and round values silently.
pub fn parse(text: &str) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim_start() {
        "" | "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_sizes_with_a_unit() {
        let shown = [0, 1023, 1024, 1536, 64 << 20, 8_000_000, 999 << 30].map(show);
        assert_eq!(
            shown,
            [
                "0 bytes",
                "1023 bytes",
                "1 KiB",
                "1.5 KiB",
                "64 MiB",
                "8 MB",
                "999 GiB"
            ]
        );
    }
}
