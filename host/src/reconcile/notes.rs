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

type Writing = JoinHandle<(Note, Result<(), ApprovalsError>)>;

/// Writes notes down.
pub(super) struct Notes {
    approvals: Approvals,
    team: TeamName,
    drain: Drain,
    /// The newest, where it is not written down yet.
    due: Option<Note>,
    writing: Option<Writing>,
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
        let (approvals, team) = (self.approvals.clone(), self.team.clone());
        self.writing = Some(self.drain.spawn_blocking(move || {
            let held = approvals.hold(note.held.clone());
            let written = held.and(approvals.serve(&team, &note.served));
            (note, written)
        }));
    }

    /// Waits until what is being written is, and goes on with what came meanwhile. What failed waits for the
    /// next round. May be dropped and called again without loss.
    pub(super) async fn written(&mut self) {
        let Some(writing) = &mut self.writing else { return pending().await };
        let ended = writing.await;
        self.writing = None;
        match ended {
            Ok((_, Ok(()))) => {
                self.trouble = None;
                self.write();
            }
            Ok((note, Err(error))) => {
                self.complain(error.to_string());
                self.due.get_or_insert(note);
            }
            Err(error) => self.complain(error.to_string()),
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
