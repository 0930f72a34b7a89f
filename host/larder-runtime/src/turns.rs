//! Turns of teams for long work of which only little may run at the same time. A team gets time in proportion to its
//! weight, independently of the amount of waiting work of other teams.

mod schedule;

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, oneshot};

pub use self::schedule::Schedule;
use larder_model::name::TeamName;

/// The weight of a team without a configured weight.
pub const EQUAL_WEIGHT: Duration = Duration::from_secs(1);

/// The turns. Clones share the same turns.
#[derive(Debug, Clone)]
pub struct Turns(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    /// Notified when another team begins to wait.
    arrived: Notify,
}

#[derive(Debug)]
struct State {
    schedule: Schedule<Waiter>,
    /// How many more turns can begin.
    free: usize,
}

/// A waiting request for a turn, until the receiver of the turn is dropped.
#[derive(Debug)]
struct Waiter {
    team: TeamName,
    turn: oneshot::Sender<Turn>,
}

/// The turn of a team. It ends on drop. Then its time is charged to the team.
#[derive(Debug)]
pub struct Turn {
    turns: Turns,
    team: TeamName,
    began: Instant,
}

impl Turns {
    /// Creates turns of which at most `max` are taken at the same time.
    pub fn new(max: usize) -> Self {
        let state = Mutex::new(State {
            schedule: Schedule::default(),
            free: max,
        });
        Self(Arc::new(Inner {
            state,
            arrived: Notify::new(),
        }))
    }

    /// Waits for the next turn of a team with this weight.
    pub async fn take(&self, team: &TeamName, weight: Duration) -> Option<Turn> {
        let (turn, received) = oneshot::channel();
        self.lock().schedule.push(
            team,
            weight,
            Waiter {
                team: team.clone(),
                turn,
            },
        );
        self.begin_next();
        self.0.arrived.notify_waiters();
        // A waiting request is not removed without a turn.
        received.await.ok()
    }

    /// Begins as many turns as can begin.
    fn begin_next(&self) {
        // A turn whose request does not wait any more ends without the lock, because its end begins another turn.
        let mut not_received = Vec::new();
        let mut state = self.lock();
        while state.free > 0 {
            let Some(Waiter { team, turn }) = state.schedule.pop() else {
                break;
            };
            if turn.is_closed() {
                state.schedule.charge(&team, Duration::ZERO);
                continue;
            }
            state.free -= 1;
            let begun = Turn {
                turns: self.clone(),
                team,
                began: Instant::now(),
            };
            not_received.extend(turn.send(begun).err());
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }
}

impl Turn {
    /// Waits until another team waits for a turn.
    pub async fn is_wanted(&self) {
        loop {
            let arrived = self.turns.0.arrived.notified();
            tokio::pin!(arrived);
            arrived.as_mut().enable();
            if self.turns.lock().schedule.has_other(&self.team) {
                return;
            }
            arrived.await;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.turns.lock();
        state.schedule.charge(&self.team, self.began.elapsed());
        state.free += 1;
        drop(state);
        self.turns.begin_next();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;

    use super::*;

    #[tokio::test]
    async fn a_new_team_comes_before_those_that_had_turns() {
        let turns = Turns::new(1);
        let [busy, new] = ["busy", "new"].map(|name| TeamName::parse(name).unwrap());
        let take = |team| Box::pin(turns.take(team, EQUAL_WEIGHT));
        let first = take(&busy).await.unwrap();
        let mut second = take(&busy);
        let mut third = take(&busy);
        assert!(poll!(second.as_mut()).is_pending() && poll!(third.as_mut()).is_pending());
        let mut wanted = Box::pin(first.is_wanted());
        assert!(
            poll!(wanted.as_mut()).is_pending(),
            "only its own team waits"
        );
        let mut other = take(&new);
        assert!(poll!(other.as_mut()).is_pending());
        wanted.await;
        // A request that does not wait any more gets no turn.
        drop(second);
        drop(first);
        let other = other.await.unwrap();
        assert!(poll!(third.as_mut()).is_pending());
        drop(other);
        drop(third.await.unwrap());
        assert!(take(&new).await.is_some());
    }
}
