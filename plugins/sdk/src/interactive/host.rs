//! Functions of the host for tools and prompts. On native targets there is no client: no capability is supported, and
//! messages are written to stderr.

use serde::Serialize;

#[cfg(target_family = "wasm")]
use crate::bindings::interaction_host as imp;
pub use crate::bindings::interaction_host::Severity;

/// Whether the client supports a capability, as a JSON Pointer into its capabilities, such as
/// `/elicitation/url`.
pub fn client_supports(capability: &str) -> bool {
    imp::client_supports(capability)
}

/// The lowest severity of messages that the client requested; none if it requested none.
pub fn client_log_level() -> Option<Severity> {
    imp::client_log_level()
}

/// Sends a log message to the client. In contrast, [`log`](crate::log()) writes to the log of the host.
///
/// ```
/// # use larder_provider::{Severity, log_to_client, serde_json::json};
/// log_to_client(Severity::Info, None, "3 pages are left");
/// log_to_client(Severity::Debug, Some("crawler"), &json!({ "page": "/a", "left": 3 }));
/// ```
pub fn log_to_client<T: Serialize + ?Sized>(severity: Severity, logger: Option<&str>, data: &T) {
    let json = serde_json::to_string(data)
        .unwrap_or_else(|error| serde_json::Value::from(error.to_string()).to_string());
    imp::log_to_client(severity, logger, &json);
}

/// Notifies all clients that the list of tools has changed.
pub fn tools_changed() {
    imp::tools_changed();
}

/// Notifies all clients that the list of prompts has changed.
pub fn prompts_changed() {
    imp::prompts_changed();
}

/// The substitute for the imports of the component.
#[cfg(not(target_family = "wasm"))]
mod imp {
    use super::Severity;

    pub(super) fn client_supports(_capability: &str) -> bool {
        false
    }

    pub(super) fn client_log_level() -> Option<Severity> {
        None
    }

    pub(super) fn log_to_client(severity: Severity, logger: Option<&str>, data: &str) {
        eprintln!(
            "to the client: {severity:?} {} {data}",
            logger.unwrap_or_default()
        );
    }

    pub(super) fn tools_changed() {
        eprintln!("tools changed");
    }

    pub(super) fn prompts_changed() {
        eprintln!("prompts changed");
    }
}
