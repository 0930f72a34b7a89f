//! A timeout whose deadline is computed only if the future has to wait. For a future that is ready at once, the clock
//! is not read and no timer is created.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep_until};

/// Returns the output of `work`, or `None` if the deadline passes first. `deadline` is called only if the
/// first poll of `work` is pending.
pub fn with_deadline<D, W>(deadline: D, work: W) -> WithDeadline<D, W>
where
    D: FnOnce() -> Instant,
    W: Future,
{
    WithDeadline {
        work,
        deadline: Some(deadline),
        timer: None,
    }
}

pin_project! {
    /// The future of [`with_deadline`]. An async function would store `work` twice, and futures of calls are moved.
    #[must_use = "futures do nothing unless they are polled"]
    pub struct WithDeadline<D, W> {
        #[pin]
        work: W,
        deadline: Option<D>,
        #[pin]
        timer: Option<Sleep>,
    }
}

impl<D, W> Future for WithDeadline<D, W>
where
    D: FnOnce() -> Instant,
    W: Future,
{
    type Output = Option<W::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Poll::Ready(output) = this.work.poll(context) {
            return Poll::Ready(Some(output));
        }
        if let Some(deadline) = this.deadline.take() {
            this.timer.set(Some(sleep_until(deadline().into())));
        }
        match this.timer.as_pin_mut() {
            Some(timer) => timer.poll(context).map(|()| None),
            None => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn computes_the_deadline_only_if_it_waits_and_returns_none_after_it() {
        assert_eq!(with_deadline(|| unreachable!(), async { 1 }).await, Some(1));
        let soon = || Instant::now() + Duration::from_millis(10);
        assert_eq!(
            with_deadline(soon, std::future::pending::<()>()).await,
            None
        );
        let late = || Instant::now() + Duration::from_secs(600);
        assert_eq!(
            with_deadline(late, tokio::task::yield_now()).await,
            Some(())
        );
    }
}
