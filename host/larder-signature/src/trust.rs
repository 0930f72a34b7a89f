//! The operator's trust in signers: the rule of the server and the rule of a team. Both rules apply.

use std::any::Any;

use bytes::Bytes;

use crate::bundle;
use crate::evidence::Evidence;
use crate::rule::Rule;
use crate::signature::Evident as _;
use larder_model::signature::{
    Attestation, FoundSignature, Reason, SignatureRejection, SignatureVerifier, Signer,
};

/// Maximum number of signatures of one component that are verified.
const MAX_SIGNATURES: usize = 64;

/// The operator's trust in signers. Each rule that requires a signature must be fulfilled, so that the rule of a team
/// cannot weaken the rule of the server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trust {
    rules: Vec<Rule>,
}

impl Trust {
    /// Combines rules, all of which apply. If a rule of a team only requires a signature, it trusts the same signers as
    /// the previous rule.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        let mut all: Vec<Rule> = Vec::new();
        for mut rule in rules {
            if let Some(before) = all.last()
                && rule.keys.is_empty()
                && rule.identities.is_empty()
            {
                rule.keys.clone_from(&before.keys);
                rule.identities.clone_from(&before.identities);
            }
            if rule.root.is_none() {
                rule.root = all.last().and_then(|before| before.root.clone());
            }
            all.push(rule);
        }
        Self { rules: all }
    }

    fn any_signer(&self, evidence: &Evidence) -> Result<Signer, String> {
        let mut result = Err("no key and no identity is configured in [trust]".to_owned());
        for rule in &self.rules {
            result = result.or_else(|_| rule.signer(evidence).map_err(|reason| reason.to_string()));
        }
        result
    }
}

impl SignatureVerifier for Trust {
    fn is_empty(&self) -> bool {
        !self.is_required()
            && self
                .rules
                .iter()
                .all(|rule| rule.keys.is_empty() && rule.identities.is_empty())
    }

    fn is_required(&self) -> bool {
        self.rules.iter().any(|rule| rule.is_required)
    }

    fn verify(
        &self,
        subject: &Bytes,
        found: &[FoundSignature],
    ) -> Result<Vec<Signer>, SignatureRejection> {
        let evidence: Vec<_> = found
            .iter()
            .take(MAX_SIGNATURES)
            .map(|found| (&found.origin, evidence(found, subject)))
            .collect();
        let mut signers = Vec::new();
        for rule in &self.rules {
            let mut reasons = Vec::new();
            let before = signers.len();
            for (origin, evidence) in &evidence {
                match evidence
                    .as_ref()
                    .map_err(Clone::clone)
                    .and_then(|evidence| rule.signer(evidence))
                {
                    Ok(signer) => signers.push(signer),
                    Err(reason) => reasons.push(reason.at(origin)),
                }
            }
            if rule.is_required && signers.len() == before {
                return Err(SignatureRejection {
                    rule: rule.location.clone(),
                    reasons,
                });
            }
        }
        signers.sort();
        signers.dedup();
        Ok(signers)
    }

    fn attestation(&self, subject: &Bytes, found: &FoundSignature) -> Option<Attestation> {
        let bundle = found.signature.as_ref().ok()?.bundle().ok()?;
        let predicate_type = bundle::predicate_type(&bundle)?;
        let signer =
            bundle::evidence(bundle, subject).and_then(|evidence| self.any_signer(&evidence));
        Some(Attestation {
            origin: found.origin.clone(),
            predicate_type,
            signer,
        })
    }

    fn still_trusts(&self, signers: &[Signer]) -> bool {
        let mut required = self.rules.iter().filter(|rule| rule.is_required);
        required.all(|rule| signers.iter().any(|signer| rule.still_trusts(signer)))
    }

    fn is_same(&self, other: &dyn SignatureVerifier) -> bool {
        (other as &dyn Any).downcast_ref::<Self>() == Some(self)
    }
}

fn evidence(found: &FoundSignature, subject: &Bytes) -> Result<Evidence, Reason> {
    let signature = found.signature.as_ref().map_err(Reason::clone)?;
    Ok(signature.evidence(subject)?)
}
