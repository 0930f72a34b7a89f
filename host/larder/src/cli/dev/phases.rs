//! How long the steps of a rebuild take.

use std::fmt;
use std::time::{Duration, Instant};

/// The steps so far, in order.
#[derive(Debug, Default)]
pub(super) struct Phases(Vec<(&'static str, Duration)>);

impl Phases {
    /// Adds a step that has ended.
    pub(super) fn add(&mut self, name: &'static str, duration: Duration) {
        self.0.push((name, duration));
    }

    /// Runs a step.
    pub(super) async fn time<T>(&mut self, name: &'static str, step: impl Future<Output = T>) -> T {
        let began = Instant::now();
        let result = step.await;
        self.add(name, began.elapsed());
        result
    }

    pub(super) fn total(&self) -> Duration {
        self.0.iter().map(|(_, duration)| *duration).sum()
    }
}

impl fmt::Display for Phases {
    /// `4.10 s: build 3.20 s, compile and test 0.90 s`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", seconds(self.total()))?;
        for (position, (name, duration)) in self.0.iter().enumerate() {
            write!(
                f,
                "{} {name} {}",
                if position == 0 { ":" } else { "," },
                seconds(*duration)
            )?;
        }
        Ok(())
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_the_steps_after_their_sum() {
        let mut phases = Phases::default();
        phases.add("build", Duration::from_millis(3_200));
        phases.add("load", Duration::from_millis(94));
        assert_eq!(phases.to_string(), "3.29 s: build 3.20 s, load 0.09 s");
    }
}
