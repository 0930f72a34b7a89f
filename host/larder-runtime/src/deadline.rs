//! A timeout whose deadline is computed only if the future has to wait. For a future that is ready at once, the clock
//! is not read and no timer is created.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Instant;

use tokio::time::sleep_until;

/// Returns the output of `work`, or `None` if the deadline passes first. `deadline` is called only if the
/// first poll of `work` is pending.
pub async fn with_deadline<T>(
    deadline: impl FnOnce() -> Instant,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = pin!(work);
    let mut deadline = Some(deadline);
    let mut timer = pin!(None);
    poll_fn(|context| {
        if let Poll::Ready(output) = work.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        if let Some(deadline) = deadline.take() {
            timer.set(Some(sleep_until(deadline().into())));
        }
        timer
            .as_mut()
            .as_pin_mut()
            .map_or(Poll::Pending, |timer| timer.poll(context).map(|()| None))
    })
    .await
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
