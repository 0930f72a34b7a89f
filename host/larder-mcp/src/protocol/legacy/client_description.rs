//! The description that a client sent when it initialized.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::wire::message::Request;

/// Maximum size of each part in bytes. A larger part is omitted.
const MAX_BYTES: usize = 16 << 10;

/// The description that a client sent, as JSON.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ClientDescription {
    /// The name and version of the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) info: Option<Box<RawValue>>,
    /// The capabilities of the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) capabilities: Option<Box<RawValue>>,
}

impl ClientDescription {
    /// Reads the parameters of `initialize`.
    pub(super) fn of(request: &Request<'_>) -> Self {
        let part = |key: &str| {
            let json = request
                .params
                .fields
                .get(key)
                .filter(|json| json.get().len() <= MAX_BYTES)?;
            RawValue::from_string(json.get().to_owned()).ok()
        };
        Self {
            info: part("clientInfo"),
            capabilities: part("capabilities"),
        }
    }
}
