//! Texts of errors of the engine. An error in a guest has a backtrace, and its `Display` demangles the names of
//! functions. The guest chooses these names, and a name of 300 bytes in the format of C++ can expand to a text of any
//! length. So this module writes backtraces, with a limit for each name.

use std::fmt::{self, Display, Write as _};

use wasmtime::{FrameInfo, WasmBacktrace};

/// Maximum size of a line in bytes.
const MAX_LINE: usize = 1 << 10;
/// Maximum number of characters of the causes. Longer causes are shortened.
const MAX_CAUSES: usize = 400;
/// Begins the text of a backtrace.
const BACKTRACE: &str = "error while executing at wasm backtrace:";

/// Returns the causes of an error in one line, without its backtrace.
pub(crate) fn causes(error: &wasmtime::Error) -> String {
    let causes: Vec<_> = error
        .chain()
        .map(first_line)
        .filter(|cause| cause != BACKTRACE)
        .collect();
    causes.join(": ")
}

/// Returns the beginning of the causes of an error.
pub(crate) fn shortened(error: &wasmtime::Error) -> String {
    causes(error).chars().take(MAX_CAUSES).collect()
}

/// Returns the causes of an error, and a line for each frame of its backtrace.
pub(crate) fn causes_and_backtrace(error: &wasmtime::Error) -> String {
    let backtrace = error.downcast_ref::<WasmBacktrace>();
    causes(error) + &backtrace.map(frames).unwrap_or_default()
}

/// Returns a line for each frame of a backtrace. Each line begins with a line break.
pub(crate) fn frames(backtrace: &WasmBacktrace) -> String {
    let frames = backtrace.frames().iter().enumerate();
    let lines = frames.map(|(number, frame)| {
        let offset = frame.module_offset().unwrap_or_default();
        format!(
            "\n{number:>5}: {offset:#8x} - {}!{}",
            module(frame),
            function(frame)
        )
    });
    lines.collect()
}

fn module(frame: &FrameInfo) -> String {
    let name = frame.module().name();
    name.map_or_else(|| "<unknown>".to_owned(), first_line)
}

fn function(frame: &FrameInfo) -> String {
    match frame.func_name() {
        Some(name) => demangled(name),
        None => format!("<wasm function {}>", frame.func_index()),
    }
}

/// Demangles only names in the formats of Rust, because demangling these takes a limited time.
fn demangled(name: &str) -> String {
    match rustc_demangle::try_demangle(name) {
        Ok(name) => first_line(name),
        Err(_) => first_line(name),
    }
}

/// Returns the first line of a text. The rest is not formatted.
fn first_line(text: impl Display) -> String {
    let mut line = FirstLine::default();
    // An error means that the first line is complete.
    _ = write!(line, "{text}");
    line.0
}

/// Accepts a text up to its first line break, or the limit.
#[derive(Default)]
struct FirstLine(String);

impl fmt::Write for FirstLine {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let line = part.split('\n').next().unwrap_or_default();
        let accepted = &line[..line.floor_char_boundary(MAX_LINE - self.0.len())];
        self.0.push_str(accepted);
        if accepted.len() == part.len() {
            Ok(())
        } else {
            Err(fmt::Error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_functions_are_bounded() {
        let legacy = "_ZN4core9panicking5panic17h0123456789abcdefE";
        assert_eq!(
            demangled(legacy),
            "core::panicking::panic::h0123456789abcdef"
        );
        assert_eq!(demangled("_RNvC1a1b"), "a::b");
        assert_eq!(demangled("_Z1fi"), "_Z1fi", "a name of C++");
        // References and slices that contain each other.
        for nested in ["R", "S"] {
            let name = format!("_RINvC1a1b{}uE", nested.repeat(60_000));
            assert!(demangled(&name).len() <= MAX_LINE, "{nested}");
        }
    }

    #[test]
    fn a_text_ends_with_its_first_line() {
        assert_eq!(first_line("one\ntwo"), "one");
        assert_eq!(first_line("ü".repeat(MAX_LINE)).len(), MAX_LINE);
        assert_eq!(
            first_line(format_args!("{}{}", "x".repeat(MAX_LINE - 1), "ü")).len(),
            MAX_LINE - 1
        );
        let error = wasmtime::Error::msg("inner\nhidden").context("outer");
        assert_eq!(causes(&error), "outer: inner");
    }
}
