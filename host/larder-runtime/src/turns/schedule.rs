//! Decides which job runs next. Teams with work get time in proportion to their weights. The jobs of a team run in
//! turn.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use larder_model::name::TeamName;

/// The queues of all teams.
#[derive(Debug)]
pub struct Schedule<J> {
    /// Never removed, because teams come from the configuration.
    teams: BTreeMap<TeamName, Team<J>>,
    /// The weighted time of the team that had the last turn.
    time: u128,
}

#[derive(Debug)]
struct Team<J> {
    queue: VecDeque<J>,
    /// Number of jobs of the team that were taken and have not returned yet.
    running: usize,
    weight: Duration,
    /// CPU time that the team got, divided by its weight.
    time: u128,
}

impl<J> Default for Schedule<J> {
    fn default() -> Self {
        Self {
            teams: BTreeMap::new(),
            time: 0,
        }
    }
}

impl<J> Schedule<J> {
    /// Adds a job at the end of the queue of its team. A team does not get extra time for a period in which it had no
    /// work.
    pub fn push(&mut self, team: &TeamName, weight: Duration, job: J) {
        if !self.teams.contains_key(team) {
            self.teams.insert(team.clone(), Team::new(weight));
        }
        if let Some(team) = self.teams.get_mut(team) {
            if team.queue.is_empty() && team.running == 0 {
                team.time = team.time.max(self.time);
            }
            team.weight = weight;
            team.queue.push_back(job);
        }
    }

    /// Takes the next job of the team that got the least time.
    pub fn pop(&mut self) -> Option<J> {
        let waiting = self
            .teams
            .values_mut()
            .filter(|team| !team.queue.is_empty());
        let team = waiting.min_by_key(|team| team.time)?;
        self.time = self.time.max(team.time);
        team.running += 1;
        team.queue.pop_front()
    }

    /// Whether another team has a waiting job.
    pub fn has_other(&self, team: &TeamName) -> bool {
        self.teams
            .iter()
            .any(|(name, other)| name != team && !other.queue.is_empty())
    }

    /// Charges the CPU time of a job to its team.
    pub fn charge(&mut self, team: &TeamName, cpu_time: Duration) {
        if let Some(team) = self.teams.get_mut(team) {
            team.running -= 1;
            let weight = team.weight.as_micros().max(1);
            team.time += cpu_time.as_nanos() * 1_000_000 / weight;
        }
    }
}

impl<J> Team<J> {
    fn new(weight: Duration) -> Self {
        Self {
            queue: VecDeque::new(),
            running: 0,
            weight,
            time: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(1);
    const EQUAL: Duration = Duration::from_secs(1);

    fn team(name: &str) -> TeamName {
        TeamName::parse(name).unwrap()
    }

    /// Runs this number of ticks of jobs that never end. Returns the number of ticks of each team, by the first letter
    /// of the team.
    fn ticks(schedule: &mut Schedule<(TeamName, Duration)>, count: usize) -> String {
        let mut order = String::new();
        for _ in 0..count {
            let (team, weight) = schedule.pop().unwrap();
            order.push_str(&team.as_str()[..1]);
            schedule.charge(&team, TICK);
            schedule.push(&team.clone(), weight, (team, weight));
        }
        order
    }

    fn add(schedule: &mut Schedule<(TeamName, Duration)>, name: &str, weight: Duration) {
        schedule.push(&team(name), weight, (team(name), weight));
    }

    #[test]
    fn teams_get_equal_time_whatever_the_number_of_their_jobs() {
        let mut schedule = Schedule::default();
        (0..10).for_each(|_| add(&mut schedule, "many", EQUAL));
        add(&mut schedule, "one", EQUAL);
        let order = ticks(&mut schedule, 1_000);
        assert_eq!(order.matches('o').count(), 500);
    }

    #[test]
    fn a_team_with_twice_the_weight_gets_twice_the_time() {
        let mut schedule = Schedule::default();
        add(&mut schedule, "heavy", EQUAL * 2);
        add(&mut schedule, "light", EQUAL);
        let order = ticks(&mut schedule, 300);
        assert_eq!(order.matches('h').count(), 200);
    }

    #[test]
    fn a_team_that_returns_neither_catches_up_nor_waits() {
        let mut schedule = Schedule::default();
        add(&mut schedule, "busy", EQUAL);
        ticks(&mut schedule, 1_000);
        add(&mut schedule, "new", EQUAL);
        let order = ticks(&mut schedule, 10);
        assert_eq!(order.matches('n').count(), 5, "{order}");
    }

    #[test]
    fn jobs_of_a_team_take_turns() {
        let mut schedule = Schedule::default();
        let only = team("only");
        for job in ["a", "b"] {
            schedule.push(&only, EQUAL, job);
        }
        assert_eq!(
            [schedule.pop(), schedule.pop(), schedule.pop()],
            [Some("a"), Some("b"), None]
        );
    }
}
