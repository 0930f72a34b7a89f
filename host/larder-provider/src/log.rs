//! What the core logs about a provider. Repeated lines are not logged each time.

use super::{CallError, Provider};

impl dyn Provider {
    /// Logs a failed call. Does nothing for errors that the provider did not cause, and for faults, which were already
    /// logged.
    pub fn log_failed_call(&self, error: &CallError, subject: &str) {
        const MESSAGE: &str = "provider call failed";
        let outcome = error.outcome();
        let is_logged = matches!(error, CallError::Fault(_)) || !outcome.is_server_failure();
        if !is_logged
            && self.is_first_line(MESSAGE, outcome.label(), &format!("{subject}: {error}"))
        {
            let team = self.team().non_default();
            let provider = self.name().as_str();
            tracing::warn!(team, provider, %error, "{MESSAGE}");
        }
    }

    /// Logs that a part of the provider's list is missing because of this error.
    pub fn log_failed_list(&self, error: &CallError) {
        const MESSAGE: &str = "provider failed; rest of its list omitted";
        if self.is_first_line(MESSAGE, error.outcome().label(), "") {
            let team = self.team().non_default();
            let provider = self.name().as_str();
            tracing::warn!(team, provider, %error, "{MESSAGE}");
        }
    }

    /// Logs that an update which the provider reported has no effect.
    pub fn log_ignored_update(&self, uri: &str, reason: &'static str) {
        const MESSAGE: &str = "ignored an update of a URI";
        let uri = self.grant().secrets.redact(uri);
        if self.is_first_line(MESSAGE, reason, &uri) {
            let team = self.team().non_default();
            let provider = self.name().as_str();
            tracing::warn!(team, provider, ?uri, reason, "{MESSAGE}");
        }
    }
}
