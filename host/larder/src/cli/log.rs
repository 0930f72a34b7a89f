//! Log output on stderr, up to a number of bytes per second. Text from guests cannot forge log lines or control the
//! terminal.

mod line_limit;

use std::io::{self, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use tracing::Metadata;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::reload;

use self::line_limit::{LineLimit, may_use_reserve};
use super::sanitize;
use crate::app::{App, LogHook};
use larder_config::{Log, LogFormat};

/// The log of the process.
#[derive(Clone)]
pub(super) struct ProcessLog {
    limit: LineLimit,
    filter: Arc<Mutex<String>>,
    set_filter: Arc<dyn Fn(EnvFilter) -> Result<(), reload::Error> + Send + Sync>,
}

impl ProcessLog {
    /// Applies changes of the filter.
    pub(super) fn hook(&self) -> LogHook {
        let this = self.clone();
        Box::new(move |log| this.set_filter(&log.filter))
    }

    /// Reports what the limit suppresses, for as long as this server runs.
    pub(super) fn start_reports(&self, app: &App) {
        self.limit.clone().start_reports(app.log_drain());
    }

    fn set_filter(&self, filter: &str) {
        let mut current = self.filter.lock();
        if *current == filter {
            return;
        }
        match (self.set_filter)(env_filter(filter)) {
            Ok(()) => filter.clone_into(&mut current),
            Err(error) => tracing::warn!(%error, "cannot change the log filter"),
        }
    }
}

/// The client of NATS reports each attempt to connect. `larder-cluster` reports the important events.
fn env_filter(filter: &str) -> EnvFilter {
    EnvFilter::new(format!("async_nats=off,{filter}"))
}

/// Installs the log subscriber for the rest of the process.
pub(super) fn start(log: &Log) -> ProcessLog {
    let limit = LineLimit::new(log.bytes_per_second);
    let builder = tracing_subscriber::fmt()
        .with_env_filter(env_filter(&log.filter))
        .with_ansi(false);
    let builder = builder.with_writer(Stderr(limit.clone()));
    // An error means that a subscriber is installed already, by a program that uses this crate as a library.
    let set_filter: Arc<dyn Fn(EnvFilter) -> Result<(), reload::Error> + Send + Sync> =
        match log.format {
            LogFormat::Text => {
                let builder = builder.with_filter_reloading();
                let handle = builder.reload_handle();
                _ = builder.try_init();
                Arc::new(move |filter| handle.reload(filter))
            }
            LogFormat::Json => {
                let builder = builder.json().flatten_event(true).with_filter_reloading();
                let handle = builder.reload_handle();
                _ = builder.try_init();
                Arc::new(move |filter| handle.reload(filter))
            }
        };
    ProcessLog {
        limit,
        filter: Arc::new(Mutex::new(log.filter.clone())),
        set_filter,
    }
}

/// Logs only errors, unless the configuration sets a filter. For commands whose output contains the important messages.
pub(super) fn start_quietly(log: &Log) {
    let filter = if log.filter == "info" {
        "error"
    } else {
        &log.filter
    };
    start(&Log {
        filter: filter.into(),
        ..log.clone()
    });
}

struct Stderr(LineLimit);

impl<'a> MakeWriter<'a> for Stderr {
    type Writer = LineWriter<'a, io::Stderr>;

    fn make_writer(&'a self) -> Self::Writer {
        LineWriter {
            to: io::stderr(),
            limit: &self.0,
            may_use_reserve: false,
        }
    }

    fn make_writer_for(&'a self, line: &Metadata<'_>) -> Self::Writer {
        LineWriter {
            may_use_reserve: may_use_reserve(line),
            ..self.make_writer()
        }
    }
}

/// Sanitizes log events, and writes those that the limit admits. The subscriber writes one event per call.
struct LineWriter<'a, W> {
    to: W,
    limit: &'a LineLimit,
    may_use_reserve: bool,
}

impl<W: Write> Write for LineWriter<'_, W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let body = text.strip_suffix('\n').unwrap_or(&text);
        let line = format!("{}\n", sanitize::line(body));
        if self.limit.admits(self.may_use_reserve, line.len()) {
            self.to.write_all(line.as_bytes())?;
        }
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
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
        let limit = LineLimit::new(1 << 20);
        let limit: &'static LineLimit = Box::leak(Box::new(limit));
        let writer = move || LineWriter {
            to: writer.clone(),
            limit,
            may_use_reserve: false,
        };
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .without_time()
            .with_writer(writer)
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!("first\nINFO forged {}", "\x1b[31m\u{202e}red");
            tracing::info!(text = "a\nb\u{200b}", "second");
        });
        let text = String::from_utf8(buffer.0.lock().clone()).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(!text.contains(['\x1b', '\u{202e}', '\u{200b}']), "{text}");
        assert!(text.contains("first INFO forged"), "{text}");
    }
}
