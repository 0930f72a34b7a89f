//! Log lines on stderr. A line of text from a guest cannot become two, nor steer a terminal.

use std::io::{self, Write};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use super::clean;
use crate::config::{Log, LogFormat};

/// Starts logging, for as long as the process runs.
pub(super) fn start(log: &Log) {
    let filter = EnvFilter::new(&log.filter);
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(Stderr);
    // An error means that logging has been started before, by whoever uses this as a library.
    _ = match log.format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}

/// For commands that answer once: what matters to people stands in the answer.
pub(super) fn start_quietly(log: &Log) {
    let filter = if log.filter == "info" { "error" } else { &log.filter };
    start(&Log { filter: filter.into(), format: log.format });
}

struct Stderr;

impl<'a> MakeWriter<'a> for Stderr {
    type Writer = Clean<io::Stderr>;

    fn make_writer(&'a self) -> Self::Writer {
        Clean(io::stderr())
    }
}

/// Takes one event at a time, as the subscriber writes them.
struct Clean<W>(W);

impl<W: Write> Write for Clean<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let body = text.strip_suffix('\n').unwrap_or(&text);
        self.0.write_all(format!("{}\n", clean::line(body)).as_bytes())?;
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
    struct Held(Arc<Mutex<Vec<u8>>>);

    impl Write for Held {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn one_event_is_one_line() {
        let held = Held::default();
        let writer = held.clone();
        let writer = move || Clean(writer.clone());
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).without_time().with_writer(writer).finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!("first\nINFO forged {}", "\x1b[31m\u{202e}red");
            tracing::info!(text = "a\nb\u{200b}", "second");
        });
        let text = String::from_utf8(held.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(!text.contains(['\x1b', '\u{202e}', '\u{200b}']), "{text}");
        assert!(text.contains("first INFO forged"), "{text}");
    }
}
