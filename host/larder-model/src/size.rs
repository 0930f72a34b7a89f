//! Sizes as people write them.

/// How to write a size.
pub const HINT: &str = "write a whole number and a unit, such as \"64MiB\", \"512KiB\" or \"1GB\"";

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
