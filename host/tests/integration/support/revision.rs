//! Any number of revisions of one component: the guest `revision`, with different texts in its data section.

use std::sync::LazyLock;
use std::time::Duration;

use crate::support::harness::{SLOW_WAIT, TestServer, component_path, eventually_within};

/// A resource that every revision serves.
pub(crate) const NOW: &str = "revision://now";
/// The pause between reads of a test that reads until something happens. Without it, the reads would take the time of the
/// compiler for which they wait.
pub(crate) const READ_PAUSE: Duration = Duration::from_millis(2);

/// Returns a component that answers every read with this number.
pub(crate) fn revision(number: u32) -> Vec<u8> {
    static BUILT: LazyLock<Vec<u8>> =
        LazyLock::new(|| std::fs::read(component_path("revision")).unwrap());
    let marker = text(0);
    let mut matches = BUILT
        .windows(marker.len())
        .enumerate()
        .filter(|(_, window)| *window == marker.as_bytes());
    let (Some((at, _)), None) = (matches.next(), matches.next()) else {
        panic!("{marker} must be in the component exactly once");
    };
    let mut bytes = BUILT.clone();
    bytes[at..at + marker.len()].copy_from_slice(text(number).as_bytes());
    bytes
}

/// The text with which this revision answers.
pub(crate) fn text(number: u32) -> String {
    format!("revision-{number:08}")
}

/// The number of the revision that answered with this text.
pub(crate) fn number(text: &str) -> u32 {
    let digits = text
        .strip_prefix("revision-")
        .and_then(|digits| digits.parse().ok());
    digits.unwrap_or_else(|| panic!("not the text of a revision: {text:?}"))
}

impl TestServer {
    /// Waits until this revision answers.
    pub(crate) async fn wait_for_revision(&self, number: u32) {
        let serves = async || self.text(NOW).await == text(number);
        eventually_within(SLOW_WAIT, &format!("{} serves", text(number)), serves).await;
    }

    /// Reads until `change` completes. Fails if a read fails, or if a revision other than these answers.
    pub(crate) async fn only_revisions_answer(
        &self,
        allowed: &[u32],
        change: impl Future<Output = ()>,
    ) {
        let reads = async {
            loop {
                let text = self.text(NOW).await;
                assert!(allowed.contains(&number(&text)), "{text}");
                tokio::time::sleep(READ_PAUSE).await;
            }
        };
        tokio::select! {
            () = change => {}
            _ = reads => {}
        }
    }
}
