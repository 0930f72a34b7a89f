//! The evidence of a signature, which has to be verified.

use bytes::Bytes;
use sigstore_verify::types::Bundle;

use crate::key::PublicKey;

/// Maximum size of a signature in base64. No signature is larger.
const MAX_BASE64: usize = 16 << 10;

/// The evidence that a subject was signed. Whether the signer is trusted is not considered yet.
pub(crate) enum Evidence {
    /// A message, and the signature that a key made.
    Key(KeySignature),
    /// A certificate. The trust root verifies the signature of the message.
    Certificate(Bytes, Box<Bundle>),
}

/// A message and its signature.
pub(crate) struct KeySignature {
    pub(crate) message: Bytes,
    pub(crate) signature: Vec<u8>,
}

impl Evidence {
    pub(crate) fn of_key(message: Bytes, signature: Vec<u8>) -> Self {
        Self::Key(KeySignature { message, signature })
    }
}

impl KeySignature {
    pub(crate) fn is_made_by(&self, key: &PublicKey) -> bool {
        key.verifies(&self.message, &self.signature)
    }
}

/// Decodes base64 text, which may begin and end with white space.
pub(crate) fn from_base64(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_ascii();
    if text.is_empty() || text.len() > MAX_BASE64 {
        return None;
    }
    base64_simd::STANDARD.decode_to_vec(text).ok()
}
