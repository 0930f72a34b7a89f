//! Implements the interface `provider-host` of the contract, which the host offers to guests.

use std::time::Instant;

use crate::bindings::larder::provider::{provider_host, provider_types};
use crate::guest::log::LogLevel;
use crate::guest::state::GuestState;
use larder_model::resource::Progress;
use larder_model::uri::Uri;
use larder_provider::Signal;

/// Maximum number of characters of a progress message.
const MAX_PROGRESS_MESSAGE: usize = 1_000;

impl GuestState {
    /// The value of a secret or of a setting.
    pub(super) fn setting_value(&self, name: &str) -> Option<String> {
        let grant = &self.lease.grant;
        let secret = grant.secrets.get(name);
        let secret = secret.map(|secret| secret.reveal().to_owned());
        secret.or_else(|| grant.settings.get(name).cloned())
    }

    /// Counts a signal or progress notification of this call. Returns false if the notification exceeds the limit and
    /// must be dropped.
    pub(super) fn take_notification(&mut self) -> bool {
        let is_allowed = self.notifications_left > 0;
        self.notifications_left = self.notifications_left.saturating_sub(1);
        if !is_allowed && self.lease.grant.limits.notifications > 0 {
            let team = self.lease.team.non_default();
            let provider = self.lease.provider.as_str();
            tracing::debug!(
                team,
                provider,
                "dropped a notification beyond the limit (`limits.notifications`)"
            );
        }
        is_allowed
    }

    pub(super) fn signal(&mut self, signal: Signal) {
        if !self.take_notification() {
            return;
        }
        let is_sent = self.lease.signal_rate_limit.allows()
            && self.lease.signals.send(&self.lease.provider, signal);
        if !is_sent && !self.logged_lost_signal {
            self.logged_lost_signal = true;
            const MESSAGE: &str = "the provider sends signals too often: some of them are dropped";
            let team = self.lease.team.non_default();
            let provider = self.lease.provider.as_str();
            if self.lease.log.is_first(MESSAGE, "", "") {
                tracing::warn!(team, provider, "{MESSAGE}");
            }
        }
    }
}

impl provider_types::Host for GuestState {}

impl provider_host::Host for GuestState {
    fn get_caller(&mut self) -> wasmtime::Result<Option<provider_types::Caller>> {
        // A caller can be in several teams. The provider is told only the team of the provider.
        let caller = self.lease.permit.caller().zip(self.lease.permit.team());
        Ok(caller.map(|(caller, team)| provider_types::Caller {
            subject: caller.subject.clone(),
            issuer: caller.issuer.as_deref().map(str::to_owned),
            team: team.to_string(),
            scopes: caller.scopes.clone(),
        }))
    }

    fn request_metadata(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        Ok(self.lease.permit.metadata())
    }

    fn setting(&mut self, name: String) -> wasmtime::Result<Option<String>> {
        Ok(self.setting_value(&name))
    }

    fn log(&mut self, level: provider_host::Level, message: String) -> wasmtime::Result<()> {
        let level = match level {
            provider_host::Level::Debug => LogLevel::Debug,
            provider_host::Level::Info => LogLevel::Info,
            provider_host::Level::Warn => LogLevel::Warn,
            provider_host::Level::Error => LogLevel::Error,
        };
        self.log.line(level, &message);
        Ok(())
    }

    fn resource_updated(&mut self, uri: String) -> wasmtime::Result<()> {
        if let Err(error) = Uri::parse(&uri) {
            let error = error.with_text(&self.lease.grant.secrets.redact(&uri));
            self.log.line(
                LogLevel::Warn,
                &format!("`resource-updated` with an invalid URI: {error}"),
            );
            return Ok(());
        }
        self.signal(Signal::Updated(uri));
        Ok(())
    }

    fn resources_changed(&mut self) -> wasmtime::Result<()> {
        self.signal(Signal::ListChanged);
        Ok(())
    }

    fn progress(
        &mut self,
        done: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> wasmtime::Result<()> {
        if self.lease.permit.call().progress.is_none()
            || !done.is_finite()
            || !self.take_notification()
        {
            return Ok(());
        }
        let message = message.map(|text| without_control_characters(&text, MAX_PROGRESS_MESSAGE));
        if let Some(listener) = &self.lease.permit.call().progress {
            // If the receiver is slow, notifications are dropped: the guest never waits for the receiver.
            let _ = listener.try_send(Progress {
                done,
                total: total.filter(|total| total.is_finite()),
                message,
            });
        }
        Ok(())
    }

    fn cancelled(&mut self) -> wasmtime::Result<bool> {
        Ok(self.lease.permit.call().is_cancelled())
    }

    fn time_left_ms(&mut self) -> wasmtime::Result<u64> {
        let time_left = self.deadline.saturating_duration_since(Instant::now());
        Ok(u64::try_from(time_left.as_millis()).unwrap_or(u64::MAX))
    }
}

/// Returns the beginning of a text, without its control characters.
pub(super) fn without_control_characters(text: &str, max: usize) -> String {
    let plain = text.chars().filter(|c| !c.is_control());
    plain.take(max).collect()
}
