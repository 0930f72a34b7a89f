//! What others have to know: what is held back, for `larder approve`, and what was served last, for the next
//! start. Disks are slow and locks may be held, so it is written down on a thread of its own, one note at a time.

use std::future::pending;

use tokio::task::JoinHandle;

use super::approvals::{Approvals, ApprovalsError, Held, Imports};
use crate::drain::Drain;
use crate::name::TeamName;

/// What is to be written down.
#[derive(Debug, Clone)]
pub(super) struct Note {
    pub(super) held: Vec<Held>,
    pub(super) served: Imports,
}

type Writing = JoinHandle<Result<(), ApprovalsError>>;

/// Writes notes down.
pub(super) struct Notes {
    approvals: Approvals,
    team: TeamName,
    drain: Drain,
    /// The newest, where it is not written down yet.
    due: Option<Note>,
    /// What is being written down.
    writing: Option<(Note, Writing)>,
    /// What went wrong last, so that it is told once.
    trouble: Option<String>,
}

impl Notes {
    pub(super) fn new(approvals: Approvals, team: TeamName, drain: Drain) -> Self {
        Self { approvals, team, drain, due: None, writing: None, trouble: None }
    }

    /// Takes the place of what was not written down yet.
    pub(super) fn take(&mut self, note: Note) {
        self.due = Some(note);
        self.write();
    }

    /// Writes what is due, unless something is being written. What failed is due again.
    pub(super) fn write(&mut self) {
        if self.writing.is_some() {
            return;
        }
        let Some(note) = self.due.take() else { return };
        let (approvals, team, copy) = (self.approvals.clone(), self.team.clone(), note.clone());
        self.begin(note, move || approvals.hold(copy.held).and(approvals.serve(&team, &copy.served)));
    }

    fn begin(&mut self, note: Note, work: impl FnOnce() -> Result<(), ApprovalsError> + Send + 'static) {
        self.writing = Some((note, self.drain.spawn_blocking(work)));
    }

    /// The end: what is due is written down, and what failed before is tried once more.
    pub(super) async fn finish(mut self) {
        for _ in 0..2 {
            self.write();
            while self.writing.is_some() {
                self.written().await;
            }
        }
    }

    /// Waits until what is being written is, and goes on with what came meanwhile. What failed waits for the
    /// next round. May be dropped and called again without loss.
    pub(super) async fn written(&mut self) {
        let Some((_, writing)) = &mut self.writing else { return pending().await };
        let ended = writing.await;
        let note = self.writing.take().map(|(note, _)| note);
        let trouble = match ended {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(trouble) = trouble {
            self.complain(trouble);
            self.due = self.due.take().or(note);
        } else {
            self.trouble = None;
            self.write();
        }
    }

    fn complain(&mut self, trouble: String) {
        if self.trouble.as_ref() != Some(&trouble) {
            tracing::error!(
                error = trouble,
                "cannot write down what is held back and what is served; trying again"
            );
            self.trouble = Some(trouble);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_could_not_be_written_is_tried_again_at_the_end() {
        let folder = tempfile::TempDir::new().unwrap();
        let approvals = Approvals::new(&folder.path().join("state"), folder.path());
        let mut notes = Notes::new(approvals.clone(), TeamName::sole(), Drain::new());
        let served = Imports::from([("a".to_owned(), ["import wasi:x".to_owned()].into())]);
        notes.begin(Note { held: vec![], served }, || panic!("a defect"));
        notes.written().await;
        assert!(notes.due.is_some());
        notes.finish().await;
        let a = crate::name::ProviderName::parse("a").unwrap();
        assert!(approvals.served(&TeamName::sole(), &a).unwrap().is_some());
    }
}
