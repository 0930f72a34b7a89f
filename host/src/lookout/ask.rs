//! Asks one provider what some watched URIs hold: in one call where it tells versions, otherwise one by one.

use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;

use super::held::{Answer, Print};
use crate::catalog::{Catalog, Offer, Route};
use crate::name::ProviderName;
use crate::policy::Permit;
use crate::provider::{CallError, Provider};
use crate::resource::Match;
use crate::uri::Uri;

/// Readings at the same time, so that most turns of a provider are left for those who wait.
const AT_ONCE: usize = 2;
/// Failures after which the rest of a batch is left for another time.
const FAILURES: usize = 8;

/// A question.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) uri: Uri,
    /// The version that is known, if one is.
    pub(super) version: Option<String>,
    /// Those who watch have been told already.
    pub(super) quiet: bool,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) job: Job,
    pub(super) answer: Answer,
}

/// Asks all of it, and passes the answers on as they come. `provider` is the first that is asked for each.
pub(super) async fn ask(
    provider: Option<Arc<Provider>>,
    catalog: &Catalog,
    jobs: Vec<Job>,
    answers: &mpsc::Sender<Answered>,
) {
    let Some(provider) = provider.filter(|provider| provider.tells_versions()) else {
        return one_by_one(catalog, jobs, None, answers).await;
    };
    let uris: Vec<_> = jobs.iter().map(|job| job.uri.clone()).collect();
    let versions = match provider.versions(Permit::host(), &uris).await {
        Ok(versions) => versions,
        Err(error) => {
            tracing::debug!(provider = %provider.name(), %error, "it does not say whether its resources differ");
            // Never "gone": it was not asked about any one of them.
            let answer = match error {
                CallError::Busy | CallError::UsedUp(_) => Answer::NotNow,
                _ if jobs.len() > 1 => Answer::TooMuch,
                _ => Answer::Failed,
            };
            for job in jobs {
                pass(answers, job, answer.clone()).await;
            }
            return;
        }
    };
    let mut others = Vec::new();
    for (job, version) in jobs.into_iter().zip(versions) {
        match version {
            Some(version) => pass(answers, job, Answer::Here(Print::of_version(version))).await,
            None => others.push(job),
        }
    }
    // It may know no version of what it has: only a reading shows that something is gone.
    one_by_one(catalog, others, Some(provider.name()), answers).await;
}

async fn pass(answers: &mpsc::Sender<Answered>, job: Job, answer: Answer) {
    // Nobody takes it only when the house stops.
    let _ = answers.send(Answered { job, answer }).await;
}

async fn one_by_one(
    catalog: &Catalog,
    jobs: Vec<Job>,
    unversioned: Option<&ProviderName>,
    answers: &mpsc::Sender<Answered>,
) {
    let mut asked = stream::iter(jobs)
        .map(|job| async move {
            let answer = walk(catalog, &job, unversioned).await;
            Answered { job, answer }
        })
        .buffer_unordered(AT_ONCE);
    let mut failures = 0;
    while let Some(Answered { job, answer }) = asked.next().await {
        failures += usize::from(answer.is_failure());
        pass(answers, job, answer).await;
        if failures >= FAILURES {
            return;
        }
    }
}

/// As a reader would be answered: the first who does not say "not found". `unversioned` has said already that it
/// knows no version.
async fn walk(catalog: &Catalog, job: &Job, unversioned: Option<&ProviderName>) -> Answer {
    for route in catalog.routes(&job.uri) {
        let (offer, matched, claimed) = match route {
            Route::Refused(_) => continue,
            Route::Listed(offer) => (offer, offer.own_match(&job.uri), false),
            Route::Matched(offer, matched) => (offer, matched, false),
            Route::Claimed(offer) => (offer, None, true),
        };
        if unversioned != Some(offer.name()) {
            match version(&offer.provider, &job.uri).await {
                Ok(Some(version)) => return Answer::Here(Print::of_version(version)),
                Ok(None) | Err(CallError::NotFound) => {}
                Err(error) => return Answer::of_error(&error),
            }
        }
        match read(offer, job, matched, claimed).await {
            Ok(print) => return Answer::Here(print),
            Err(CallError::NotFound) => {}
            Err(error) => return Answer::of_error(&error),
        }
    }
    Answer::Gone
}

async fn version(provider: &Provider, uri: &Uri) -> Result<Option<String>, CallError> {
    if !provider.tells_versions() {
        return Ok(None);
    }
    Ok(provider.versions(Permit::host(), std::slice::from_ref(uri)).await?.pop().flatten())
}

async fn read(offer: &Offer, job: &Job, matched: Option<Match>, claimed: bool) -> Result<Print, CallError> {
    let (provider, uri) = (&offer.provider, &job.uri);
    let matched = match claimed {
        true => Some(offer.claimed(uri, provider.match_uri(Permit::host(), uri).await?)?),
        false => matched,
    };
    provider.read(Permit::host(), uri, matched, job.version.clone()).await.map(Print::of_reading)
}
