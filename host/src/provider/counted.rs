//! The questions that a provider is asked, each counted by how it ended. A question that nobody waits for any more
//! ends by being dropped.

use std::pin::{Pin, pin};
use std::time::SystemTime;

use super::breaker::SetAside;
use super::{CallError, ListQuery, Listed, Provider, wit};
use crate::metrics::{LastError, Outcome, Tally};
use crate::policy::Permit;
use crate::resource::{Completing, Completion, Entry, Match, Reading, Template};
use crate::sandbox::FaultKind;
use crate::trace::Open;
use crate::uri::Uri;

/// Characters of what is remembered of an error.
const MESSAGE: usize = 400;

impl Provider {
    pub(super) async fn describe(&self, permit: Permit) -> Result<wit::Description, CallError> {
        let (asked, permit) = self.asked("describe", permit);
        self.counted(asked, "", pin!(self.describe_once(permit))).await
    }

    /// A part of its list.
    pub async fn list(&self, permit: Permit, query: ListQuery) -> Result<Listed<Entry>, CallError> {
        let about = query.cursor.clone().unwrap_or_default();
        let (asked, permit) = self.asked("list", permit);
        self.counted(asked, &about, pin!(self.list_once(permit, query))).await
    }

    /// A part of its list of templates.
    pub async fn templates(
        &self,
        permit: Permit,
        cursor: Option<String>,
    ) -> Result<Listed<Template>, CallError> {
        let about = cursor.clone().unwrap_or_default();
        let (asked, permit) = self.asked("templates", permit);
        self.counted(asked, &about, pin!(self.templates_once(permit, cursor))).await
    }

    /// Whether a URI inside its claims is one of its own.
    pub async fn match_uri(&self, permit: Permit, uri: &Uri) -> Result<Option<Match>, CallError> {
        let (asked, permit) = self.asked("match", permit);
        self.counted(asked, uri.as_str(), pin!(self.match_once(permit, uri))).await
    }

    /// What a URI holds.
    pub async fn read(
        &self,
        permit: Permit,
        uri: &Uri,
        matched: Option<Match>,
        known_version: Option<String>,
    ) -> Result<Reading, CallError> {
        let (asked, permit) = self.asked("read", permit);
        self.counted(asked, uri.as_str(), pin!(self.read_once(permit, uri, matched, known_version))).await
    }

    /// Values for a variable of one of its templates. None where it gives no suggestions at all.
    pub async fn complete(&self, permit: Permit, ask: Completing) -> Result<Completion, CallError> {
        let about = ask.template.clone();
        let (asked, permit) = self.asked("complete", permit);
        self.counted(asked, &about, pin!(self.complete_once(permit, ask))).await
    }

    /// The current versions of these URIs, in their order; none where a URI names nothing.
    /// Fails where it does not tell versions at all.
    pub async fn versions(&self, permit: Permit, uris: &[Uri]) -> Result<Vec<Option<String>>, CallError> {
        let about = uris.first().map_or("", Uri::as_str);
        let (asked, permit) = self.asked("versions", permit);
        self.counted(asked, about, pin!(self.versions_once(permit, uris))).await
    }

    /// By its pin: given by value, the call would be in this future twice.
    async fn counted<T>(
        &self,
        asked: Asked,
        about: &str,
        answer: Pin<&mut impl Future<Output = Result<T, CallError>>>,
    ) -> Result<T, CallError> {
        let mut counting = Counting { tally: &self.terms.tally, outcome: Outcome::SetAside };
        let attempt = match self.breaker.attempt() {
            Ok(attempt) => attempt,
            Err(time) => {
                asked.end(Outcome::SetAside);
                return Err(CallError::SetAside(time));
            }
        };
        counting.outcome = Outcome::Cancelled;
        let answer = answer.await;
        match &answer {
            Err(CallError::Fault(_)) => self.tell_set_aside(attempt.faulted(about)),
            // Nothing was asked of it.
            Err(CallError::Busy | CallError::UsedUp(_)) => {}
            _ => attempt.answered(),
        }
        let outcome = answer.as_ref().err().map_or(Outcome::Ok, CallError::outcome);
        counting.outcome = outcome;
        let word = asked.word;
        asked.end(outcome);
        if let Err(error) = &answer
            && outcome.is_trouble()
            // That many ask at once says nothing of it, and would hide what does.
            && outcome != Outcome::Busy
        {
            let message = error.to_string().chars().take(MESSAGE).collect();
            self.terms.tally.trouble(LastError { at: SystemTime::now(), asked: word, outcome, message });
        }
        answer
    }

    fn tell_set_aside(&self, set_aside: Option<SetAside>) {
        if let Some(SetAside(time)) = set_aside {
            let (team, provider, digest) =
                (self.terms.team.named(), self.terms.provider.as_str(), self.digest.short());
            tracing::warn!(
                team,
                provider,
                digest,
                ?time,
                "it only faults: it is set aside, and tried again then"
            );
        }
    }

    /// Begins a question. Where the request is recorded, what the guest does belongs to its span.
    fn asked(&self, word: &'static str, mut permit: Permit) -> (Asked, Permit) {
        let span = permit.trace().and_then(|trace| trace.begin(|| format!("provider {word}")));
        let span = span.map(|mut span| {
            span.say("larder.team", self.terms.team.as_str());
            span.say("larder.provider", self.terms.provider.as_str());
            span.say("larder.digest", self.digest.to_string());
            span.place().into_iter().for_each(|place| permit.put_into(place));
            Box::new(span)
        });
        (Asked { word, span }, permit)
    }
}

/// A question under way.
struct Asked {
    word: &'static str,
    /// In a box, as this lies in the future of each request.
    span: Option<Box<Open>>,
}

impl Asked {
    /// Only what is wrong with the provider is an error of its span: that there is no such thing is an answer.
    fn end(self, outcome: Outcome) {
        if let Some(mut span) = self.span {
            span.say("larder.outcome", outcome.word());
            span.end(outcome.is_trouble().then(|| outcome.word().to_owned()));
        }
    }
}

/// Counts one call when it is dropped, however that comes.
struct Counting<'a> {
    tally: &'a Tally,
    outcome: Outcome,
}

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        self.tally.ended(self.outcome);
    }
}

impl CallError {
    /// One word for it.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::NotFound => Outcome::NotFound,
            Self::NotModified => Outcome::NotModified,
            Self::Invalid(_) | Self::Refused(_) => Outcome::Invalid,
            Self::Denied(_) => Outcome::Denied,
            Self::Unavailable(_) => Outcome::Unavailable,
            Self::Failed(_) => Outcome::Failed,
            Self::Busy | Self::UsedUp(_) => Outcome::Busy,
            Self::SetAside(_) => Outcome::SetAside,
            Self::Fault(fault) => match fault.kind {
                FaultKind::Cpu(_) => Outcome::Cpu,
                FaultKind::Wall(_) => Outcome::Deadline,
                FaultKind::Memory(_) => Outcome::Memory,
                FaultKind::Stack => Outcome::Stack,
                FaultKind::Result(_) => Outcome::ResultSize,
                FaultKind::Exit(_) => Outcome::Exit,
                FaultKind::Contract(_) => Outcome::Contract,
                FaultKind::Trap(_) => Outcome::Trap,
                FaultKind::Crowded => Outcome::Busy,
            },
        }
    }
}
