//! Follows a file: whenever it differs and is at rest, something is done with it, on a thread of its own, since a disk
//! may take its time. What fails is tried again, and is told in the log and to the operator until it is right.

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::drain::Drain;
use crate::health::{Concerns, Health};
use crate::source::{REST, Watch};
use crate::stamp::Stamp;

/// How long until what failed is tried again; twice as long each time, up to the longest.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// Events come in flocks; this is how long a look waits for the rest of one.
const FLOCK: Duration = Duration::from_millis(20);

/// One file that is followed.
pub(super) struct Follow {
    /// What is followed, in words.
    pub(super) what: &'static str,
    pub(super) file: PathBuf,
    /// As it was when it was read last.
    pub(super) known: Option<Stamp>,
    /// How often it is looked at when nothing says that it changed.
    pub(super) poll: Duration,
    pub(super) health: Health,
    pub(super) wake: Arc<Notify>,
}

struct Eyes {
    follow: Follow,
    /// Begun by the first look.
    watch: Option<Watch>,
    latest: (Option<Stamp>, Instant),
    trouble: Option<String>,
    pause: Duration,
    retry: Instant,
}

impl Follow {
    /// Does this with the file whenever it differs, until the house stops. What goes wrong is a sentence.
    pub(super) async fn run(
        self,
        drain: Drain,
        work: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) {
        let (wake, work) = (self.wake.clone(), Arc::new(work));
        let mut eyes = Eyes::new(self);
        let mut is_woken = true;
        loop {
            let work = work.clone();
            let look = drain.spawn_blocking(move || {
                let again = eyes.look(is_woken, &*work);
                (eyes, again)
            });
            let looked = tokio::select! {
                () = drain.stopping() => return,
                looked = look => looked,
            };
            let again = match looked.map_err(tokio::task::JoinError::try_into_panic) {
                Ok((own, again)) => {
                    eyes = own;
                    again
                }
                // Who follows can follow no more.
                Err(Ok(panic)) => resume_unwind(panic),
                // Only a runtime that ends drops a look.
                Err(Err(_)) => return,
            };
            is_woken = tokio::select! {
                () = drain.stopping() => return,
                () = tokio::time::sleep(again) => false,
                () = wake.notified() => {
                    tokio::time::sleep(FLOCK).await;
                    true
                }
            };
        }
    }
}

impl Eyes {
    fn new(follow: Follow) -> Self {
        let now = Instant::now();
        Self { latest: (follow.known, now), watch: None, trouble: None, pause: PAUSE, retry: now, follow }
    }

    /// Watches anew.
    fn watch(&mut self) {
        if let Some(watch) = &mut self.watch {
            return watch.arm();
        }
        // A bare file name has an empty parent, which means here.
        let folder = self.follow.file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.map_or_else(|| PathBuf::from("."), ToOwned::to_owned);
        self.watch = Some(Watch::new([folder], self.follow.wake.clone()));
    }

    /// Looks, and says in what time to look again. Half of a file may be valid too, so it has to be at rest.
    fn look(&mut self, is_woken: bool, work: &dyn Fn() -> Result<(), String>) -> Duration {
        // Before it looks: what happens in between is seen by one or the other.
        self.watch();
        let (stamp, now) = (Stamp::of(&self.follow.file).ok(), Instant::now());
        if stamp == self.follow.known {
            self.right();
            return self.follow.poll;
        }
        if stamp != self.latest.0 {
            self.latest = (stamp, now);
            self.retry = now;
            self.pause = PAUSE;
        }
        let rested = self.latest.1.elapsed();
        if rested < REST {
            return REST - rested;
        }
        if is_woken || self.retry <= now {
            let done = match stamp {
                Some(_) => work(),
                None => Err(format!("{} is gone: all stays as it is until it is there again", self.name())),
            };
            match done {
                Ok(()) => {
                    tracing::info!(file = %self.name(), "{} read again", self.follow.what);
                    self.follow.known = stamp;
                    self.right();
                }
                Err(trouble) => self.wrong(trouble),
            }
        }
        self.follow.poll
    }

    fn name(&self) -> String {
        self.follow.file.display().to_string()
    }

    fn right(&mut self) {
        if self.trouble.take().is_some() {
            self.follow.health.right(self.follow.what);
        }
    }

    /// Told once, not at every try.
    fn wrong(&mut self, trouble: String) {
        self.retry = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(LONGEST);
        if self.trouble.as_ref() != Some(&trouble) {
            tracing::warn!("{}: {trouble}", self.follow.what);
            let what = format!("{}: {trouble}", self.follow.what);
            self.follow.health.wrong(self.follow.what, what, Concerns::Operator);
            self.trouble = Some(trouble);
        }
    }
}
