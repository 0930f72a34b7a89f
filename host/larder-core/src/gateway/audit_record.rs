//! Records each read in the audit log, whether it was answered by a provider or from the cache, and however
//! it ended.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use serde_json::value::RawValue;

use super::{Error, Gateway};
use crate::audit::{AuditLine, AuditSlot};
use crate::catalog::Offer;
use larder_model::name::TeamName;
use larder_model::resource::{Body, Call, ReadResult};
use larder_runtime::metrics::Outcome;
use larder_sandbox::provider::Provider;

/// Maximum length of a URI, and of a request id, in the log in bytes.
const MAX_LEN: usize = 4 << 10;

/// What the steps of a read report for the audit record.
#[derive(Debug, Default)]
pub(super) struct AuditContext {
    /// The provider that was called last.
    provider: Option<Arc<Provider>>,
    /// The outcome of the last call, if it was an error.
    pub(super) error: Option<Outcome>,
    /// Whether the response came from the cache.
    pub(super) cached: bool,
    enabled: bool,
}

impl AuditContext {
    /// Notes that this provider is called now.
    pub(super) fn set_provider(&mut self, offer: &Offer) {
        if self.enabled {
            self.provider = Some(offer.provider.clone());
        }
    }
}

impl Gateway {
    /// Reads a URI. `known_version` is the version that the caller has already: if that is still the current
    /// one, the result is the error `NotModified`.
    pub async fn read(
        &self,
        call: &Arc<Call>,
        uri: &str,
        known_version: Option<&str>,
    ) -> Result<ReadResult, Error> {
        let teams = call.caller.as_ref().map(|caller| &caller.teams);
        let Some(slot) = self.audit.reserve(teams).await? else {
            return self.read_unaudited(call, uri, known_version, &mut AuditContext::default()).await;
        };
        let mut record = PendingRecord {
            slot: Some(slot),
            call,
            uri,
            started: Instant::now(),
            context: AuditContext { enabled: true, ..AuditContext::default() },
            outcome: Outcome::Cancelled.word(),
            bytes: 0,
        };
        let result = self.read_unaudited(call, uri, known_version, &mut record.context).await;
        record.set_result(&result);
        result
    }
}

/// An audit record in preparation. It is written when it is dropped, so that cancelled reads are recorded,
/// too.
struct PendingRecord<'a> {
    slot: Option<AuditSlot>,
    call: &'a Call,
    uri: &'a str,
    started: Instant,
    context: AuditContext,
    outcome: &'static str,
    bytes: u64,
}

impl PendingRecord<'_> {
    fn set_result(mut self, result: &Result<ReadResult, Error>) {
        self.outcome = match result {
            Ok(_) => Outcome::Ok.word(),
            Err(Error::NotFound { .. }) => Outcome::NotFound.word(),
            Err(Error::NotModified { .. }) => Outcome::NotModified.word(),
            Err(Error::BadUri(_)) => "bad-uri",
            Err(Error::Refused { .. }) => "refused",
            Err(_) => self.context.error.unwrap_or(Outcome::Failed).word(),
        };
        let contents = result.iter().flat_map(|result| result.contents.iter());
        let sizes = contents.map(|content| match &content.body {
            Body::Text(text) => text.len() as u64,
            Body::Blob(blob) => blob.len() as u64,
        });
        self.bytes = sizes.sum();
    }
}

impl Drop for PendingRecord<'_> {
    fn drop(&mut self) {
        let Some(slot) = self.slot.take() else { return };
        let caller = self.call.caller.as_ref();
        let provider = self.context.provider.as_deref();
        let team = match provider {
            Some(provider) => provider.team().as_str().into(),
            None => {
                let teams = caller.into_iter().flat_map(|caller| caller.teams.iter());
                teams.map(TeamName::as_str).collect::<Vec<_>>().join(",").into()
            }
        };
        let uri = &self.uri[..self.uri.floor_char_boundary(MAX_LEN)];
        let request = self.call.request_id.as_deref().map(truncated_id);
        slot.write(&AuditLine {
            time: SystemTime::now(),
            request: request.as_deref(),
            subject: caller.and_then(|caller| caller.subject.as_deref()),
            team,
            uri,
            uri_cut: uri.len() < self.uri.len(),
            provider: provider.map(|provider| provider.name().as_str()),
            digest: provider.map(Provider::digest),
            outcome: self.outcome,
            cached: self.context.cached,
            bytes: self.bytes,
            ms: self.started.elapsed().as_micros() as f64 / 1e3,
        });
    }
}

/// Returns the id as it was received; of a very long one, its beginning as a string.
fn truncated_id(json: &str) -> Cow<'_, RawValue> {
    let whole = (json.len() <= MAX_LEN).then(|| serde_json::from_str(json).ok()).flatten();
    whole.map_or_else(
        || {
            let begin = &json[..json.floor_char_boundary(MAX_LEN)];
            // A string always serializes to valid JSON.
            Cow::Owned(serde_json::value::to_raw_value(begin).unwrap_or_default())
        },
        Cow::Borrowed,
    )
}
