//! Supervision of tasks. If a task that runs until shutdown panics, operators see a problem of the server. If possible,
//! the task is started again.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::task::JoinHandle;

use super::Drain;
use crate::health::{Health, Impact};
use crate::metrics::{ComputedFamily, Metrics};

/// The pause before a task is started again. The pause doubles with each panic.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(60);
/// If a task has run for this time since it was started again, its problem is resolved.
const STABLE_AFTER: Duration = Duration::from_secs(60);

/// A task that runs until shutdown.
#[derive(Debug, Clone)]
pub struct SupervisedTask {
    name: String,
    impact: Impact,
}

/// Records the tasks that panicked. Clones share the same record.
#[derive(Debug, Clone, Default)]
pub struct TaskPanics {
    health: Health,
    count: Arc<AtomicU64>,
}

/// Counts a panic if a panic drops it.
pub(super) struct PanicCounter(TaskPanics);

/// Removes the problem of a task when the task ends.
struct ResolveAtEnd<'a> {
    panics: &'a TaskPanics,
    task: &'a SupervisedTask,
}

impl SupervisedTask {
    /// Describes a task. `name` tells operators what the task does, and is unique. `impact` tells which requests cannot
    /// be served without the task.
    pub fn new(name: impl Into<String>, impact: Impact) -> Self {
        Self {
            name: name.into(),
            impact,
        }
    }

    fn health_part(&self) -> String {
        format!("task {}", self.name)
    }
}

impl TaskPanics {
    /// Reports problems to `health`.
    pub fn new(health: Health) -> Self {
        Self {
            health,
            count: Arc::default(),
        }
    }

    /// Registers the number of panics.
    pub fn register_metrics(&self, metrics: &Metrics) {
        let count = self.count.clone();
        let panics = ComputedFamily::counters(move |samples| {
            samples.counter(&[], count.load(Ordering::Relaxed))
        });
        metrics.register(
            "larder_task_panics",
            "Tasks of the server that ended because of a panic",
            panics,
        );
    }

    pub(super) fn counter(&self) -> PanicCounter {
        PanicCounter(self.clone())
    }

    fn report(&self, task: &SupervisedTask, consequence: &str) {
        self.count.fetch_add(1, Ordering::Relaxed);
        tracing::error!(
            task = task.name,
            consequence,
            "a task of the server panicked"
        );
        let message = format!(
            "the task \"{}\" of the server panicked; {consequence}, and report the panic in the log of the server",
            task.name
        );
        self.health
            .report(&task.health_part(), message, task.impact);
    }

    fn resolve(&self, task: &SupervisedTask) {
        self.health.resolve(&task.health_part());
    }
}

impl Drop for PanicCounter {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for ResolveAtEnd<'_> {
    fn drop(&mut self) {
        self.panics.resolve(self.task);
    }
}

impl Drain {
    /// Creates a drain that reports panics of its tasks to `panics`.
    pub fn reporting(panics: TaskPanics) -> Self {
        Self {
            panics,
            ..Self::default()
        }
    }

    /// Spawns a task that runs until shutdown and cannot be started again. If it panics, the problem stays.
    pub fn supervise(&self, task: SupervisedTask, work: impl Future<Output = ()> + Send + 'static) {
        let panics = self.panics.clone();
        self.spawn(async move {
            if AssertUnwindSafe(work).catch_unwind().await.is_err() {
                panics.report(&task, "restart the server");
            }
        });
    }

    /// Spawns a task that runs until shutdown. If it panics, `start` starts it again.
    pub fn supervise_restarting<W>(
        &self,
        task: SupervisedTask,
        start: impl Fn() -> W + Send + Sync + 'static,
    ) -> JoinHandle<Option<()>>
    where
        W: Future<Output = ()> + Send + 'static,
    {
        let drain = self.clone();
        self.spawn(async move { drain.keep_running(&task, start).await })
    }

    async fn keep_running<W>(&self, task: &SupervisedTask, start: impl Fn() -> W)
    where
        W: Future<Output = ()>,
    {
        let _resolve_at_end = ResolveAtEnd {
            panics: &self.panics,
            task,
        };
        let mut pause = FIRST_PAUSE;
        loop {
            // `start` may panic too.
            let work = async { start().await };
            let mut work = Box::pin(AssertUnwindSafe(work).catch_unwind());
            let mut ended = tokio::time::timeout(STABLE_AFTER, &mut work).await.ok();
            if ended.is_none() {
                self.panics.resolve(task);
                pause = FIRST_PAUSE;
                ended = Some(work.await);
            }
            if ended.is_none_or(|ended| ended.is_ok()) {
                return;
            }
            self.panics
                .report(task, &format!("it is started again after {pause:?}"));
            let paused = self.run_until_stopping(tokio::time::sleep(pause)).await;
            if paused.is_none() {
                return;
            }
            pause = pause.saturating_mul(2).min(LAST_PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;
    use crate::metrics::TextFormat;

    fn observed() -> Observation {
        let health = Health::default();
        let panics = TaskPanics::new(health.clone());
        let metrics = Metrics::default();
        panics.register_metrics(&metrics);
        Observation {
            health,
            metrics,
            drain: Drain::reporting(panics),
        }
    }

    struct Observation {
        health: Health,
        metrics: Metrics,
        drain: Drain,
    }

    impl Observation {
        fn problems(&self) -> Vec<String> {
            self.health
                .problems()
                .into_iter()
                .map(|problem| problem.message)
                .collect()
        }

        fn has_counted(&self, panics: u64) -> bool {
            let text = self.metrics.encode(TextFormat::OpenMetrics, None).unwrap();
            text.contains(&format!("larder_task_panics_total {panics}\n"))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_is_reported_and_started_again() {
        let observed = observed();
        let runs = Arc::new(AtomicU32::new(0));
        let counted = runs.clone();
        observed.drain.child().supervise_restarting(
            SupervisedTask::new("pulls", Impact::OneTeam),
            move || {
                let run = counted.fetch_add(1, Ordering::Relaxed);
                async move {
                    assert!(run >= 2, "on purpose");
                    std::future::pending().await
                }
            },
        );
        tokio::time::sleep(Duration::from_millis(500)).await;
        let [problem] = observed.health.problems().try_into().unwrap();
        assert!(
            problem.message.contains("\"pulls\"") && problem.message.contains("again after 1s")
        );
        assert_eq!(problem.impact, Impact::OneTeam);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(
            observed.problems()[0].contains("again after 2s"),
            "{:?}",
            observed.problems()
        );
        assert!(observed.has_counted(2));
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(runs.load(Ordering::Relaxed), 3);
        assert_eq!(observed.problems().len(), 1, "it may panic again");
        tokio::time::sleep(STABLE_AFTER).await;
        assert_eq!(observed.problems(), [""; 0]);
        observed.drain.finish(Duration::from_millis(10)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_is_not_needed_any_more_is_no_problem() {
        let observed = observed();
        let start = || async { panic!("on purpose") };
        let task = SupervisedTask::new("pulls", Impact::OneTeam);
        let running = observed.drain.supervise_restarting(task, start);
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(observed.problems().len(), 1);
        running.abort();
        assert!(running.await.is_err());
        assert_eq!(observed.problems(), [""; 0]);
        let task = SupervisedTask::new("pulls", Impact::OneTeam);
        let ending = observed.drain.supervise_restarting(task, || async {});
        assert_eq!(ending.await.unwrap(), Some(()), "a task may end");
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_does_not_delay_shutdown() {
        let observed = observed();
        let task = SupervisedTask::new("pulls", Impact::OneTeam);
        observed
            .drain
            .supervise_restarting(task, || async { panic!("on purpose") });
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert!(observed.drain.finish(Duration::from_millis(10)).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_cannot_be_started_again_stays_a_problem() {
        let observed = observed();
        let task = SupervisedTask::new("audit log", Impact::AllTeams);
        observed
            .drain
            .supervise(task, async { panic!("on purpose") });
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert!(
            observed.problems()[0].contains("restart the server"),
            "{:?}",
            observed.problems()
        );
        assert!(observed.has_counted(1));
    }

    #[tokio::test]
    async fn panics_of_other_tasks_are_counted() {
        let observed = observed();
        assert!(
            observed
                .drain
                .spawn(async { panic!("on purpose") })
                .await
                .is_err()
        );
        assert!(observed.drain.spawn(async {}).await.is_ok());
        assert!(observed.has_counted(1));
        assert_eq!(observed.problems(), [""; 0]);
    }
}
