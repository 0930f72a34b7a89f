//! The record of a read in the audit log, whether a provider or the cache answered it, and however it ended.

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
use larder_sandbox::provider::{CallError, Provider};

/// Maximum length of a URI, and of a request id, in the log in bytes.
const MAX_LEN: usize = 4 << 10;

/// The record of a read in progress. It is written when this is dropped: with the outcome that was passed to
/// [`Self::finish`], or else as cancelled. Does nothing without an audit log.
pub(super) struct AuditRecord<'a> {
    call: &'a Call,
    uri: &'a str,
    /// The slot for the line, and when the read began; none without an audit log.
    slot: Option<(AuditSlot, Instant)>,
    /// The provider that was called last.
    provider: Option<Arc<Provider>>,
    /// The outcome of the last call, if it was an error.
    call_error: Option<Outcome>,
    /// Whether the response came from the cache.
    cached: bool,
    outcome: &'static str,
    bytes: u64,
}

impl Gateway {
    /// Reserves a slot for the record of a read. Waits for it, or fails, as the audit log is configured.
    pub(super) async fn begin_record<'a>(
        &self,
        call: &'a Call,
        uri: &'a str,
    ) -> Result<AuditRecord<'a>, Error> {
        let teams = call.caller.as_ref().map(|caller| &caller.teams);
        let slot = self.audit.reserve(teams).await?.map(|slot| (slot, Instant::now()));
        let outcome = Outcome::Cancelled.label();
        Ok(AuditRecord {
            call,
            uri,
            slot,
            provider: None,
            call_error: None,
            cached: false,
            outcome,
            bytes: 0,
        })
    }

    /// Records a request to read a text that is not a URI. It fails where a read would fail because it cannot
    /// be recorded.
    pub async fn record_bad_uri(&self, call: &Call, text: &str) -> Result<(), Error> {
        let mut record = self.begin_record(call, text).await?;
        record.outcome = "bad-uri";
        Ok(())
    }
}

impl AuditRecord<'_> {
    /// Notes that this provider is called now.
    pub(super) fn set_provider(&mut self, offer: &Offer) {
        if self.slot.is_some() {
            self.provider = Some(offer.provider.clone());
        }
    }

    /// Notes whether the provider's response came from the cache, or its error.
    pub(super) fn set_result(&mut self, cached: bool, error: Option<&CallError>) {
        (self.cached, self.call_error) = (cached, error.map(CallError::outcome));
    }

    /// Writes the record with the outcome of the read.
    pub(super) fn finish(mut self, result: &Result<ReadResult, Error>) {
        if self.slot.is_none() {
            return;
        }
        self.outcome = match result {
            Ok(_) => Outcome::Ok.label(),
            Err(Error::NotFound { .. }) => Outcome::NotFound.label(),
            Err(Error::NotModified { .. }) => Outcome::NotModified.label(),
            Err(Error::Refused { .. }) => "refused",
            Err(_) => self.call_error.unwrap_or(Outcome::Failed).label(),
        };
        let contents = result.iter().flat_map(|result| result.contents.iter());
        let sizes = contents.map(|content| match &content.body {
            Body::Text(text) => text.len() as u64,
            Body::Blob(blob) => blob.len() as u64,
        });
        self.bytes = sizes.sum();
    }
}

impl Drop for AuditRecord<'_> {
    fn drop(&mut self) {
        let Some((slot, started)) = self.slot.take() else { return };
        let caller = self.call.caller.as_ref();
        let provider = self.provider.as_deref();
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
            cached: self.cached,
            bytes: self.bytes,
            ms: started.elapsed().as_micros() as f64 / 1e3,
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
