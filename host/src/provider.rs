//! A component that was checked, compiled and probed: it can be called, one guest a call.
//! WIT types end here; what leaves this room is ours, bounded and parsed.

mod breaker;
mod convert;
mod counted;
mod error;
mod paid;
mod probe;
mod questions;
mod turns;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use self::breaker::Breaker;
use self::convert::{Left, entry_page, reading, template_match, template_page, versions};
pub use self::error::CallError;
pub use self::probe::{LoadError, Probed};
use self::turns::Turns;
use crate::metrics::Tally;
use crate::name::{Digest, ProviderName, TeamName};
use crate::policy::{Grant, Guests, Permit, Ration};
use crate::resource::{Completing, Completion, Entry, Freshness, Match, Reading, Template};
use crate::sandbox::bindings::exports::larder::provider::{completion_provider, resource_provider as wit};
use crate::sandbox::bindings::larder::provider::provider_types::Error as WitError;
use crate::sandbox::{
    Compiled, Fault, FaultKind, Lease, Outbox, Outgoing, Owner, Pace, Queue, Sandbox, Terms, Work,
};
use crate::uri::Uri;

/// The most values that one completion may give.
const COMPLETIONS: usize = 100;

/// One revision of a provider.
pub struct Provider {
    /// What holds for every guest of it.
    terms: Arc<Terms>,
    revision: u64,
    digest: Digest,
    compiled: Compiled,
    sandbox: Arc<Sandbox>,
    turns: Turns,
    breaker: Breaker,
    since: SystemTime,
    sides: Sides,
}

/// The two sides of what a provider was given, as lines that people read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sides {
    /// What stands beside its component: its author asks for it.
    pub asked: BTreeSet<String>,
    /// What its operator wrote down for it, below the ceiling of the team.
    pub allowed: BTreeSet<String>,
}

/// One page of a provider's own list.
#[derive(Debug)]
pub struct Listed<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Where the provider would go on.
    pub next: Option<String>,
    /// How long it holds; none if the provider did not say.
    pub freshness: Option<Freshness>,
    /// What was left out of it, and why.
    pub left_out: Vec<String>,
    /// How much text is on it.
    pub bytes: u64,
}

/// A question for a part of a provider's list.
#[derive(Debug, Clone, Default)]
pub struct ListQuery {
    /// Where to go on.
    pub cursor: Option<String>,
    /// How many, please.
    pub limit: u32,
    /// A hint: URIs that begin so.
    pub uri_prefix: Option<String>,
    /// A hint: entries of this kind.
    pub kind: Option<String>,
}

impl Provider {
    /// A provider of this team with this grant, not yet probed.
    pub fn new(
        (name, team): (ProviderName, TeamName),
        digest: Digest,
        compiled: Compiled,
        grant: Arc<Grant>,
        sandbox: Arc<Sandbox>,
        signals: Outbox,
        ration: Option<Arc<Ration>>,
    ) -> Self {
        static REVISIONS: AtomicU64 = AtomicU64::new(1);
        // Only what has a folder can wait for one.
        let threads = (!grant.dirs.is_empty()).then(|| sandbox.threads(&team, &name));
        Self {
            since: SystemTime::now(),
            revision: REVISIONS.fetch_add(1, Ordering::Relaxed),
            digest,
            breaker: Breaker::default(),
            turns: Turns::new(&grant.limits),
            terms: Arc::new(Terms {
                tally: sandbox.metrics().provider(&team, &name),
                outgoing: Arc::new(Outgoing::new(&grant)),
                pace: Pace::default(),
                provider: name,
                team,
                grant,
                signals,
                threads,
                ration,
            }),
            compiled,
            sandbox,
            sides: Sides::default(),
        }
    }

    /// Remembers how it came to what it was given.
    pub fn with_sides(mut self, sides: Sides) -> Self {
        self.sides = sides;
        self
    }

    /// How it came to what it was given.
    pub fn sides(&self) -> &Sides {
        &self.sides
    }

    /// Its name.
    pub fn name(&self) -> &ProviderName {
        &self.terms.provider
    }

    /// Whose it is.
    pub fn team(&self) -> &TeamName {
        &self.terms.team
    }

    /// A number that no other revision of any provider has while this process lives. The same component with
    /// other grants is another revision.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The digest of its component.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// When this revision came.
    pub fn since(&self) -> SystemTime {
        self.since
    }

    /// What is counted of it, over all its revisions that live.
    pub fn tally(&self) -> &Tally {
        &self.terms.tally
    }

    /// How long it is set aside yet, because it only faulted; none if it is not.
    pub fn set_aside(&self) -> Option<Duration> {
        self.breaker.set_aside()
    }

    /// What it was given.
    pub fn grant(&self) -> &Arc<Grant> {
        &self.terms.grant
    }

    /// The names of what its component imports.
    pub fn imports(&self) -> &[String] {
        &self.compiled.imports
    }

    /// The names of what its component exports.
    pub fn exports(&self) -> &[String] {
        &self.compiled.exports
    }

    /// Whether it tells versions without being read.
    pub fn tells_versions(&self) -> bool {
        self.compiled.versions.is_some()
    }

    /// Waits for one of its turns, and has a guest do some work.
    async fn call<W: Work>(&self, permit: Permit, work: &W) -> Result<W::Answer, CallError> {
        let queue = Queue::join(self.terms.tally.clone(), self.terms.grant.limits.queue);
        let Some(_turn) = self.turns.take(&queue).await else {
            return Err(CallError::Busy);
        };
        let _team_turn = match &self.terms.ration {
            Some(ration) => Some(ration.turn(queue.left()).await.map_err(CallError::UsedUp)?),
            None => None,
        };
        let lease = Lease { terms: self.terms.clone(), permit };
        let owner = (self.terms.grant.guests == Guests::Reused)
            .then(|| Owner { revision: self.revision, caller: lease.permit.caller().cloned() });
        // On the heap: all that goes on around a guest is large, and each future that waits for it would hold
        // it in itself, and copy it where it is handed on, until a thread's stack has no room for it.
        let ran = Box::pin(self.sandbox.run(&self.compiled, lease, queue, owner, work));
        ran.await.map_err(|fault| self.blame(fault))
    }

    /// The caller is told the kind of a fault; the log gets everything.
    fn blame(&self, fault: Fault) -> CallError {
        if fault.kind == FaultKind::Crowded {
            return CallError::Busy;
        }
        let (team, provider, digest) =
            (self.terms.team.named(), self.terms.provider.as_str(), self.digest.short());
        let Fault { kind, detail, stderr } = &fault;
        tracing::warn!(team, provider, digest, fault = kind.word(), %kind, ?detail, ?stderr, "the provider failed");
        CallError::Fault(fault)
    }

    /// A caller was turned away because others are served: the log hears of all who were, not of each.
    pub fn tell_turned_away(&self, error: &CallError) {
        if let Some(callers) = self.turns.turned_away() {
            let (team, provider) = (self.terms.team.named(), self.terms.provider.as_str());
            tracing::warn!(team, provider, callers, %error, "too many ask at once: callers were turned away");
        }
    }

    async fn describe_once(&self, permit: Permit) -> Result<wit::Description, CallError> {
        self.call(permit, &questions::Describe(&self.compiled)).await
    }

    async fn list_once(&self, permit: Permit, query: ListQuery) -> Result<Listed<Entry>, CallError> {
        let ListQuery { cursor, limit, uri_prefix, kind } = query;
        let query = wit::ListQuery { cursor, limit, uri_prefix, kind };
        let page = self.call(permit, &questions::List(&self.compiled, query)).await?;
        let page = page.map_err(|error| self.told(error))?;
        entry_page(page, self.terms.grant.limits.page, &self.terms.grant.secrets)
    }

    async fn templates_once(
        &self,
        permit: Permit,
        cursor: Option<String>,
    ) -> Result<Listed<Template>, CallError> {
        let page = self.call(permit, &questions::Templates(&self.compiled, cursor)).await?;
        let page = page.map_err(|error| self.told(error))?;
        template_page(page, self.terms.grant.limits.page, &self.terms.grant.secrets)
    }

    async fn match_once(&self, permit: Permit, uri: &Uri) -> Result<Option<Match>, CallError> {
        let found = self.call(permit, &questions::Matching(&self.compiled, uri.as_str())).await?;
        Ok(found.map(template_match))
    }

    async fn read_once(
        &self,
        permit: Permit,
        uri: &Uri,
        matched: Option<Match>,
        known_version: Option<String>,
    ) -> Result<Reading, CallError> {
        let holds_one = known_version.is_some();
        let request = wit::ReadRequest {
            uri: uri.to_string(),
            matched: matched
                .map(|found| wit::TemplateMatch { uri_template: found.template, variables: found.values }),
            known_version,
        };
        let answer = self.call(permit, &questions::Read(&self.compiled, request)).await?;
        let mut left = Left::new(&self.terms.grant.secrets);
        let answer = answer.map_err(|error| match error {
            WitError::NotModified if holds_one => CallError::NotModified,
            error => self.told(error),
        });
        let reading = reading(answer?, uri, &mut left);
        self.tell(&left);
        reading
    }

    async fn complete_once(&self, permit: Permit, ask: Completing) -> Result<Completion, CallError> {
        let Some(functions) = &self.compiled.completion else {
            return Ok(Completion::default());
        };
        let request = completion_provider::CompletionRequest {
            uri_template: ask.template,
            variable: ask.variable,
            prefix: ask.prefix,
            filled: ask.filled,
        };
        let answer = self.call(permit, &questions::Complete(functions, request)).await?;
        let mut answer = answer.map_err(|error| self.told(error))?;
        let more = answer.more || answer.values.len() > COMPLETIONS;
        answer.values.truncate(COMPLETIONS);
        Ok(Completion { values: answer.values, total: answer.total, more })
    }

    async fn versions_once(&self, permit: Permit, uris: &[Uri]) -> Result<Vec<Option<String>>, CallError> {
        let Some(functions) = &self.compiled.versions else {
            return Err(CallError::Failed("it does not tell versions".into()));
        };
        let asked: Vec<String> = uris.iter().map(ToString::to_string).collect();
        let answer = self.call(permit, &questions::Versions(functions, asked)).await?;
        versions(answer.map_err(|error| self.told(error))?, uris.len())
    }

    /// An error of the provider's own, without what nobody may see.
    fn told(&self, error: WitError) -> CallError {
        let clean = |why: String| self.terms.grant.secrets.redact(&why).into_owned();
        CallError::from(match error {
            WitError::NotFound => error,
            // Of what? A client that holds nothing would not know what to make of it either.
            WitError::NotModified => {
                WitError::Failed("it says `not-modified` of something of which no version is held".into())
            }
            WitError::Invalid(why) => WitError::Invalid(clean(why)),
            WitError::Denied(why) => WitError::Denied(clean(why)),
            WitError::Unavailable(why) => WitError::Unavailable(clean(why)),
            WitError::Failed(why) => WitError::Failed(clean(why)),
        })
    }

    fn tell(&self, left: &Left<'_>) {
        let (team, provider) = (self.terms.team.named(), self.terms.provider.as_str());
        for note in left.notes() {
            tracing::warn!(team, provider, %note, "left out of an answer");
        }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.sandbox.forget(self.revision);
    }
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Provider")
            .field("name", &self.terms.provider)
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}
