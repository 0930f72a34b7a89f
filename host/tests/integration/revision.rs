//! Any number of revisions of one component: the guest `revision` with another text in its data.

use std::sync::LazyLock;
use std::time::Duration;

use crate::house::{House, component};

/// What is there in every revision.
pub(crate) const NOW: &str = "revision://now";

/// A component that answers everything with this number.
pub(crate) fn revision(number: u32) -> Vec<u8> {
    static BUILT: LazyLock<Vec<u8>> = LazyLock::new(|| std::fs::read(component("revision")).unwrap());
    let mark = text(0);
    let mut places = BUILT.windows(mark.len()).enumerate().filter(|(_, window)| *window == mark.as_bytes());
    let (Some((at, _)), None) = (places.next(), places.next()) else {
        panic!("{mark} must be in the component, and only once");
    };
    let mut bytes = BUILT.clone();
    bytes[at..at + mark.len()].copy_from_slice(text(number).as_bytes());
    bytes
}

/// What this revision answers.
pub(crate) fn text(number: u32) -> String {
    format!("revision-{number:08}")
}

/// Which revision answered.
pub(crate) fn number(text: &str) -> u32 {
    let digits = text.strip_prefix("revision-").and_then(|digits| digits.parse().ok());
    digits.unwrap_or_else(|| panic!("this is no revision: {text:?}"))
}

/// Waits for something to come true. Longer than any machine needs: only what never happens fails.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(60), waiting).await;
    assert!(in_time.is_ok(), "not within a minute: {what}");
}

impl House {
    /// Waits until this revision answers.
    pub(crate) async fn serves(&self, number: u32) {
        until(&text(number), async || self.text(NOW).await == text(number)).await;
    }

    /// Reads all the time while something happens: only these revisions may answer, and none is not one.
    pub(crate) async fn answers(&self, among: &[u32], meanwhile: impl Future<Output = ()>) {
        let mut meanwhile = std::pin::pin!(meanwhile);
        loop {
            tokio::select! {
                () = &mut meanwhile => return,
                text = self.text(NOW) => assert!(among.contains(&number(&text)), "{text}"),
            }
        }
    }
}
