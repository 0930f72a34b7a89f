//! The calls to a provider, each with circuit breaker, metrics and tracing. A call that is cancelled is
//! recorded when its future is dropped.

use std::pin::{Pin, pin};
use std::time::SystemTime;

use super::circuit_breaker::CircuitOpened;
use super::{CallError, ListPage, ListQuery, Provider, wit};
use crate::FaultKind;
use larder_model::policy::Permit;
use larder_model::resource::{Completion, CompletionRequest, Entry, Match, ReadResult, Template};
use larder_model::trace::ActiveSpan;
use larder_model::uri::Uri;
use larder_runtime::metrics::{LastError, Outcome, ProviderMetrics};

/// Maximum number of characters of a recorded error message.
const MAX_ERROR_MESSAGE: usize = 400;

impl Provider {
    pub(super) async fn describe(&self, permit: Permit) -> Result<wit::Description, CallError> {
        let (span, permit) = self.start_span("describe", permit);
        self.instrument(span, "", pin!(self.describe_once(permit))).await
    }

    /// Returns a page of its list of entries.
    pub async fn list(&self, permit: Permit, query: ListQuery) -> Result<ListPage<Entry>, CallError> {
        let subject = query.cursor.clone().unwrap_or_default();
        let (span, permit) = self.start_span("list", permit);
        self.instrument(span, &subject, pin!(self.list_once(permit, query))).await
    }

    /// Returns a page of its list of templates.
    pub async fn templates(
        &self,
        permit: Permit,
        cursor: Option<String>,
    ) -> Result<ListPage<Template>, CallError> {
        let subject = cursor.clone().unwrap_or_default();
        let (span, permit) = self.start_span("templates", permit);
        self.instrument(span, &subject, pin!(self.templates_once(permit, cursor))).await
    }

    /// Checks whether a URI within its claims is one of its resources.
    pub async fn match_uri(&self, permit: Permit, uri: &Uri) -> Result<Option<Match>, CallError> {
        let (span, permit) = self.start_span("match", permit);
        self.instrument(span, uri.as_str(), pin!(self.match_once(permit, uri))).await
    }

    /// Reads a resource.
    pub async fn read(
        &self,
        permit: Permit,
        uri: &Uri,
        matched: Option<Match>,
        known_version: Option<String>,
    ) -> Result<ReadResult, CallError> {
        let (span, permit) = self.start_span("read", permit);
        self.instrument(span, uri.as_str(), pin!(self.read_once(permit, uri, matched, known_version))).await
    }

    /// Completes a variable of one of its templates. Returns no values if it does not implement completion.
    pub async fn complete(
        &self,
        permit: Permit,
        request: CompletionRequest,
    ) -> Result<Completion, CallError> {
        let subject = request.template.clone();
        let (span, permit) = self.start_span("complete", permit);
        self.instrument(span, &subject, pin!(self.complete_once(permit, request))).await
    }

    /// Returns the current versions of these URIs in the same order; none for a URI that does not exist.
    /// Fails if the provider does not implement versions.
    pub async fn versions(&self, permit: Permit, uris: &[Uri]) -> Result<Vec<Option<String>>, CallError> {
        let subject = uris.first().map_or("", Uri::as_str);
        let (span, permit) = self.start_span("versions", permit);
        self.instrument(span, subject, pin!(self.versions_once(permit, uris))).await
    }

    /// Makes a call, and records how it ended. `subject` is what the call is about, for the circuit breaker.
    /// The call is passed as a pin, because by value it would take space twice in this future.
    async fn instrument<T>(
        &self,
        span: CallSpan,
        subject: &str,
        response: Pin<&mut impl Future<Output = Result<T, CallError>>>,
    ) -> Result<T, CallError> {
        let mut record = RecordOutcome { metrics: &self.config.metrics, outcome: Outcome::CircuitOpen };
        let attempt = match self.breaker.attempt() {
            Ok(attempt) => attempt,
            Err(time) => {
                span.end(Outcome::CircuitOpen);
                return Err(CallError::CircuitOpen(time));
            }
        };
        record.outcome = Outcome::Cancelled;
        let response = response.await;
        match &response {
            Err(CallError::Fault(_)) => self.log_circuit_opened(attempt.faulted(subject)),
            // The guest was not called, so these say nothing about the provider.
            Err(CallError::Busy | CallError::QuotaExceeded(_)) => {}
            _ => attempt.answered(),
        }
        let outcome = response.as_ref().err().map_or(Outcome::Ok, CallError::outcome);
        record.outcome = outcome;
        let operation = span.operation;
        span.end(outcome);
        if let Err(error) = &response
            && outcome.is_server_failure()
            // Too many calls at once are not an error of the provider, and would hide its last error.
            && outcome != Outcome::Busy
        {
            let message = error.to_string().chars().take(MAX_ERROR_MESSAGE).collect();
            self.config.metrics.record_error(LastError {
                at: SystemTime::now(),
                operation,
                outcome,
                message,
            });
        }
        response
    }

    fn log_circuit_opened(&self, opened: Option<CircuitOpened>) {
        if let Some(CircuitOpened(time)) = opened {
            let (team, provider, digest) =
                (self.config.team.non_default(), self.config.provider.as_str(), self.digest.short());
            tracing::warn!(
                team,
                provider,
                digest,
                ?time,
                "circuit opened after repeated faults: the provider is not called until the time is over"
            );
        }
    }

    /// Starts the span of a call. If the request is traced, spans of the guest's own requests become children
    /// of this span.
    fn start_span(&self, operation: &'static str, mut permit: Permit) -> (CallSpan, Permit) {
        let span = permit.trace().and_then(|trace| trace.start_span(|| format!("provider {operation}")));
        let span = span.map(|mut span| {
            span.set_attribute("larder.team", self.config.team.as_str());
            span.set_attribute("larder.provider", self.config.provider.as_str());
            span.set_attribute("larder.digest", self.digest.to_string());
            span.context().into_iter().for_each(|context| permit.set_span(context));
            Box::new(span)
        });
        (CallSpan { operation, span }, permit)
    }
}

/// The span of a call in progress.
struct CallSpan {
    operation: &'static str,
    /// None if the request is not traced. Boxed, because it is part of the future of each request.
    span: Option<Box<ActiveSpan>>,
}

impl CallSpan {
    /// Ends the span. Only failures of the provider make it an error; "not found" is a normal response.
    fn end(self, outcome: Outcome) {
        if let Some(mut span) = self.span {
            span.set_attribute("larder.outcome", outcome.word());
            span.end(outcome.is_server_failure().then(|| outcome.word().to_owned()));
        }
    }
}

/// Records the outcome of a call when it is dropped.
struct RecordOutcome<'a> {
    metrics: &'a ProviderMetrics,
    outcome: Outcome,
}

impl Drop for RecordOutcome<'_> {
    fn drop(&mut self) {
        self.metrics.record_call(self.outcome);
    }
}

impl CallError {
    /// The outcome of a call that failed with this error.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::NotFound => Outcome::NotFound,
            Self::NotModified => Outcome::NotModified,
            Self::Invalid(_) | Self::Refused(_) => Outcome::Invalid,
            Self::Denied(_) => Outcome::Denied,
            Self::Unavailable(_) => Outcome::Unavailable,
            Self::Failed(_) => Outcome::Failed,
            Self::Busy | Self::QuotaExceeded(_) => Outcome::Busy,
            Self::CircuitOpen(_) => Outcome::CircuitOpen,
            Self::Fault(fault) => match fault.kind {
                FaultKind::Cpu(_) => Outcome::Cpu,
                FaultKind::Timeout(_) => Outcome::Deadline,
                FaultKind::Memory(_) => Outcome::Memory,
                FaultKind::Stack => Outcome::Stack,
                FaultKind::Result(_) => Outcome::ResultSize,
                FaultKind::Exit(_) => Outcome::Exit,
                FaultKind::Contract(_) => Outcome::Contract,
                FaultKind::Trap(_) => Outcome::Trap,
                FaultKind::NoCapacity => Outcome::Busy,
            },
        }
    }
}
