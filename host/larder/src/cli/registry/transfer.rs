//! Shows transfers: progress bars on a terminal, and a line for each blob elsewhere.

use std::collections::HashMap;
use std::io::{self, IsTerminal as _};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use parking_lot::Mutex;

use super::super::{out, sanitize, table};
use larder_model::name::Digest;
use larder_registry::Progress;

/// Smaller blobs, such as manifests, get no line.
const MIN_SIZE: u64 = 16 << 10;
const STYLE: &str =
    "{msg} {bar:30} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {eta}";

/// The transfers of one command.
#[derive(Debug)]
pub(super) struct Transfers {
    /// The name of the transfer, for people, such as `pulling r.example/wiki:1`.
    title: String,
    /// None if stderr is not a terminal.
    bars: Option<MultiProgress>,
    running: Mutex<HashMap<Digest, Transfer>>,
}

#[derive(Debug)]
enum Transfer {
    Bar(ProgressBar),
    /// The size of the blob.
    Line(u64),
}

impl Transfers {
    pub(super) fn new(title: &str) -> Self {
        let bars = io::stderr().is_terminal().then(MultiProgress::new);
        Self {
            title: title.to_owned(),
            bars,
            running: Mutex::default(),
        }
    }

    fn bar(&self, bars: &MultiProgress, size: u64) -> Transfer {
        let bar = bars.add(ProgressBar::new(size).with_style(style()));
        bar.set_message(sanitize::line(&self.title).into_owned());
        Transfer::Bar(bar)
    }
}

fn style() -> ProgressStyle {
    // The template is valid, which a test checks.
    ProgressStyle::with_template(STYLE).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Progress for Transfers {
    fn started(&self, blob: &Digest, size: u64) {
        if size < MIN_SIZE {
            return;
        }
        let mut running = self.running.lock();
        match (running.get(blob), &self.bars) {
            (Some(Transfer::Bar(bar)), _) => bar.set_position(0),
            (Some(Transfer::Line(_)), _) => {}
            (None, Some(bars)) => {
                running.insert(*blob, self.bar(bars, size));
            }
            (None, None) => {
                running.insert(*blob, Transfer::Line(size));
            }
        }
    }

    fn advanced(&self, blob: &Digest, bytes: u64) {
        let running = self.running.lock();
        if let Some(Transfer::Bar(bar)) = running.get(blob) {
            bar.inc(bytes);
        }
    }

    fn finished(&self, blob: &Digest) {
        let ended = self.running.lock().remove(blob);
        match ended {
            // The bar disappears, because the result of the command follows.
            Some(Transfer::Bar(bar)) => bar.finish_and_clear(),
            Some(Transfer::Line(size)) => {
                out::note(&format!("larder: {}: {}", self.title, table::bytes(size)));
            }
            None => {}
        }
    }
}

impl Drop for Transfers {
    fn drop(&mut self) {
        // The bar of a failed transfer must not stay on the terminal.
        if let Some(bars) = &self.bars {
            _ = bars.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_is_valid() {
        assert!(ProgressStyle::with_template(STYLE).is_ok());
    }
}
