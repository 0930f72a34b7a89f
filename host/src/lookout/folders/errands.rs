//! Work on folders that may never come back, as a mount that is gone answers never: one errand at a time for each folder,
//! so that it holds one thread, and nobody else waits for it.

use std::collections::BTreeMap;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;

use crate::drain::Drain;

/// Who is out for so long is worth a line in the log.
const LONG: Duration = Duration::from_secs(20);

pub(super) struct Errands<T> {
    drain: Drain,
    out: BTreeMap<PathBuf, Out>,
    running: FuturesUnordered<BoxFuture<'static, (PathBuf, Option<T>)>>,
}

/// An errand that is under way.
struct Out {
    since: Instant,
    /// It was asked for again meanwhile.
    again: bool,
    told: bool,
}

impl<T: Send + 'static> Errands<T> {
    pub(super) fn new(drain: Drain) -> Self {
        Self { drain, out: BTreeMap::new(), running: FuturesUnordered::new() }
    }

    /// Does this for a folder on a thread of its own, unless something is being done for it already.
    pub(super) fn send(&mut self, folder: &Path, work: impl FnOnce() -> T + Send + 'static) {
        if let Some(out) = self.out.get_mut(folder) {
            out.again = true;
            if !out.told && out.since.elapsed() > LONG {
                out.told = true;
                tracing::warn!(folder = %folder.display(), "a granted folder has not answered for long; what changes there is not noticed");
            }
            return;
        }
        self.out.insert(folder.to_owned(), Out { since: Instant::now(), again: false, told: false });
        let (folder, work) = (folder.to_owned(), self.drain.spawn_blocking(work));
        self.running.push(Box::pin(async move { (folder, work.await.ok()) }));
    }

    /// Waits for the next that comes back: from which folder, with what (nothing if it broke), and whether it was asked for
    /// again meanwhile. May be dropped and called again without loss.
    pub(super) async fn back(&mut self) -> (PathBuf, Option<T>, bool) {
        match self.running.next().await {
            Some((folder, came)) => {
                let again = self.out.remove(&folder).is_some_and(|out| out.again);
                (folder, came, again)
            }
            None => pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_does_not_come_back_keeps_nobody_from_going() {
        let mut errands = Errands::new(Drain::new());
        let (release, held) = std::sync::mpsc::channel::<()>();
        let (dead, well) = (Path::new("dead"), Path::new("well"));
        errands.send(dead, move || held.recv().is_ok());
        for _ in 0..2 {
            errands.send(well, || true);
            assert_eq!(errands.back().await, (well.into(), Some(true), false));
            errands.send(dead, || panic!("a second thread for a folder that holds one"));
        }
        release.send(()).unwrap();
        assert_eq!(errands.back().await, (dead.into(), Some(true), true));
        errands.send(dead, || false);
        assert_eq!(errands.back().await, (dead.into(), Some(false), false));
    }
}
