//! Looking takes as long as the file system likes, and a mount that is gone answers never. So a look is made on
//! a thread of its own, one at a time, while the loop goes on.

use std::future::pending;
use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::wanted::{Found, Wants};
use crate::drain::Drain;
use crate::source::Watch;

/// Sees what is wanted.
pub(super) struct Sight {
    /// Away while it looks.
    eyes: Option<Eyes>,
    looking: Option<JoinHandle<(Eyes, Looked)>>,
    drain: Drain,
}

struct Eyes {
    wants: Wants,
    /// Whom to wake, once something is watched.
    wake: Option<Arc<Notify>>,
    watch: Option<Watch>,
}

/// What came of a look.
pub(super) struct Looked {
    /// None if the folder could not be looked at: then all stays as it is.
    pub(super) found: Option<Found>,
    pub(super) troubles: Vec<String>,
    /// Why the folder cannot be looked at, for as long as it cannot.
    pub(super) unreadable: Option<String>,
    /// What is wrong with single files, for as long as it is.
    pub(super) unclear: Option<String>,
}

impl Sight {
    pub(super) fn new(wants: Wants, drain: Drain) -> Self {
        Self { eyes: Some(Eyes { wants, wake: None, watch: None }), looking: None, drain }
    }

    /// Whom the system's events wake, from the next look on.
    pub(super) fn watch(&mut self, wake: &Arc<Notify>) {
        self.eyes.iter_mut().for_each(|eyes| eyes.wake = Some(wake.clone()));
    }

    pub(super) fn is_looking(&self) -> bool {
        self.looking.is_some()
    }

    /// Begins a look, unless one is under way.
    pub(super) fn look(&mut self) {
        if let Some(mut eyes) = self.eyes.take() {
            self.looking = Some(self.drain.spawn_blocking(move || {
                let looked = eyes.look();
                (eyes, looked)
            }));
        }
    }

    /// Waits for the end of the look that is under way. May be dropped and called again without loss.
    pub(super) async fn seen(&mut self) -> Looked {
        let Some(looking) = &mut self.looking else { return pending().await };
        let ended = looking.await;
        self.looking = None;
        match ended.map_err(tokio::task::JoinError::try_into_panic) {
            Ok((eyes, looked)) => {
                self.eyes = Some(eyes);
                looked
            }
            // Whoever looks can look no more: that is the loop's own end.
            Err(Ok(panic)) => resume_unwind(panic),
            // Only a runtime that ends drops a look.
            Err(Err(_)) => pending().await,
        }
    }
}

impl Eyes {
    /// Watches anew before it looks: what happens in between is seen by one or the other.
    fn look(&mut self) -> Looked {
        match (self.wake.take(), &mut self.watch) {
            (Some(wake), _) => self.watch = Some(Watch::new(self.wants.folders(), wake)),
            (None, Some(watch)) => watch.arm(),
            (None, None) => {}
        }
        let mut troubles = Vec::new();
        let found = self.wants.look(&mut troubles);
        let unreadable = self.wants.trouble().map(ToOwned::to_owned);
        let unclear = self.wants.unclear().map(ToOwned::to_owned);
        Looked { found, troubles, unreadable, unclear }
    }
}
