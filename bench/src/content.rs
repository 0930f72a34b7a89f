//! The documents that all server variants return. The guest `sized` generates the same bytes.

/// A line with characters that JSON has to escape.
const LINE: &str = "A line of a document, \"quoted\", that is sixty-four bytes long. \n";

/// A document: its kind and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) kind: Kind,
    pub(crate) bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Blob,
}

/// The measured documents, smallest first.
pub(crate) const DOCUMENTS: [Document; 4] = [
    Document {
        kind: Kind::Text,
        bytes: 1 << 10,
    },
    Document {
        kind: Kind::Text,
        bytes: 64 << 10,
    },
    Document {
        kind: Kind::Text,
        bytes: 1 << 20,
    },
    Document {
        kind: Kind::Blob,
        bytes: 1 << 20,
    },
];

impl Document {
    /// The document's URI. Each provider has its own authority.
    pub(crate) fn uri(self, authority: &str) -> String {
        format!("sized://{authority}/{}/{}", self.kind.name(), self.bytes)
    }

    pub(crate) fn text(self) -> String {
        LINE.chars().cycle().take(self.bytes).collect()
    }

    pub(crate) fn blob(self) -> Vec<u8> {
        (0..self.bytes).map(|n| (n % 251) as u8).collect()
    }

    /// The document as it appears in a response, between the quotes of its JSON string.
    pub(crate) fn json_escaped(self) -> String {
        match self.kind {
            Kind::Text => {
                let quoted = serde_json::Value::String(self.text()).to_string();
                quoted[1..quoted.len() - 1].to_owned()
            }
            Kind::Blob => base64_simd::STANDARD.encode_to_string(self.blob()),
        }
    }

    pub(crate) fn from_uri(uri: &str) -> Option<Self> {
        let (rest, bytes) = uri.strip_prefix("sized://")?.rsplit_once('/')?;
        let (_, kind) = rest.rsplit_once('/')?;
        let kind = [Kind::Text, Kind::Blob]
            .into_iter()
            .find(|known| known.name() == kind)?;
        Some(Self {
            kind,
            bytes: bytes.parse().ok()?,
        })
    }
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Blob => "blob",
        }
    }
}

impl std::fmt::Display for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.bytes {
            small if small < 1 << 20 => write!(f, "{} KiB {}", small >> 10, self.kind.name()),
            large => write!(f, "{} MiB {}", large >> 20, self.kind.name()),
        }
    }
}
