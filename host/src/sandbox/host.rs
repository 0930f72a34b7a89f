//! The interfaces that the contract asks of the host: `provider-host` and `http-client`.

use super::bindings::larder::provider::{http_client, provider_host, provider_types};
use super::log::Level;
use super::outgoing::Refusal;
use super::state::{Signal, State};
use crate::resource::Progress;
use crate::uri::Uri;

/// Characters of the message of a report.
const MESSAGE: usize = 1_000;

impl State {
    /// Counts what reaches others during a call; beyond the limit it is left out.
    fn may_report(&mut self) -> bool {
        let may = self.reports_left > 0;
        self.reports_left = self.reports_left.saturating_sub(1);
        if !may && self.lease.grant.limits.reports > 0 {
            let (team, provider) = (self.lease.team.named(), self.lease.provider.as_str());
            tracing::debug!(team, provider, "a report beyond the limit is left out");
        }
        may
    }

    fn signal(&mut self, signal: Signal) {
        if !self.may_report() {
            return;
        }
        let taken = self.lease.pace.allows() && self.lease.signals.say(&self.lease.provider, signal);
        if !taken && !self.lost_one {
            self.lost_one = true;
            let (team, provider) = (self.lease.team.named(), self.lease.provider.as_str());
            tracing::warn!(team, provider, "it signals more often than anybody can take; some of it is lost");
        }
    }
}

impl provider_types::Host for State {}

impl provider_host::Host for State {
    fn get_caller(&mut self) -> wasmtime::Result<Option<provider_types::Caller>> {
        // Of all teams of the caller, a provider hears of its own.
        let asks = self.lease.permit.caller().zip(self.lease.permit.team());
        Ok(asks.map(|(caller, team)| provider_types::Caller {
            subject: caller.subject.clone(),
            team: team.to_string(),
            scopes: caller.scopes.clone(),
        }))
    }

    fn request_metadata(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        Ok(self.lease.permit.metadata())
    }

    fn setting(&mut self, name: String) -> wasmtime::Result<Option<String>> {
        let grant = &self.lease.grant;
        let secret = grant.secrets.get(&name).map(|secret| secret.reveal().to_owned());
        Ok(secret.or_else(|| grant.settings.get(&name).cloned()))
    }

    fn log(&mut self, level: provider_host::Level, message: String) -> wasmtime::Result<()> {
        let level = match level {
            provider_host::Level::Debug => Level::Debug,
            provider_host::Level::Info => Level::Info,
            provider_host::Level::Warn => Level::Warn,
            provider_host::Level::Error => Level::Error,
        };
        self.log.line(level, &message);
        Ok(())
    }

    fn resource_updated(&mut self, uri: String) -> wasmtime::Result<()> {
        if let Err(error) = Uri::parse(&uri) {
            let error = error.about(&self.lease.grant.secrets.redact(&uri));
            self.log.line(Level::Warn, &format!("it says that something was updated: {error}"));
            return Ok(());
        }
        self.signal(Signal::Updated(uri));
        Ok(())
    }

    fn resources_changed(&mut self) -> wasmtime::Result<()> {
        self.signal(Signal::ListChanged);
        Ok(())
    }

    fn progress(&mut self, done: f64, total: Option<f64>, message: Option<String>) -> wasmtime::Result<()> {
        if self.lease.permit.call().progress.is_none() || !done.is_finite() || !self.may_report() {
            return Ok(());
        }
        let message =
            message.map(|text| text.chars().filter(|c| !c.is_control()).take(MESSAGE).collect::<String>());
        if let Some(listener) = &self.lease.permit.call().progress {
            // A slow listener misses reports in between; the guest never waits for it.
            let _ =
                listener.try_send(Progress { done, total: total.filter(|total| total.is_finite()), message });
        }
        Ok(())
    }

    fn cancelled(&mut self) -> wasmtime::Result<bool> {
        Ok(self.lease.permit.call().is_cancelled())
    }
}

impl http_client::Host for State {
    async fn send(
        &mut self,
        request: http_client::Request,
    ) -> wasmtime::Result<Result<http_client::Response, http_client::Failure>> {
        let outgoing = self.lease.outgoing.clone();
        let mut headers = request.headers;
        if let Some(trace) = self.lease.permit.trace()
            && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("traceparent"))
        {
            headers.extend(trace.headers().map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
        let answer = outgoing.fetch(&request.method, &request.url, headers, request.body).await;
        Ok(match answer {
            Ok((status, headers, body)) => Ok(http_client::Response { status, headers, body }),
            Err(refusal) => Err(match refusal {
                Refusal::Denied(why) => http_client::Failure::Denied(why),
                Refusal::Unreachable(why) => http_client::Failure::Unreachable(why),
                Refusal::TimedOut => http_client::Failure::TimedOut,
                Refusal::TooLarge => http_client::Failure::TooLarge,
            }),
        })
    }
}
