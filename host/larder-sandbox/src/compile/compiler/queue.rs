//! The order of compilations: one compilation runs at a time, and the teams take turns. If another team waits, a turn
//! can end within a compilation: then the processes are paused until the next turn of their team.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex as Lock;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use super::processes::Processes;
use larder_model::name::TeamName;
use larder_runtime::turns::{EQUAL_WEIGHT, Turn, Turns};

/// How long a turn is if another team waits.
const TURN: Duration = Duration::from_secs(5);
/// Maximum number of paused compilations. Each of them keeps its memory.
const MAX_PAUSED: usize = 4;
/// How much longer a turn is if no further compilation can be paused. After that, the compilation is ended, and begins
/// again at the next turn of its team. A turn with this extra time is half of the time after which the first
/// compilation of another team has to begin.
const EXTRA_TURN: Duration = Duration::from_secs(10);

/// The compilations of one priority.
pub(super) struct Queue {
    turns: Turns,
    paused: Arc<Semaphore>,
    teams: TeamQueues,
}

/// One lock per team, which is held during a compilation. A component that several calls need at the same time is
/// compiled only once, because each of them checks the cache again when it has the lock.
#[derive(Default)]
struct TeamQueues(Lock<HashMap<TeamName, Arc<Mutex<()>>>>);

/// A compilation that has begun.
struct Compilation<F> {
    processes: Arc<Processes>,
    work: Pin<Box<F>>,
    /// The place of this compilation among the paused ones.
    _place: Option<OwnedSemaphorePermit>,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            turns: Turns::new(1),
            paused: Arc::new(Semaphore::new(MAX_PAUSED)),
            teams: TeamQueues::default(),
        }
    }
}

impl Queue {
    /// Compiles for a team in its turns. Returns none if the server stops.
    pub(super) async fn run<T, F: Future<Output = T>>(
        &self,
        team: &TeamName,
        compile: impl Fn(Arc<Processes>) -> F,
    ) -> Option<T> {
        let team_queue = self.teams.of(team);
        let _only = team_queue.lock().await;
        let mut paused: Option<Compilation<F>> = None;
        loop {
            let turn = self.turns.take(team, EQUAL_WEIGHT).await?;
            let mut compilation = match paused.take() {
                Some(compilation) => compilation.resume(),
                None => Compilation::begin(&compile),
            };
            let place = tokio::select! {
                biased;
                result = &mut compilation.work => return Some(result),
                place = self.end(&turn) => place,
            };
            let team = team.non_default();
            let is_ended = place.is_none();
            tracing::info!(
                team,
                is_ended,
                "paused a compilation, because another team waits"
            );
            paused = place.map(|place| compilation.pause(place));
        }
    }

    /// Waits until the turn has to end because another team waits. Returns the place for a paused compilation; none if
    /// the compilation has to be ended.
    async fn end(&self, turn: &Turn) -> Option<OwnedSemaphorePermit> {
        sleep(TURN).await;
        turn.is_wanted().await;
        timeout(EXTRA_TURN, self.paused.clone().acquire_owned())
            .await
            .ok()?
            .ok()
    }
}

impl<F> Compilation<F> {
    fn begin(compile: impl Fn(Arc<Processes>) -> F) -> Self {
        let processes = Arc::new(Processes::new());
        Self {
            work: Box::pin(compile(processes.clone())),
            processes,
            _place: None,
        }
    }

    /// Pauses the processes. The future must not be polled until the compilation is resumed.
    fn pause(self, place: OwnedSemaphorePermit) -> Self {
        self.processes.pause();
        Self {
            _place: Some(place),
            ..self
        }
    }

    fn resume(self) -> Self {
        self.processes.resume();
        Self {
            _place: None,
            ..self
        }
    }
}

impl TeamQueues {
    /// The lock of this team.
    fn of(&self, team: &TeamName) -> Arc<Mutex<()>> {
        let mut locks = self.0.lock();
        locks.entry(team.clone()).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use futures_util::future::{join_all, pending};
    use tokio::time::Instant;

    use super::*;

    fn team(name: &str) -> TeamName {
        TeamName::parse(name).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_first_compilation_begins_within_half_a_minute_whatever_others_compile() {
        let queue = Queue::default();
        let begun = AtomicUsize::new(0);
        let teams: Vec<_> = (0..2 * MAX_PAUSED)
            .map(|number| team(&format!("busy-{number}")))
            .collect();
        let endless = |_| {
            begun.fetch_add(1, SeqCst);
            pending::<()>()
        };
        let busy = join_all(teams.iter().map(|team| queue.run(team, endless)));
        let new = async {
            for round in 0..10 {
                // The other compilations are in different states each time.
                tokio::time::sleep(Duration::from_secs(67)).await;
                let team = team(&format!("new-{round}"));
                let waits_since = Instant::now();
                let waited = queue
                    .run(&team, |_| async move { waits_since.elapsed() })
                    .await
                    .unwrap();
                assert!(waited < Duration::from_secs(30), "{waited:?}");
            }
            assert!(
                queue.paused.available_permits() < MAX_PAUSED,
                "some are paused"
            );
        };
        tokio::select! {
            _ = busy => panic!("they do not end"),
            () = new => {}
        }
        assert!(
            begun.load(SeqCst) > teams.len(),
            "some were ended and began again"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_team_that_compiles_alone_is_not_interrupted() {
        let queue = Queue::default();
        let begun = AtomicUsize::new(0);
        let hour = |_| {
            begun.fetch_add(1, SeqCst);
            tokio::time::sleep(Duration::from_secs(3600))
        };
        let only = team("only");
        let all = join_all((0..3).map(|_| queue.run(&only, hour)));
        assert_eq!(all.await.len(), 3);
        assert_eq!(begun.load(SeqCst), 3);
    }
}
