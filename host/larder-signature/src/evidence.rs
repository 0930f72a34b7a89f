//! The evidence of a signature, which has to be verified.

use bytes::Bytes;
use sigstore_verify::types::Bundle;

use crate::key::PublicKey;

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

impl KeySignature {
    pub(crate) fn is_made_by(&self, key: &PublicKey) -> bool {
        key.verifies(&self.message, &self.signature)
    }
}

/// Decodes base64 text, which may begin and end with white space. No signature is larger than the limit.
pub(crate) fn from_base64(text: &[u8]) -> Option<Vec<u8>> {
    const MAX_BASE64: usize = 16 << 10;
    let text = text.trim_ascii();
    let fits = !text.is_empty() && text.len() <= MAX_BASE64;
    fits.then(|| base64_simd::STANDARD.decode_to_vec(text).ok())
        .flatten()
}
