//! The requests that wait for a part of a resource.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use super::{Account, SharePermit};

/// A waiting request, until the receiver of the permit is dropped.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) account: Arc<Account>,
    pub(super) amount: u64,
    permit: oneshot::Sender<SharePermit>,
}

/// The waiting requests, in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct WaitingList {
    waiters: Mutex<Vec<Waiter>>,
    /// The number of waiting requests, which can be read without the lock.
    count: AtomicUsize,
}

impl WaitingList {
    pub(super) fn is_empty(&self) -> bool {
        self.count.load(SeqCst) == 0
    }

    /// Adds a waiting request. Afterwards, [`Self::serve`] has to be called.
    pub(super) fn join(
        &self,
        account: Arc<Account>,
        amount: u64,
    ) -> oneshot::Receiver<SharePermit> {
        let (permit, received) = oneshot::channel();
        let mut waiters = self.lock();
        waiters.push(Waiter {
            account,
            amount,
            permit,
        });
        self.count.store(waiters.len(), SeqCst);
        received
    }

    /// Gives the parts that `take` returns to the waiting requests. Only the first request of each team is considered;
    /// of these, the request whose team uses least comes first.
    pub(super) fn serve(
        &self,
        take: impl Fn(&Waiter) -> Option<SharePermit>,
        used: impl Fn(&Account) -> u64,
    ) {
        // A part whose request does not wait any more is dropped without the lock, because dropping it serves other
        // requests.
        let mut not_received = Vec::new();
        let mut waiters = self.lock();
        waiters.retain(|waiter| !waiter.permit.is_closed());
        while let Some((at, taken)) = next(&waiters, &take, &used) {
            not_received.extend(waiters.remove(at).permit.send(taken).err());
        }
        self.count.store(waiters.len(), SeqCst);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Waiter>> {
        self.waiters.lock()
    }
}

/// Returns the next request, and the part that it gets.
fn next(
    waiters: &[Waiter],
    take: impl Fn(&Waiter) -> Option<SharePermit>,
    used: impl Fn(&Account) -> u64,
) -> Option<(usize, SharePermit)> {
    let mut firsts: Vec<usize> = Vec::new();
    for (at, waiter) in waiters.iter().enumerate() {
        if !firsts
            .iter()
            .any(|first| Arc::ptr_eq(&waiters[*first].account, &waiter.account))
        {
            firsts.push(at);
        }
    }
    firsts.sort_by_key(|at| used(&waiters[*at].account));
    firsts
        .into_iter()
        .find_map(|at| Some((at, take(&waiters[at])?)))
}
