//! Seals of messages: only a program with a key of the cluster can write a seal. A seal is the last field of the JSON
//! object that is sent, so a program of an earlier version, which ignores unknown fields, reads the message too.

use std::sync::atomic::{AtomicU64, Ordering};

use ring::hmac;
use serde::Serialize;
use serde::de::DeserializeOwned;

use larder_model::policy::Secret;

/// The beginning of the signed bytes, so that the key signs no other data with the same code.
const LABEL: &[u8] = b"larder cluster message\0";
/// The beginning and the end of a seal. Between them are the sequence number in hexadecimal digits and the code in
/// base64.
const BEGIN: &[u8] = b",\"seal\":\"";
const END: &[u8] = b"\"}";
const SEQUENCE_LENGTH: usize = 16;
const CODE_LENGTH: usize = 44;
const SEAL_LENGTH: usize = BEGIN.len() + SEQUENCE_LENGTH + CODE_LENGTH + END.len();

/// Seals and opens messages.
#[derive(Debug)]
pub(crate) struct Sealer {
    /// The first key seals, and each key opens.
    keys: Vec<hmac::Key>,
    /// Whether messages without a seal are refused.
    is_required: bool,
    sent: AtomicU64,
}

/// A message that was received.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OpenMessage<T> {
    pub(crate) content: T,
    /// Counts the messages of the sender. `None` without a seal.
    pub(crate) sequence: Option<u64>,
}

/// Why a message is not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    /// The seal was not written with a key of this cluster, or was written for another place.
    #[error("its seal is not valid: do all replicas have the same `cluster.key`?")]
    Seal,
    /// The message has no seal.
    #[error("it has no seal, which `cluster.require_sealed` requires")]
    NoSeal,
    /// Another version of the program may have sent it.
    #[error(transparent)]
    Content(#[from] serde_json::Error),
}

impl Sealer {
    /// Creates a sealer. Without a key, messages have no seal.
    pub(crate) fn new(keys: &[Secret], is_required: bool) -> Self {
        let key = |secret: &Secret| hmac::Key::new(hmac::HMAC_SHA256, secret.reveal().as_bytes());
        Self {
            keys: keys.iter().map(key).collect(),
            is_required,
            sent: AtomicU64::new(1),
        }
    }

    /// Writes a message, which must be an object with fields. `context` is where the message is read, so that the message
    /// cannot be moved to another place.
    pub(crate) fn seal<T: Serialize>(
        &self,
        context: &str,
        message: &T,
    ) -> serde_json::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(message)?;
        let Some(key) = self.keys.first() else {
            return Ok(bytes);
        };
        bytes.pop();
        let sequence = format!("{:016x}", self.sent.fetch_add(1, Ordering::Relaxed));
        let code = hmac::sign(key, &signed(context, &sequence, &bytes));
        bytes.extend_from_slice(BEGIN);
        bytes.extend_from_slice(sequence.as_bytes());
        bytes.extend_from_slice(base64_simd::STANDARD.encode_to_string(code).as_bytes());
        bytes.extend_from_slice(END);
        Ok(bytes)
    }

    /// Reads a message, and verifies its seal if it has a seal.
    pub(crate) fn open<T: DeserializeOwned>(
        &self,
        context: &str,
        bytes: &[u8],
    ) -> Result<OpenMessage<T>, OpenError> {
        let sequence = match seal_of(bytes) {
            Some((message, seal)) => {
                Some(self.verify(context, message, seal).ok_or(OpenError::Seal)?)
            }
            None if self.is_required => return Err(OpenError::NoSeal),
            None => None,
        };
        Ok(OpenMessage {
            content: serde_json::from_slice(bytes)?,
            sequence,
        })
    }

    /// Returns the sequence number.
    fn verify(&self, context: &str, message: &[u8], seal: &str) -> Option<u64> {
        let (sequence, code) = seal.split_at_checked(SEQUENCE_LENGTH)?;
        let code = base64_simd::STANDARD.decode_to_vec(code).ok()?;
        let signed = signed(context, sequence, message);
        let is_valid = self
            .keys
            .iter()
            .any(|key| hmac::verify(key, &signed, &code).is_ok());
        is_valid
            .then(|| u64::from_str_radix(sequence, 16).ok())
            .flatten()
    }
}

/// Splits a message into the bytes before its seal, and the seal.
fn seal_of(bytes: &[u8]) -> Option<(&[u8], &str)> {
    let (message, seal) = bytes.split_at_checked(bytes.len().checked_sub(SEAL_LENGTH)?)?;
    let seal = seal.strip_prefix(BEGIN)?.strip_suffix(END)?;
    Some((message, std::str::from_utf8(seal).ok()?))
}

/// Returns the bytes from which the code is computed. A context has no zero byte, and a sequence number has a fixed
/// length.
fn signed(context: &str, sequence: &str, message: &[u8]) -> Vec<u8> {
    [
        LABEL,
        context.as_bytes(),
        b"\0",
        sequence.as_bytes(),
        message,
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn sealer(keys: &[&str]) -> Sealer {
        Sealer::new(
            &keys.iter().map(|key| Secret::new(key)).collect::<Vec<_>>(),
            false,
        )
    }

    #[test]
    fn opens_only_what_has_the_key_and_the_context() {
        let own = sealer(&["new", "old"]);
        let message = json!({ "a": [1, "x"] });
        for (key, is_known) in [("new", true), ("old", true), ("other", false)] {
            let sealed = sealer(&[key]).seal("lease.1", &message).unwrap();
            let opened = own.open::<Value>("lease.1", &sealed);
            assert_eq!(
                opened.map(|opened| opened.sequence).ok(),
                is_known.then_some(Some(1)),
                "{key}"
            );
            assert!(
                matches!(own.open::<Value>("lease.2", &sealed), Err(OpenError::Seal)),
                "{key}"
            );
        }
        let plain = own
            .open::<Value>("lease.1", message.to_string().as_bytes())
            .unwrap();
        assert_eq!(
            plain,
            OpenMessage {
                content: message.clone(),
                sequence: None
            }
        );
        let strict = Sealer {
            is_required: true,
            ..own
        };
        let refused = strict.open::<Value>("lease.1", message.to_string().as_bytes());
        assert!(matches!(refused, Err(OpenError::NoSeal)));
    }

    #[test]
    fn no_byte_can_be_changed() {
        let sealer = sealer(&["key"]);
        let sealed = sealer.seal("a", &json!({ "n": 1 })).unwrap();
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            // If the seal is not valid, the message is not JSON or has no seal.
            let opened = sealer.open::<Value>("a", &changed);
            assert!(
                opened.is_err() || opened.is_ok_and(|opened| opened.sequence.is_none()),
                "{at}"
            );
        }
    }

    #[test]
    fn an_earlier_version_reads_a_sealed_message() {
        #[derive(serde::Deserialize)]
        struct KnownFields {
            number: u64,
        }
        let sealed = sealer(&["key"]).seal("a", &json!({ "number": 7 })).unwrap();
        assert_eq!(
            serde_json::from_slice::<KnownFields>(&sealed)
                .unwrap()
                .number,
            7
        );
    }

    #[test]
    fn the_sequence_rises() {
        let sealer = sealer(&["key"]);
        let sequence = || {
            let sealed = sealer.seal("a", &json!({ "n": 1 })).unwrap();
            sealer
                .open::<Value>("a", &sealed)
                .unwrap()
                .sequence
                .unwrap()
        };
        let first = sequence();
        let second = sequence();
        assert!(first < second);
    }
}
