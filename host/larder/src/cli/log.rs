//! Log output on stderr. Text from guests cannot forge log lines or control the terminal.

use std::io::{self, Write};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use super::sanitize;
use crate::config::{Log, LogFormat};

/// Installs the log subscriber for the rest of the process.
pub(super) fn start(log: &Log) {
    let filter = EnvFilter::new(&log.filter);
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(Stderr);
    // An error means that a subscriber is installed already, by a program that uses this crate as a library.
    _ = match log.format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}

/// Logs errors only, unless the configuration sets a filter. For commands whose output contains what matters.
pub(super) fn start_quietly(log: &Log) {
    let filter = if log.filter == "info" { "error" } else { &log.filter };
    start(&Log { filter: filter.into(), format: log.format });
}

struct Stderr;

impl<'a> MakeWriter<'a> for Stderr {
    type Writer = SanitizedWriter<io::Stderr>;

    fn make_writer(&'a self) -> Self::Writer {
        SanitizedWriter(io::stderr())
    }
}

/// Sanitizes log events. The subscriber writes one event per call.
struct SanitizedWriter<W>(W);

impl<W: Write> Write for SanitizedWriter<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let body = text.strip_suffix('\n').unwrap_or(&text);
        self.0.write_all(format!("{}\n", sanitize::line(body)).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn writes_one_line_per_event() {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let writer = move || SanitizedWriter(writer.clone());
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).without_time().with_writer(writer).finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!("first\nINFO forged {}", "\x1b[31m\u{202e}red");
            tracing::info!(text = "a\nb\u{200b}", "second");
        });
        let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(!text.contains(['\x1b', '\u{202e}', '\u{200b}']), "{text}");
        assert!(text.contains("first INFO forged"), "{text}");
    }
}
