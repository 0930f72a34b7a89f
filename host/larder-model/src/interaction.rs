//! The client's side of a call, which providers of tools and prompts can use while they run.

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

/// The capability of clients that show the pages of apps, as a JSON Pointer.
const APPS: &str = "/extensions/io.modelcontextprotocol~1ui";

/// What the provider can find out about the client of a call, and send to the client.
#[derive(Debug, Clone)]
pub struct Interaction {
    /// The capabilities of the client: a JSON object.
    pub capabilities: Value,
    /// The lowest severity that the client requested; none if it requested none. Less severe messages are dropped.
    pub log_level: Option<Severity>,
    /// Receives log messages. None if the client must not receive any. If the queue is full, messages are dropped.
    pub log: Option<mpsc::Sender<LogMessage>>,
}

impl Interaction {
    /// Whether the client supports a capability, given as a JSON Pointer. `false` and `null` mean that it does
    /// not.
    pub fn supports(&self, capability: &str) -> bool {
        supports(&self.capabilities, capability)
    }

    /// Whether the client shows the pages of apps.
    pub fn shows_apps(&self) -> bool {
        shows_apps(&self.capabilities)
    }

    /// Returns the sender for a message of this severity. None if the client does not want such a message.
    pub fn log_for(&self, severity: Severity) -> Option<&mpsc::Sender<LogMessage>> {
        self.log
            .as_ref()
            .filter(|_| self.log_level.is_none_or(|lowest| severity >= lowest))
    }
}

fn supports(capabilities: &Value, capability: &str) -> bool {
    let found = capabilities.pointer(capability);
    found.is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)))
}

/// Whether a client with these capabilities shows the pages of apps.
pub fn shows_apps(capabilities: &Value) -> bool {
    supports(capabilities, APPS)
}

/// The severities of log messages, by RFC 5424. The least severe is the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Details for debugging.
    Debug,
    /// Normal operation.
    Info,
    /// Normal, but significant.
    Notice,
    /// A warning.
    Warning,
    /// An error.
    Error,
    /// A critical condition.
    Critical,
    /// Action is required at once.
    Alert,
    /// The system is unusable.
    Emergency,
}

/// A log message for the client.
#[derive(Debug, Clone)]
pub struct LogMessage {
    /// The severity of the message.
    pub severity: Severity,
    /// The part of the provider that sends the message.
    pub logger: Option<String>,
    /// The message: any JSON value.
    pub data: Box<RawValue>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_capabilities_by_pointer() {
        let capabilities =
            json!({ "elicitation": { "url": {} }, "roots": { "listChanged": false }, "x": null });
        let interaction = Interaction {
            capabilities,
            log_level: None,
            log: None,
        };
        for (capability, expected) in [
            ("/elicitation", true),
            ("/elicitation/url", true),
            ("/elicitation/form", false),
            ("/roots", true),
            ("/roots/listChanged", false),
            ("/x", false),
            ("elicitation", false),
        ] {
            assert_eq!(interaction.supports(capability), expected, "{capability}");
        }
    }

    #[test]
    fn selects_messages_by_severity() {
        let log = Some(mpsc::channel(1).0);
        let with_level = |log_level| Interaction {
            capabilities: json!({}),
            log_level,
            log: log.clone(),
        };
        let has = |interaction: Interaction, severity| interaction.log_for(severity).is_some();
        assert!(has(with_level(None), Severity::Debug));
        assert!(has(with_level(Some(Severity::Error)), Severity::Error));
        assert!(!has(with_level(Some(Severity::Error)), Severity::Warning));
        assert!(!has(
            Interaction {
                log: None,
                ..with_level(None)
            },
            Severity::Emergency
        ));
    }
}
