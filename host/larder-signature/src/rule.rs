//! The rule of a server or of a team: which signers are trusted, and whether a signature is required.

use bytes::Bytes;

use crate::evidence::Evidence;
use crate::identity::Identity;
use crate::key::PublicKey;
use crate::trust_root::TrustRoot;
use larder_model::signature::{Reason, Signer};

/// Which signers are trusted, and whether a signature is required.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    /// The location of the rule, for people: `[trust]`.
    pub location: String,
    /// Trusted keys, by name.
    pub keys: Vec<(String, PublicKey)>,
    /// Trusted identities in certificates.
    pub identities: Vec<Identity>,
    /// The authorities and logs for certificates.
    pub root: Option<TrustRoot>,
    /// Whether components without a trusted signature are rejected.
    pub is_required: bool,
}

impl Rule {
    /// Returns the signer if the rule trusts the signer. Otherwise returns the reason why the signature is not trusted.
    pub(crate) fn signer(&self, evidence: &Evidence) -> Result<Signer, Reason> {
        match evidence {
            Evidence::Key(signature) => {
                let made = self.keys.iter().find(|(_, key)| signature.is_made_by(key));
                made.map(|(name, key)| key_signer(name, key))
                    .ok_or_else(|| self.no_key().into())
            }
            Evidence::Certificate(message, bundle) => self.certificate_signer(message, bundle),
        }
    }

    fn certificate_signer(
        &self,
        message: &Bytes,
        bundle: &sigstore_verify::types::Bundle,
    ) -> Result<Signer, Reason> {
        let Some(root) = &self.root else {
            return Err("it was made with a certificate, but `root` is not set".into());
        };
        let (identity, issuer) = root.verify(message, bundle)?;
        if self.trusts(&identity, &issuer) {
            Ok(Signer::Identity {
                identity,
                issuer,
                root: root.digest(),
            })
        } else {
            Err(format!(
                "it was made by {identity:.200}, confirmed by {issuer:.200}, whom `identities` does not contain"
            )
            .into())
        }
    }

    /// Returns whether the signer is still trusted.
    pub(crate) fn still_trusts(&self, signer: &Signer) -> bool {
        match signer {
            Signer::Key { fingerprint, .. } => self
                .keys
                .iter()
                .any(|(_, key)| key.fingerprint() == *fingerprint),
            Signer::Identity {
                identity,
                issuer,
                root,
            } => {
                self.root.as_ref().is_some_and(|now| now.digest() == *root)
                    && self.trusts(identity, issuer)
            }
        }
    }

    fn trusts(&self, identity: &str, issuer: &str) -> bool {
        self.identities
            .iter()
            .any(|trusted| trusted.matches(identity, issuer))
    }

    fn no_key(&self) -> String {
        let names: Vec<_> = self.keys.iter().map(|(name, _)| name.as_str()).collect();
        match names.as_slice() {
            [] => "it was made with a key, but `keys` is empty".into(),
            [name] => format!("it was not made with the key {name}"),
            names => format!("it was made with none of the keys {}", names.join(", ")),
        }
    }
}

fn key_signer(name: &str, key: &PublicKey) -> Signer {
    Signer::Key {
        name: name.into(),
        fingerprint: key.fingerprint(),
    }
}
