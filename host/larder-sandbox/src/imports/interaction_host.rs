//! Implements the interface `interaction-host` of the contract: the requests and messages that providers of tools and
//! prompts can send to the client during a call.

use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::mpsc::Sender;

use super::host::without_control_characters;
use crate::bindings::larder::provider::{interaction_host, interaction_types};
use crate::guest::state::GuestState;
use crate::json;
use larder_model::interaction::{Interaction, LogMessage, Severity};
use larder_provider::Signal;

/// Maximum size of a log message for the client in bytes.
const MAX_LOG_MESSAGE: usize = 16 << 10;
/// Maximum number of characters of the name of a logger.
const MAX_LOGGER: usize = 200;

impl GuestState {
    fn interaction(&self) -> Option<&Interaction> {
        self.lease.permit.call().interaction.as_ref()
    }

    fn log_for(&self, severity: Severity) -> Option<&Sender<LogMessage>> {
        let interaction = self.interaction()?;
        interaction.log_for(severity)
    }
}

impl interaction_types::Host for GuestState {}

impl interaction_host::Host for GuestState {
    fn client_supports(&mut self, capability: String) -> wasmtime::Result<bool> {
        Ok(self
            .interaction()
            .is_some_and(|interaction| interaction.supports(&capability)))
    }

    fn client_log_level(&mut self) -> wasmtime::Result<Option<interaction_host::Severity>> {
        Ok(self
            .interaction()
            .and_then(|interaction| interaction.log_level)
            .map(wit_severity))
    }

    fn log_to_client(
        &mut self,
        severity: interaction_host::Severity,
        logger: Option<String>,
        data: String,
    ) -> wasmtime::Result<()> {
        let severity = model_severity(severity);
        if self.log_for(severity).is_none() || !self.take_notification() {
            return Ok(());
        }
        let redact = |text: &str| self.lease.grant.secrets.redact(text).into_owned();
        let logger = logger.map(|logger| without_control_characters(&redact(&logger), MAX_LOGGER));
        let message = LogMessage {
            severity,
            logger,
            data: log_data(&redact(&data))?,
        };
        if let Some(log) = self.log_for(severity) {
            // If the client is slow, messages are dropped: the guest never waits for the client.
            let _ = log.try_send(message);
        }
        Ok(())
    }

    fn tools_changed(&mut self) -> wasmtime::Result<()> {
        self.signal(Signal::ToolsChanged);
        Ok(())
    }

    fn prompts_changed(&mut self) -> wasmtime::Result<()> {
        self.signal(Signal::PromptsChanged);
        Ok(())
    }
}

/// Returns the JSON value of a log message. A text that is too long or not JSON becomes a JSON string with the
/// beginning of the text.
fn log_data(text: &str) -> wasmtime::Result<Box<RawValue>> {
    let mut end = text.len().min(MAX_LOG_MESSAGE);
    if end == text.len()
        && let Some(value) = json::value(text)
    {
        return Ok(value);
    }
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Ok(to_raw_value(&text[..end])?)
}

fn model_severity(severity: interaction_host::Severity) -> Severity {
    match severity {
        interaction_host::Severity::Debug => Severity::Debug,
        interaction_host::Severity::Info => Severity::Info,
        interaction_host::Severity::Notice => Severity::Notice,
        interaction_host::Severity::Warning => Severity::Warning,
        interaction_host::Severity::Error => Severity::Error,
        interaction_host::Severity::Critical => Severity::Critical,
        interaction_host::Severity::Alert => Severity::Alert,
        interaction_host::Severity::Emergency => Severity::Emergency,
    }
}

fn wit_severity(severity: Severity) -> interaction_host::Severity {
    match severity {
        Severity::Debug => interaction_host::Severity::Debug,
        Severity::Info => interaction_host::Severity::Info,
        Severity::Notice => interaction_host::Severity::Notice,
        Severity::Warning => interaction_host::Severity::Warning,
        Severity::Error => interaction_host::Severity::Error,
        Severity::Critical => interaction_host::Severity::Critical,
        Severity::Alert => interaction_host::Severity::Alert,
        Severity::Emergency => interaction_host::Severity::Emergency,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_data_is_one_json_value() {
        let data = |text: &str| log_data(text).unwrap().get().to_owned();
        assert_eq!(data("{ \"a\":\n1 }"), "{\"a\":1}");
        assert_eq!(data("no \"json\"\n"), r#""no \"json\"\n""#);
        let long = format!("\"{}\"", "ü".repeat(MAX_LOG_MESSAGE / 2));
        // The quotation mark at the beginning is escaped, and a character that is cut in half is removed.
        assert_eq!(
            data(&long),
            format!("\"\\\"{}\"", "ü".repeat(MAX_LOG_MESSAGE / 2 - 1))
        );
    }
}
