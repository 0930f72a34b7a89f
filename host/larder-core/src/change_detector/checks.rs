//! Checks the content of watched URIs at one provider: with one call if it supports versions, otherwise one
//! by one.

use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;

use super::known_content::Answer;
use crate::catalog::{Catalog, ContentFingerprint, Offer, Route};
use larder_model::name::ProviderName;
use larder_model::policy::Permit;
use larder_model::resource::Match;
use larder_model::uri::Uri;
use larder_provider::{CallError, Provider};

/// Limit of concurrent reads per batch. It is low so that most of a provider's permits stay free for clients.
const MAX_CONCURRENT_READS: usize = 2;
/// After this many failures, the other checks of the batch wait for a retry.
const MAX_FAILURES: usize = 8;

/// A watched URI to check.
#[derive(Debug, Clone)]
pub(super) struct Check {
    pub(super) uri: Uri,
    /// The known version, if there is one.
    pub(super) version: Option<String>,
    /// Whether the watchers were already notified of the change that this check will find.
    pub(super) already_notified: bool,
    /// Whether an event on this replica caused the check. Other replicas may not have noticed such an event.
    pub(super) noticed_here: bool,
}

/// The result of a check.
#[derive(Debug)]
pub(super) struct CheckResult {
    pub(super) check: Check,
    pub(super) answer: Answer,
}

/// Runs a batch and sends each result when it is complete. `provider` is the first provider to call for each URI.
pub(super) async fn check_batch(
    provider: Option<Arc<dyn Provider>>,
    catalog: &Catalog,
    checks: Vec<Check>,
    results: &mpsc::Sender<CheckResult>,
) {
    let Some(provider) = provider.filter(|provider| provider.interfaces().versions) else {
        return check_each(catalog, checks, None, results).await;
    };
    let uris: Vec<_> = checks.iter().map(|check| check.uri.clone()).collect();
    let versions = match provider.versions(Permit::for_host(), &uris).await {
        Ok(versions) => versions,
        Err(error) => {
            tracing::debug!(provider = %provider.name(), %error, "cannot get versions from the provider");
            let answer = answer_of_failed_batch(&error, checks.len());
            return send_to_all(results, checks, &answer).await;
        }
    };
    let mut unversioned_checks = Vec::new();
    for (check, version) in checks.into_iter().zip(versions) {
        match version {
            Some(version) => {
                let content = ContentFingerprint::of_version(version);
                send(results, check, Answer::Present(content)).await
            }
            None => unversioned_checks.push(check),
        }
    }
    // A provider may have no version for an existing resource. Only a read tells whether the resource is missing.
    check_each(catalog, unversioned_checks, Some(provider.name()), results).await;
}

/// The answer for each URI of a batch. Never "missing": the error is not about a particular URI.
fn answer_of_failed_batch(error: &CallError, size: usize) -> Answer {
    match error {
        CallError::Busy | CallError::NoMemory | CallError::QuotaExceeded(_) => Answer::Deferred,
        _ if size > 1 => Answer::BatchTooLarge,
        _ => Answer::Failed,
    }
}

async fn send_to_all(results: &mpsc::Sender<CheckResult>, checks: Vec<Check>, answer: &Answer) {
    for check in checks {
        send(results, check, answer.clone()).await;
    }
}

async fn send(results: &mpsc::Sender<CheckResult>, check: Check, answer: Answer) {
    // Sending fails only at shutdown.
    let _ = results.send(CheckResult { check, answer }).await;
}

async fn check_each(
    catalog: &Catalog,
    checks: Vec<Check>,
    unversioned_provider: Option<&ProviderName>,
    results: &mpsc::Sender<CheckResult>,
) {
    let mut finished = stream::iter(checks)
        .map(|check| async move {
            let answer = check_routes(catalog, &check, unversioned_provider).await;
            CheckResult { check, answer }
        })
        .buffer_unordered(MAX_CONCURRENT_READS);
    let mut failures = 0;
    while let Some(CheckResult { check, answer }) = finished.next().await {
        failures += usize::from(answer.is_failure());
        send(results, check, answer).await;
        if failures >= MAX_FAILURES {
            return;
        }
    }
}

/// Tries the routes of a URI like a client's read: the result is the first answer other than "not found".
/// `unversioned_provider` has already answered that it has no version.
async fn check_routes(
    catalog: &Catalog,
    check: &Check,
    unversioned_provider: Option<&ProviderName>,
) -> Answer {
    for route in catalog.routes(&check.uri) {
        let (offer, matched, claimed) = match route {
            Route::Refused(_) => continue,
            Route::Listed(offer) => (offer, offer.own_match(&check.uri), false),
            Route::Matched(offer, matched) => (offer, matched, false),
            Route::Claimed(offer) => (offer, None, true),
        };
        if unversioned_provider != Some(offer.name()) {
            match version(&*offer.provider, &check.uri).await {
                Ok(Some(version)) => {
                    return Answer::Present(ContentFingerprint::of_version(version));
                }
                Ok(None) | Err(CallError::NotFound) => {}
                Err(error) => return Answer::of_error(&error),
            }
        }
        match read(offer, check, matched, claimed).await {
            Ok(print) => return Answer::Present(print),
            Err(CallError::NotFound) => {}
            Err(error) => return Answer::of_error(&error),
        }
    }
    Answer::Missing
}

async fn version(provider: &dyn Provider, uri: &Uri) -> Result<Option<String>, CallError> {
    if !provider.interfaces().versions {
        return Ok(None);
    }
    Ok(provider
        .versions(Permit::for_host(), std::slice::from_ref(uri))
        .await?
        .pop()
        .flatten())
}

async fn read(
    offer: &Offer,
    check: &Check,
    matched: Option<Match>,
    claimed: bool,
) -> Result<ContentFingerprint, CallError> {
    let provider = &offer.provider;
    let uri = &check.uri;
    let matched = if claimed {
        Some(offer.claimed_match(uri, provider.match_uri(Permit::for_host(), uri).await?)?)
    } else {
        matched
    };
    provider
        .read(
            Permit::for_host(),
            uri,
            matched,
            check.version.clone(),
            Arc::new(|_| true),
        )
        .await
        .map(ContentFingerprint::of_read_result)
}
