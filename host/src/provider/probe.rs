//! A new revision is asked what it is and what it offers before anybody is served from it.

use std::time::Instant;

use futures_util::future::BoxFuture;

use super::convert::Left;
use super::{CallError, ListQuery, Listed, Provider};
use crate::policy::Permit;
use crate::resource::{Entry, Freshness, Scope, Template};
use crate::sandbox::{Fault, FaultKind, Rejection};

/// Calls that a probe may make for one list before it takes what it has.
const PAGES: usize = 64;
/// As many of the longest calls may a whole probe take.
const CALLS: u32 = 3;
/// Characters of a claim that is none.
const CLAIM: usize = 200;

/// What a provider said of itself when it was asked.
#[derive(Debug, Clone)]
pub struct Probed {
    /// Its name for people.
    pub title: Option<String>,
    /// Its own version.
    pub version: Option<String>,
    /// For the reader of the catalog.
    pub summary: Option<String>,
    /// For the model.
    pub instructions: Option<String>,
    /// URI prefixes that are its own beyond what it lists.
    pub claims: Vec<String>,
    /// The first entries of its list, in its order.
    pub entries: Vec<Entry>,
    /// Where its list goes on beyond those.
    pub rest: Option<String>,
    /// All its templates.
    pub templates: Vec<Template>,
    /// How long its list may be reused.
    pub freshness: Freshness,
    /// When it was asked.
    pub asked: Instant,
    /// What was left out of its lists, and why.
    pub left_out: Vec<String>,
}

/// Why a component did not become a provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The file could not be read.
    #[error("cannot read the file: {0}")]
    Unreadable(String),
    /// The file's name is not a name.
    #[error(transparent)]
    BadName(#[from] crate::name::BadName),
    /// More than the limit for components.
    #[error("it is {size} bytes; the limit for components is {limit} (`limits.component`)")]
    TooLarge {
        /// The size of the file.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// More providers than the team may have.
    #[error("the team may have {0} providers, and those before it by name are as many (`quota.providers`)")]
    TooMany(u32),
    /// It is not what the sandbox takes.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// What stands beside it is not what may stand there.
    #[error("the `.toml` beside it has faults: {0}")]
    Beside(String),
    /// It cannot be told what its operator approved.
    #[error("it cannot be told what was approved: {0}")]
    Approvals(String),
    /// It did not answer what every provider is asked.
    #[error("asked for {asked}, it gave no answer: {error}")]
    Probe {
        /// Which question.
        asked: &'static str,
        /// What came instead.
        error: CallError,
    },
}

impl Provider {
    /// Asks for the description, the first entries and all templates, in a time that is bounded as a whole.
    pub async fn probe(&self) -> Result<Probed, LoadError> {
        let limits = &self.terms.grant.limits;
        let bound = (limits.queue + limits.wall) * CALLS;
        let too_long = || LoadError::Probe {
            asked: "all that it lists",
            error: CallError::Unavailable(format!("it was not done within {bound:?}")),
        };
        tokio::time::timeout(bound, self.ask_everything()).await.unwrap_or_else(|_| Err(too_long()))
    }

    async fn ask_everything(&self) -> Result<Probed, LoadError> {
        let asked = Instant::now();
        let failed = |asked| {
            move |error| match error {
                CallError::Fault(Fault { kind: FaultKind::Contract(why), .. }) => {
                    Rejection::Mismatch(why).into()
                }
                error => LoadError::Probe { asked, error },
            }
        };
        let about = self.describe(Permit::host()).await.map_err(failed("its description"))?;
        let entries = self.first_entries().await.map_err(failed("its list"))?;
        let templates = self.all_templates().await.map_err(failed("its templates"))?;
        let (claims, odd): (Vec<_>, Vec<_>) = about.claims.into_iter().partition(|claim| is_claim(claim));
        let mut left = Left::new(&self.terms.grant.secrets);
        for claim in odd {
            let claim: String = left.clean(&claim).chars().take(CLAIM).collect();
            left.out(format!("a claim that is no URI prefix with a scheme: {claim:?}"));
        }
        let left_out = [entries.left_out, templates.left_out, left.notes()].concat();
        let unsaid = Freshness { ttl: std::time::Duration::ZERO, scope: Scope::Everyone };
        Ok(Probed {
            title: about.title,
            version: about.version,
            summary: about.summary,
            instructions: about.instructions,
            claims,
            entries: entries.items,
            rest: entries.next,
            templates: templates.items,
            freshness: entries.freshness.unwrap_or(unsaid),
            asked,
            left_out,
        })
    }

    async fn first_entries(&self) -> Result<Listed<Entry>, CallError> {
        let held = self.terms.grant.limits.held;
        gather(held, self.terms.grant.limits.result, |cursor, have| {
            let limit = (held - have).min(self.terms.grant.limits.page);
            Box::pin(self.list(Permit::host(), ListQuery { cursor, limit, ..ListQuery::default() }))
        })
        .await
    }

    async fn all_templates(&self) -> Result<Listed<Template>, CallError> {
        let held = self.terms.grant.limits.held;
        let page = |cursor, _| -> BoxFuture<_> { Box::pin(self.templates(Permit::host(), cursor)) };
        let mut templates = gather(held, self.terms.grant.limits.result, page).await?;
        if templates.next.take().is_some() {
            templates.left_out.push(format!("templates beyond the first {held} (`limits.held`)"));
        }
        Ok(templates)
    }
}

/// A claim is a prefix, so all it must have is a scheme.
fn is_claim(claim: &str) -> bool {
    claim.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    }) && claim.len() <= 1024
}

/// Page after page until enough is held, the list ends, or it turns out not to end.
async fn gather<'a, T>(
    enough: u32,
    most_bytes: u64,
    mut page: impl FnMut(Option<String>, u32) -> BoxFuture<'a, Result<Listed<T>, CallError>>,
) -> Result<Listed<T>, CallError> {
    let mut all = page(None, 0).await?;
    for _ in 0..PAGES {
        let have = u32::try_from(all.items.len()).unwrap_or(u32::MAX);
        if all.next.is_none() || have >= enough {
            return Ok(all);
        }
        let more = page(all.next.clone(), have).await?;
        if more.next.is_some() && more.next == all.next {
            all.left_out.push("the rest of a list whose cursor does not move".into());
            all.next = None;
            return Ok(all);
        }
        all.bytes += more.bytes;
        if all.bytes > most_bytes {
            all.left_out
                .push(format!("the rest of a list that has more than {most_bytes} bytes (`limits.result`)"));
            all.next = None;
            return Ok(all);
        }
        all.items.extend(more.items);
        all.next = more.next;
        all.left_out.extend(more.left_out);
        all.freshness = match (all.freshness, more.freshness) {
            (Some(one), Some(other)) => Some(one.merge(other)),
            (one, other) => one.or(other),
        };
    }
    Ok(all)
}
