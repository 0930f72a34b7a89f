//! Metrics, span and circuit breaker of one call to a provider.

use std::time::SystemTime;

use super::Provider;
use super::circuit_breaker::{Attempt, CircuitTrip};
use larder_model::policy::Permit;
use larder_model::trace::ActiveSpan;
use larder_provider::CallError;
use larder_runtime::metrics::{LastError, Outcome};

/// Maximum number of characters of a recorded error message.
const MAX_ERROR_MESSAGE: usize = 400;

/// A call in progress. The call is recorded when this value is dropped: with the outcome that was passed to
/// [`Self::finish`], otherwise as cancelled.
pub(super) struct InstrumentedCall<'a> {
    provider: &'a Provider,
    operation: &'static str,
    /// None if the circuit is open, and after the call was finished.
    attempt: Option<Attempt<'a>>,
    /// None if the request is not traced. Boxed, because the future of each request contains it.
    span: Option<Box<ActiveSpan>>,
    outcome: Outcome,
}

impl<'a> InstrumentedCall<'a> {
    /// Begins a call, unless the circuit is open. If the request is traced, the permit gets the span of the
    /// call, so that spans of the guest's own requests become its children.
    pub(super) fn begin(
        provider: &'a Provider,
        operation: &'static str,
        permit: &mut Permit,
    ) -> Result<Self, CallError> {
        let span = start_span(provider, operation, permit);
        let mut call = Self {
            provider,
            operation,
            attempt: None,
            span,
            outcome: Outcome::Cancelled,
        };
        match provider.breaker.attempt() {
            Ok(attempt) => {
                call.attempt = Some(attempt);
                Ok(call)
            }
            Err(time) => {
                call.outcome = Outcome::CircuitOpen;
                call.end_span();
                Err(CallError::CircuitOpen(time))
            }
        }
    }

    /// Records how the call ended. `subject` is what the call was about, for the circuit breaker.
    pub(super) fn finish(mut self, subject: &str, error: Option<&CallError>) {
        self.outcome = error.map_or(Outcome::Ok, CallError::outcome);
        match (self.attempt.take(), error) {
            (Some(attempt), Some(CallError::Fault(_))) => {
                let opened = attempt.faulted(subject);
                if let Some(opened) = opened {
                    self.provider.log_circuit_opened("any", opened);
                }
            }
            // The guest was not called, so these errors do not concern the provider.
            (
                _,
                Some(
                    CallError::Refused(_)
                    | CallError::Busy
                    | CallError::NoMemory
                    | CallError::QuotaExceeded(_),
                ),
            ) => {}
            (attempt, _) => {
                if let Some(value) = attempt {
                    Attempt::answered(value);
                }
            }
        }
        self.end(error);
    }

    /// Records a call that had to end before the time that the provider may take. The provider is not the cause, so the
    /// circuit breaker does not count the call.
    pub(super) fn finish_early(mut self, error: &CallError) {
        self.outcome = error.outcome();
        self.end(Some(error));
    }

    fn end(mut self, error: Option<&CallError>) {
        self.end_span();
        if let Some(error) = error {
            self.record_error(error);
        }
    }

    /// Ends the span. Only failures of the provider make it an error; "not found" is a normal response.
    fn end_span(&mut self) {
        if let Some(mut span) = self.span.take() {
            span.set_attribute("larder.outcome", self.outcome.label());
            span.end(
                self.outcome
                    .is_server_failure()
                    .then(|| self.outcome.label().to_owned()),
            );
        }
    }

    fn record_error(&self, error: &CallError) {
        let operation = self.operation;
        let outcome = self.outcome;
        // Too many concurrent calls are not an error of the provider, and would hide its last error.
        if outcome.is_server_failure() && outcome != Outcome::Busy {
            let message = error.to_string().chars().take(MAX_ERROR_MESSAGE).collect();
            let at = SystemTime::now();
            self.provider.config.metrics.record_error(LastError {
                at,
                operation,
                outcome,
                message,
            });
        }
    }
}

impl Provider {
    /// Logs that such calls are not made for a time.
    pub(super) fn log_circuit_opened(&self, calls: &str, CircuitTrip(time): CircuitTrip) {
        self.record_circuit_event(calls, time);
        let team = self.facts.team.non_default();
        let provider = self.facts.name.as_str();
        let digest = self.facts.digest.short();
        tracing::warn!(
            team,
            provider,
            digest,
            calls,
            ?time,
            "circuit opened after repeated faults: the provider is not called until the time is over"
        );
    }
}

impl Drop for InstrumentedCall<'_> {
    fn drop(&mut self) {
        self.provider.config.metrics.record_call(self.outcome);
    }
}

/// Starts the span of a call, if the request is traced.
fn start_span(
    provider: &Provider,
    operation: &str,
    permit: &mut Permit,
) -> Option<Box<ActiveSpan>> {
    let mut span = permit
        .trace()?
        .start_span(|| format!("provider {operation}"))?;
    span.set_attribute("larder.team", provider.facts.team.as_str());
    span.set_attribute("larder.provider", provider.facts.name.as_str());
    span.set_attribute("larder.digest", provider.facts.digest.to_string());
    if let Some(context) = span.context() {
        permit.set_span(context);
    }
    Some(Box::new(span))
}
