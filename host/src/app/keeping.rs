//! What keeps the catalog up to date. Without it the house would go on and serve what is old, and nobody would
//! know: so where one of these breaks, the house ends, and whoever started it starts it again.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;

use crate::drain::Drain;

/// Runs tasks that have to run for as long as the house does.
#[derive(Debug, Clone)]
pub(super) struct Keeping {
    drain: Drain,
    broken: CancellationToken,
}

impl Keeping {
    pub(super) fn new(drain: Drain) -> Self {
        Self { drain, broken: CancellationToken::new() }
    }

    /// Runs one of them. `what` names it in the log.
    pub(super) fn spawn(&self, what: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let broken = self.broken.clone();
        self.drain.spawn(async move {
            if AssertUnwindSafe(task).catch_unwind().await.is_err() {
                tracing::error!(task = what, "a task broke without which nothing would be kept up to date");
                broken.cancel();
            }
        });
    }

    /// Completes once one of them broke.
    pub(super) async fn broke(&self) {
        self.broken.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn one_that_breaks_is_noticed_and_one_that_ends_is_not() {
        let keeping = Keeping::new(Drain::new());
        keeping.spawn("sound", async {});
        keeping.drain.finish(Duration::from_secs(60)).await;
        assert!(!keeping.broken.is_cancelled());
        let keeping = Keeping::new(Drain::new());
        keeping.spawn("unsound", async { panic!("on purpose") });
        tokio::time::timeout(Duration::from_secs(60), keeping.broke()).await.expect("nobody noticed");
    }
}
