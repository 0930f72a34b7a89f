//! Waiting with an end to it. What is there already costs no look at a clock.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Instant;

use tokio::time::sleep_until;

/// What comes of this, or none when the time that it may take is over. `until` is asked for once it has to be waited for.
pub async fn until<T>(until: impl FnOnce() -> Instant, what: impl Future<Output = T>) -> Option<T> {
    let mut what = pin!(what);
    let mut until = Some(until);
    let mut over = pin!(None);
    poll_fn(|waker| {
        if let Poll::Ready(done) = what.as_mut().poll(waker) {
            return Poll::Ready(Some(done));
        }
        if let Some(until) = until.take() {
            over.set(Some(sleep_until(until().into())));
        }
        over.as_mut().as_pin_mut().map_or(Poll::Pending, |over| over.poll(waker).map(|()| None))
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn what_is_there_is_had_without_a_clock_and_what_does_not_come_is_given_up() {
        assert_eq!(until(|| unreachable!(), async { 1 }).await, Some(1));
        let soon = || Instant::now() + Duration::from_millis(10);
        assert_eq!(until(soon, std::future::pending::<()>()).await, None);
        let late = || Instant::now() + Duration::from_secs(600);
        assert_eq!(until(late, tokio::task::yield_now()).await, Some(()));
    }
}
