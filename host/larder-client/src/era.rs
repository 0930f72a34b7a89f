//! The two eras of the protocol: self-contained requests, and sessions that begin with a handshake.

use serde_json::{Value, json};

use super::revision::Revision;

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
    pub(super) fn metadata(&self) -> Option<Value> {
        (*self == Self::Modern).then(|| {
            json!({
                "io.modelcontextprotocol/protocolVersion": Revision::MODERN.as_str(),
                "io.modelcontextprotocol/clientInfo": client_info(),
                "io.modelcontextprotocol/clientCapabilities": {},
            })
        })
    }
}

pub(super) fn client_info() -> Value {
    json!({ "name": "larder", "version": env!("CARGO_PKG_VERSION") })
}
