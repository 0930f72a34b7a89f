//! Writes the pending approvals for `larder approve`, and the served revisions for the next start. Disks are slow and
//! file locks may be held, so writing happens on a blocking thread, one write at a time.

use std::future::pending;

use tokio::task::JoinHandle;

use super::approvals::{Approvals, ApprovalsError, Imports, OfferRecords, PendingApprovalRecord};
use larder_model::name::TeamName;
use larder_runtime::drain::Drain;

/// The state that is written.
#[derive(Debug, Clone)]
pub(super) struct PersistedState {
    pub(super) pending: Vec<PendingApprovalRecord>,
    pub(super) served: Imports,
    pub(super) offers: OfferRecords,
}

type WriteTask = JoinHandle<Result<(), ApprovalsError>>;

/// Writes the state in the background.
pub(super) struct StateWriter {
    approvals: Approvals,
    team: TeamName,
    drain: Drain,
    /// The newest state that is not written yet.
    queued: Option<PersistedState>,
    /// The state that is being written.
    writing: Option<(PersistedState, WriteTask)>,
    /// The last error, so that a repeated error is logged once.
    last_error: Option<String>,
}

impl StateWriter {
    pub(super) fn new(approvals: Approvals, team: TeamName, drain: Drain) -> Self {
        Self {
            approvals,
            team,
            drain,
            queued: None,
            writing: None,
            last_error: None,
        }
    }

    /// Queues a state for writing. The state replaces a queued state.
    pub(super) fn save(&mut self, state: PersistedState) {
        self.queued = Some(state);
        self.write_queued();
    }

    /// Starts to write the queued state, unless a write is running. A failed write is queued again.
    pub(super) fn write_queued(&mut self) {
        if self.writing.is_some() {
            return;
        }
        let Some(state) = self.queued.take() else {
            return;
        };
        let approvals = self.approvals.clone();
        let team = self.team.clone();
        let copy = state.clone();
        self.start(state, move || {
            let recorded = approvals.record_served(&team, &copy.served, &copy.offers);
            approvals.set_pending(copy.pending).and(recorded)
        });
    }

    fn start(
        &mut self,
        state: PersistedState,
        work: impl FnOnce() -> Result<(), ApprovalsError> + Send + 'static,
    ) {
        self.writing = Some((state, self.drain.spawn_blocking(work)));
    }

    /// Writes the queued state before shutdown. A failed write is tried once more.
    pub(super) async fn flush(mut self) {
        for _ in 0..2 {
            self.write_queued();
            while self.writing.is_some() {
                self.finished().await;
            }
        }
    }

    /// Waits for the running write, then starts the queued write. A failed write waits for the next pass. Cancel safe.
    pub(super) async fn finished(&mut self) {
        let Some((_, writing)) = &mut self.writing else {
            return pending().await;
        };
        let ended = writing.await;
        let state = self.writing.take().map(|(state, _)| state);
        let last_error = match ended {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(last_error) = last_error {
            self.report(last_error);
            self.queued = self.queued.take().or(state);
        } else {
            self.last_error = None;
            self.write_queued();
        }
    }

    fn report(&mut self, last_error: String) {
        if self.last_error.as_ref() != Some(&last_error) {
            tracing::error!(
                error = last_error,
                "cannot write pending approvals and served providers; trying again"
            );
            self.last_error = Some(last_error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn flush_retries_a_failed_write() {
        let folder = tempfile::TempDir::new().unwrap();
        let approvals = Approvals::new(&folder.path().join("state"), folder.path());
        let mut writer =
            StateWriter::new(approvals.clone(), TeamName::default_team(), Drain::new());
        let served = Imports::from([("a".to_owned(), ["import wasi:x".to_owned()].into())]);
        let offers = OfferRecords::new();
        writer.start(
            PersistedState {
                pending: vec![],
                served,
                offers,
            },
            || panic!("a defect"),
        );
        writer.finished().await;
        assert!(writer.queued.is_some());
        writer.flush().await;
        let a = larder_model::name::ProviderName::parse("a").unwrap();
        assert!(
            approvals
                .last_served(&TeamName::default_team(), &a)
                .unwrap()
                .is_some()
        );
    }
}
