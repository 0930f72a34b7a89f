//! The two eras of the protocol: self-contained requests, and sessions that begin with a handshake.

use serde_json::{Map, Value, json};

use super::revision::Revision;

/// The key in `_meta` of the capabilities of a modern client.
pub(super) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Era {
    /// Every request contains its own metadata.
    Modern,
    /// The handshake has begun and is not complete.
    Handshake(Revision),
    /// The handshake is complete.
    Legacy(Revision),
}

impl Era {
    pub(super) fn revision(self) -> Revision {
        match self {
            Self::Modern => Revision::MODERN,
            Self::Handshake(revision) | Self::Legacy(revision) => revision,
        }
    }

    /// The value of the `mcp-protocol-version` header. None during the handshake.
    pub(super) fn header(self) -> Option<&'static str> {
        match self {
            Self::Handshake(_) => None,
            Self::Modern | Self::Legacy(_) => Some(self.revision().as_str()),
        }
    }

    /// The `_meta` entries that each request needs.
    pub(super) fn metadata(&self) -> Option<Map<String, Value>> {
        if *self != Self::Modern {
            return None;
        }
        let version = Revision::MODERN.as_str();
        let entries = [
            ("io.modelcontextprotocol/protocolVersion", json!(version)),
            ("io.modelcontextprotocol/clientInfo", client_info()),
            (CAPABILITIES_KEY, json!({})),
        ];
        let entries = entries.map(|(key, value)| (key.to_owned(), value));
        Some(Map::from_iter(entries))
    }
}

pub(super) fn client_info() -> Value {
    json!({ "name": "larder", "version": env!("CARGO_PKG_VERSION") })
}
