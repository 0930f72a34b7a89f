//! A transparency log: entries with promises, proofs and checkpoints.

use serde_json::{Value, json};

use super::{Signer, base64};
use crate::cryptography::sha256;

/// The name in the signatures of checkpoints, and the first line of checkpoints.
const NAME: &str = "log.example.com";
const ORIGIN: &str = "log.example.com - 1";

/// A log with two entries. The second entry is the requested one.
pub(super) struct Log {
    pub(super) key: Signer,
}

impl Log {
    pub(super) fn new() -> Self {
        Self {
            key: Signer::ecdsa(),
        }
    }

    /// Returns the identifier of the log: the digest of its key.
    pub(super) fn id(&self) -> [u8; 32] {
        sha256(&self.key.public_key_der())
    }

    /// Returns how a trust root describes the log.
    pub(super) fn description(&self, url: &str) -> Value {
        json!({
            "baseUrl": url,
            "hashAlgorithm": "SHA2_256",
            "publicKey": {
                "rawBytes": base64(self.key.public_key_der()),
                "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                "validFor": { "start": "2021-01-01T00:00:00Z" },
            },
            "logId": { "keyId": base64(self.id()) },
        })
    }

    /// Returns the entry in the format of a bundle.
    pub(super) fn entry(&self, kind: (&str, &str), body: &Value, time: i64) -> Value {
        let body = body.to_string();
        let other = leaf(b"another entry");
        let leaf = leaf(body.as_bytes());
        let root = sha256(&[&[1], &other[..], &leaf[..]].concat());
        json!({
            "logIndex": "1",
            "logId": { "keyId": base64(self.id()) },
            "kindVersion": { "kind": kind.0, "version": kind.1 },
            "integratedTime": time.to_string(),
            "inclusionPromise": { "signedEntryTimestamp": base64(self.promise(&body, time)) },
            "inclusionProof": {
                "logIndex": "1",
                "rootHash": base64(root),
                "treeSize": "2",
                "hashes": [base64(other)],
                "checkpoint": { "envelope": self.checkpoint(&root) },
            },
            "canonicalizedBody": base64(&body),
        })
    }

    fn promise(&self, body: &str, time: i64) -> Vec<u8> {
        let id: String = self.id().iter().map(|byte| format!("{byte:02x}")).collect();
        // The keys must be in this order.
        let text = format!(
            r#"{{"body":"{}","integratedTime":{time},"logID":"{id}","logIndex":1}}"#,
            base64(body)
        );
        self.key.sign(text.as_bytes())
    }

    fn checkpoint(&self, root: &[u8; 32]) -> String {
        let note = format!("{ORIGIN}\n2\n{}\n", base64(root));
        let signature = [&self.id()[..4], &self.key.sign(note.as_bytes())].concat();
        format!("{note}\n\u{2014} {NAME} {}\n", base64(signature))
    }
}

fn leaf(content: &[u8]) -> [u8; 32] {
    sha256(&[&[0], content].concat())
}
