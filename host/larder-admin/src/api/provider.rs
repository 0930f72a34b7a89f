//! The path `/api/providers/NAME`: everything about one component.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use axum::extract::{Extension, State};
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;

use super::component_view::ComponentView;
use super::provider_parts::{Limits, Offers};
use super::providers::ProviderItem;
use super::query::NameInPath;
use super::response::{ApiError, cut};
use super::time::timestamp;
use crate::operator::Operator;
use crate::response::json;
use crate::{Admin, Grants};
use larder_core::catalog::Offer;
use larder_core::reconcile::{ComponentReport, RevisionRecord};
use larder_model::name::Digest;
use larder_runtime::history::FaultRecord;
use larder_runtime::metrics::{HistogramCounts, Outcome, ProviderMetrics};

/// All data about one component. Without a served revision, data of a served revision are missing.
#[derive(Debug, Serialize)]
struct Provider {
    #[serde(flatten)]
    item: ProviderItem,
    origin: Origin,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<Signature>,
    /// When the served revision was loaded.
    since: Option<String>,
    offers: Option<Offers>,
    grants: Option<Grants>,
    /// The requests of the author, as lines.
    requests: Vec<String>,
    /// The grants that the operator configured, as lines.
    allowed: Vec<String>,
    limits: Option<Limits>,
    /// The newest first.
    revisions: Vec<Revision>,
    outcomes: BTreeMap<&'static str, u64>,
    latency: Option<Latency>,
    breaker: Option<Breaker>,
    /// The newest first.
    faults: Vec<Fault>,
}

/// Where the component comes from.
#[derive(Debug, Serialize)]
struct Origin {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
}

/// The signers whose signatures were verified.
#[derive(Debug, Serialize)]
struct Signature {
    by: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Revision {
    number: Option<u64>,
    digest: Option<String>,
    at: String,
    state: &'static str,
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The durations of all calls.
#[derive(Debug, Serialize)]
struct Latency {
    /// The buckets. Each call is counted in one bucket.
    buckets: Vec<Bucket>,
    sum_seconds: f64,
}

#[derive(Debug, Serialize)]
struct Bucket {
    /// The upper bound in seconds; none for the last bucket.
    le: Option<f64>,
    count: u64,
}

/// The circuit breakers: of all calls, of the list, and of searches.
#[derive(Debug, Serialize)]
struct Breaker {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    failures: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    list_until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    search_until: Option<String>,
}

#[derive(Debug, Serialize)]
struct Fault {
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
    kind: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr: Option<String>,
}

pub(super) async fn get(
    State(admin): State<Admin>,
    Extension(operator): Extension<Operator>,
    NameInPath(name): NameInPath,
) -> Result<Response, ApiError> {
    let may_read = admin.0.authentication.may_read(&operator);
    let view = ComponentView::find(&admin.0.sources.teams.borrow(), &name);
    let view = view.ok_or_else(|| ApiError::unknown_provider(&name))?;
    Ok(json(StatusCode::OK, &Provider::of(&view, may_read)))
}

impl Provider {
    fn of(view: &ComponentView, may_read: bool) -> Self {
        let offer = view.offer.as_deref();
        let report = view.report.as_ref();
        let provider = offer.map(|offer| &*offer.provider);
        let sources = provider
            .map(|provider| provider.facts().grant_sources.clone())
            .unwrap_or_default();
        let metrics = provider.map(|provider| provider.metrics());
        Self {
            item: ProviderItem::of(view),
            origin: Origin::of(view, report),
            signature: report.and_then(Signature::of),
            since: provider.map(|provider| timestamp(provider.facts().since)),
            offers: offer.map(|offer| Offers::of(offer, view.skills.as_deref(), may_read)),
            grants: provider.map(|provider| Grants::of(provider.grant())),
            requests: sources.requested.into_iter().collect(),
            allowed: sources.allowed.into_iter().collect(),
            limits: provider.map(|provider| Limits::of(&provider.grant().limits)),
            revisions: report.map(Revision::all).unwrap_or_default(),
            outcomes: offer.map(outcomes).unwrap_or_default(),
            latency: metrics.map(|metrics| Latency::of(&metrics.totals().durations)),
            breaker: offer.map(Breaker::of),
            faults: metrics.map(Fault::all).unwrap_or_default(),
        }
    }
}

impl Origin {
    fn of(view: &ComponentView, report: Option<&ComponentReport>) -> Self {
        let origin = report.map_or_else(|| view.name.clone(), |report| cut(&report.origin));
        // Only the name of a file contains no slash.
        if !origin.contains('/') {
            Self {
                kind: "folder",
                file: Some(origin),
                reference: None,
            }
        } else {
            Self {
                kind: "registry",
                file: None,
                reference: Some(origin),
            }
        }
    }
}

impl Signature {
    fn of(report: &ComponentReport) -> Option<Self> {
        let by: Vec<_> = report.signers.iter().map(|signer| cut(signer)).collect();
        (!by.is_empty()).then_some(Self { by })
    }
}

impl Revision {
    fn all(report: &ComponentReport) -> Vec<Self> {
        report.revisions.iter().rev().map(Self::of).collect()
    }

    fn of(record: &RevisionRecord) -> Self {
        Self {
            number: record.number,
            digest: record.digest.as_ref().map(Digest::to_string),
            at: timestamp(record.at),
            state: record.state.label(),
            size: record.size,
            error: record.error.clone(),
        }
    }
}

impl Latency {
    fn of(durations: &HistogramCounts) -> Self {
        let bucket = |(le, count): &(f64, u64)| Bucket {
            le: le.is_finite().then_some(*le),
            count: *count,
        };
        Self {
            buckets: durations.buckets().iter().map(bucket).collect(),
            sum_seconds: durations.sum_seconds(),
        }
    }
}

impl Breaker {
    fn of(offer: &Offer) -> Self {
        let circuits = offer.provider.circuits();
        let now = SystemTime::now();
        let until = |time: Option<Duration>| time.map(|time| timestamp(now + time));
        let open = circuits.calls_open_for;
        Self {
            state: if open.is_some() { "open" } else { "closed" },
            until: until(open),
            failures: circuits.consecutive_faults,
            list_until: until(circuits.list_open_for),
            search_until: until(circuits.search_open_for),
        }
    }
}

impl Fault {
    fn all(metrics: &ProviderMetrics) -> Vec<Self> {
        let faults = metrics.history.faults();
        faults.into_iter().map(Self::of).collect()
    }

    fn of(fault: FaultRecord) -> Self {
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        Self {
            at: timestamp(fault.at),
            uri: some(fault.subject),
            kind: fault.kind,
            message: fault.message,
            stderr: some(fault.stderr),
        }
    }
}

/// The number of calls by outcome; outcomes that did not occur are omitted.
fn outcomes(offer: &Offer) -> BTreeMap<&'static str, u64> {
    let metrics = offer.provider.metrics();
    let counts = Outcome::ALL
        .iter()
        .map(|outcome| (outcome.label(), metrics.calls(*outcome)));
    counts.filter(|(_, count)| *count > 0).collect()
}
