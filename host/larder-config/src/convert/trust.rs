//! Converts `[trust]`: reads the keys and the trust root.

use std::path::Path;
use std::sync::Arc;

use toml::Spanned;

use super::{Conversion, read_up_to};
use crate::file;
use crate::value::{KeySource, TrustedKey};
use larder_model::signature::{NoVerification, SignatureVerifier};
pub(super) use larder_signature::Rule;
use larder_signature::{Identity, PublicKey, Trust, TrustRoot};

/// The maximum size of a file with a key.
const MAX_KEY: u64 = 64 << 10;
/// The maximum size of a trust root. The trust root of the public instance of Sigstore has less than 10 KiB.
const MAX_ROOT: u64 = 1 << 20;

/// Returns the verifier of signatures for the rules of the server and of a team.
pub(super) fn verifier(server: &Rule, team: Option<Rule>) -> Arc<dyn SignatureVerifier> {
    let trust = Trust::new([server.clone()].into_iter().chain(team));
    if trust.is_empty() {
        Arc::new(NoVerification)
    } else {
        Arc::new(trust)
    }
}

impl Conversion<'_> {
    /// Converts the rule of the server or of a team. If this is the rule of a team, `before` is the rule of the server.
    pub(super) fn trust_rule(
        &mut self,
        location: String,
        raw: &file::Trust,
        before: Option<&Rule>,
    ) -> Rule {
        let keys = raw.keys.iter();
        let keys = keys.filter_map(|key| self.trusted_key(key)).collect();
        let identities = self.trusted_identities(&raw.identities);
        let root = raw.root.as_ref().and_then(|path| self.trust_root(path));
        if raw.root.is_none() && before.is_none_or(|before| before.root.is_none()) {
            self.reject_identities(raw);
        }
        let required = raw.require.as_ref().filter(|require| *require.get_ref());
        if let Some(require) = required
            && trusts_nobody(raw, before)
        {
            let message = "no component could be loaded: set `keys` or `identities`";
            self.error(&require.span(), message);
        }
        Rule {
            location,
            keys,
            identities,
            root,
            is_required: required.is_some(),
        }
    }

    /// Reports identities that cannot be verified.
    fn reject_identities(&mut self, raw: &file::Trust) {
        if let Some(first) = raw.identities.first() {
            let message =
                "identities are verified with a trust root: set `root = \"trusted_root.json\"`";
            self.error(&first.span(), message);
        }
    }

    fn trusted_key(&mut self, raw: &Spanned<TrustedKey>) -> Option<(String, PublicKey)> {
        let TrustedKey { name, source } = raw.get_ref();
        let (text, place) = match source {
            KeySource::Pem(pem) => (Ok(pem.clone()), format!("key {name}")),
            KeySource::File(file) => {
                let path = self.context.folder.join(file);
                (read_up_to(&path, MAX_KEY), path.display().to_string())
            }
        };
        let key = text.and_then(|text| {
            PublicKey::from_pem(&text).map_err(|error| format!("{place} cannot be used: {error}"))
        });
        let key = self.ok_or_report(&raw.span(), key)?;
        Some((name.clone(), key))
    }

    fn trusted_identities(&mut self, raw: &[Spanned<file::Identity>]) -> Vec<Identity> {
        raw.iter()
            .filter_map(|identity| self.trusted_identity(identity))
            .collect()
    }

    fn trusted_identity(&mut self, raw: &Spanned<file::Identity>) -> Option<Identity> {
        let file::Identity { identity, issuer } = raw.get_ref();
        self.ok_or_report(&raw.span(), Identity::new(identity, issuer))
    }

    fn trust_root(&mut self, raw: &Spanned<std::path::PathBuf>) -> Option<TrustRoot> {
        let path = self.context.folder.join(raw.get_ref());
        self.ok_or_report(&raw.span(), read_trust_root(&path))
    }
}

fn trusts_nobody(raw: &file::Trust, before: Option<&Rule>) -> bool {
    let inherits =
        before.is_some_and(|before| !before.keys.is_empty() || !before.identities.is_empty());
    raw.keys.is_empty() && raw.identities.is_empty() && !inherits
}

fn read_trust_root(path: &Path) -> Result<TrustRoot, String> {
    let text = read_up_to(path, MAX_ROOT)?;
    TrustRoot::from_json(&text)
        .map_err(|error| format!("{} cannot be used: {error}", path.display()))
}
