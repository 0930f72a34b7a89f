//! The file of a corpus: one input a line, in the escapes of Rust, so that a difference can be read. The tests of the
//! crates and `cargo xtask fuzz` include this file.

/// The inputs of a corpus. `None` stands for a line that is not valid.
pub(crate) fn inputs(text: &str) -> impl Iterator<Item = Option<Vec<u8>>> {
    text.lines().map(unescape)
}

fn unescape(line: &str) -> Option<Vec<u8>> {
    let mut input = Vec::new();
    let mut rest = line.bytes();
    while let Some(byte) = rest.next() {
        input.push(if byte == b'\\' {
            escape(&mut rest)?
        } else {
            byte
        });
    }
    Some(input)
}

/// Reads what follows a backslash, as `[u8]::escape_ascii` writes it.
fn escape(rest: &mut impl Iterator<Item = u8>) -> Option<u8> {
    match rest.next()? {
        b't' => Some(b'\t'),
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        b'x' => Some(digit(rest.next()?)? << 4 | digit(rest.next()?)?),
        other => Some(other),
    }
}

fn digit(byte: u8) -> Option<u8> {
    let value = char::from(byte).to_digit(16)?;
    u8::try_from(value).ok()
}
