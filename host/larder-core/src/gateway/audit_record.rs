//! The record of an operation in the audit log, whether a provider or the cache answered it, and also if it failed or
//! was cancelled.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use serde_json::value::RawValue;

use super::{Error, Gateway};
use crate::audit::{AuditEvent, AuditLine, AuditSlot, PendingLine};
use crate::catalog::Offer;
use larder_model::name::TeamName;
use larder_model::resource::{Body, Call, ReadResult};
use larder_provider::{CallError, Provider};
use larder_runtime::metrics::Outcome;

/// Maximum length of a URI, and of a request id, in the log in bytes.
const MAX_LEN: usize = 4 << 10;

/// The record of an operation in progress. If it is dropped before one of the methods that end it was called, the
/// operation is recorded as cancelled. Does nothing without an audit log.
pub(super) struct AuditRecord<'a> {
    operation: &'static str,
    call: &'a Call,
    uri: Option<&'a str>,
    /// The tool or prompt.
    name: Option<&'a str>,
    /// The slot for the line, and when the operation began; none without an audit log.
    slot: Option<(AuditSlot, Instant)>,
    /// The provider that was called last.
    provider: Option<Arc<dyn Provider>>,
    /// The outcome of the last call, if it was an error.
    call_error: Option<Outcome>,
    /// Whether the response came from the cache.
    cached: bool,
    outcome: &'static str,
    items: Option<usize>,
    bytes: u64,
}

impl Gateway {
    /// Reserves a slot for the record of an operation. Depending on the configuration of the audit log, waits for a
    /// slot or fails.
    pub(super) async fn begin_record<'a>(
        &self,
        operation: &'static str,
        call: &'a Call,
        uri: Option<&'a str>,
    ) -> Result<AuditRecord<'a>, Error> {
        let teams = call.caller.as_ref().map(|caller| &caller.teams);
        let slot = self
            .audit
            .reserve(teams)
            .await?
            .map(|slot| (slot, Instant::now()));
        Ok(AuditRecord {
            operation,
            call,
            uri,
            name: None,
            slot,
            provider: None,
            call_error: None,
            cached: false,
            outcome: Outcome::Cancelled.label(),
            items: None,
            bytes: 0,
        })
    }

    /// Records a request to read a text that is not a URI. Fails if the audit log cannot record it, as a read does.
    pub async fn record_bad_uri(&self, call: &Call, text: &str) -> Result<(), Error> {
        let record = self.begin_record("read", call, Some(text)).await?;
        written(record.end("bad-uri")).await
    }

    /// Records an event of the server, without waiting.
    pub fn record_event(&self, event: &AuditEvent<'_>) {
        self.audit.record(event);
    }
}

/// Waits until a line is written, if its answer has to wait for the line.
pub(super) async fn written(line: Option<PendingLine>) -> Result<(), Error> {
    match line {
        Some(line) => Ok(line.written().await?),
        None => Ok(()),
    }
}

impl<'a> AuditRecord<'a> {
    /// Records that this provider is called now.
    pub(super) fn set_provider(&mut self, offer: &Offer) {
        if let Some(details) = &self.call.origin.request_details {
            details.provider.get_or_init(|| offer.name().clone());
        }
        if self.slot.is_some() {
            self.provider = Some(offer.provider.clone());
        }
    }

    /// Records the tool or prompt that the operation is about.
    pub(super) fn set_name(&mut self, name: Option<&'a str>) {
        self.name = name;
    }

    /// Records whether the provider's response came from the cache, or the error.
    pub(super) fn set_result(&mut self, cached: bool, error: Option<&CallError>) {
        self.cached = cached;
        self.call_error = error.map(CallError::outcome);
    }

    /// Ends the record of a read. Its answer waits for the returned line.
    pub(super) fn end_read(mut self, result: &Result<ReadResult, Error>) -> Option<PendingLine> {
        self.slot.as_ref()?;
        let contents = result.iter().flat_map(|result| result.contents.iter());
        let sizes = contents.map(|content| match &content.body {
            Body::Text(text) => text.len() as u64,
            Body::Blob(blob) => blob.len() as u64,
        });
        self.bytes = sizes.sum();
        let outcome = self.outcome_of(result);
        self.end(outcome)
    }

    /// Ends the record of an operation other than a read. The operation returned this number of items.
    pub(super) fn end_with_items<T>(
        mut self,
        result: &Result<T, Error>,
        items: impl FnOnce(&T) -> usize,
    ) -> Option<PendingLine> {
        self.slot.as_ref()?;
        self.items = result.as_ref().ok().map(items);
        let outcome = self.outcome_of(result);
        self.end(outcome)
    }

    /// Ends the record.
    pub(super) fn end(mut self, outcome: &'static str) -> Option<PendingLine> {
        self.outcome = outcome;
        self.write()
    }

    fn outcome_of<T>(&self, result: &Result<T, Error>) -> &'static str {
        match result {
            Ok(_) => Outcome::Ok.label(),
            Err(
                Error::NotFound { .. }
                | Error::UnknownTemplate { .. }
                | Error::UnknownTool { .. }
                | Error::UnknownPrompt { .. }
                | Error::UnknownSkill { .. }
                | Error::NoDirectory { .. },
            ) => Outcome::NotFound.label(),
            Err(Error::NotModified { .. }) => Outcome::NotModified.label(),
            Err(Error::Refused { .. }) => "refused",
            Err(
                Error::BadCursor
                | Error::FilterMismatch
                | Error::UnknownVariable { .. }
                | Error::InvalidArguments { .. }
                | Error::Replaced { .. },
            ) => Outcome::Invalid.label(),
            Err(Error::NotLoaded { .. }) => Outcome::Unavailable.label(),
            Err(_) => self.call_error.unwrap_or(Outcome::Failed).label(),
        }
    }

    fn write(&mut self) -> Option<PendingLine> {
        let (slot, started) = self.slot.take()?;
        let caller = self.call.caller.as_ref();
        let origin = &self.call.origin;
        let provider = self.provider.as_deref();
        let uri = self.uri.map(truncated);
        let request = self.call.request_id.as_deref().map(truncated_id);
        slot.write(&AuditLine {
            time: SystemTime::now(),
            operation: self.operation,
            request: request.as_deref(),
            subject: caller.and_then(|caller| caller.subject.as_deref()),
            issuer: caller.and_then(|caller| caller.issuer.as_deref()),
            token: origin.token.as_deref(),
            peer: origin.peer,
            operator: origin.operator.as_deref(),
            team: self.team(),
            uri,
            uri_cut: uri.map(str::len) < self.uri.map(str::len),
            name: self.name.map(truncated),
            provider: provider.map(|provider| provider.name().as_str()),
            digest: provider.map(|provider| provider.digest()),
            outcome: self.outcome,
            cached: self.cached,
            items: self.items,
            connections: self.call.connections.list(),
            credentials: self.call.credential_uses.list(),
            bytes: self.bytes,
            ms: started.elapsed().as_micros() as f64 / 1e3,
        })
    }
}

impl AuditRecord<'_> {
    /// The team of the provider; if none was called, all teams of the caller.
    fn team(&self) -> Cow<'_, str> {
        if let Some(provider) = &self.provider {
            return provider.team().as_str().into();
        }
        let caller = self.call.caller.as_ref();
        let teams = caller.into_iter().flat_map(|caller| caller.teams.iter());
        let names: Vec<_> = teams.map(TeamName::as_str).collect();
        names.join(",").into()
    }
}

impl Drop for AuditRecord<'_> {
    /// No answer waits for the line of a cancelled operation.
    fn drop(&mut self) {
        let _ = self.write();
    }
}

fn truncated(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_LEN)]
}

/// Returns the id without a change. If the id is very long, returns its beginning as a string.
fn truncated_id(json: &str) -> Cow<'_, RawValue> {
    let whole = (json.len() <= MAX_LEN)
        .then(|| serde_json::from_str(json).ok())
        .flatten();
    whole.map_or_else(
        || {
            // A string always serializes to valid JSON.
            Cow::Owned(serde_json::value::to_raw_value(truncated(json)).unwrap_or_default())
        },
        Cow::Borrowed,
    )
}
