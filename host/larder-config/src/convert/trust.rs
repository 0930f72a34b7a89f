//! Converts `[trust]`: reads the keys and the trust root.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use toml::Spanned;

use super::Conversion;
use crate::file;
use crate::value::{KeySource, TrustedKey};
use larder_model::signature::{NoVerification, SignatureVerifier};
use larder_model::size;
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
        let keys = raw
            .keys
            .iter()
            .filter_map(|key| self.trusted_key(key))
            .collect();
        let identities = raw
            .identities
            .iter()
            .filter_map(|identity| self.trusted_identity(identity));
        let identities: Vec<_> = identities.collect();
        let root = raw.root.as_ref().and_then(|path| self.trust_root(path));
        let has_root = raw.root.is_some() || before.is_some_and(|before| before.root.is_some());
        if let (Some(first), false) = (raw.identities.first(), has_root) {
            let message =
                "identities are verified with a trust root: set `root = \"trusted_root.json\"`";
            self.error(&first.span(), message);
        }
        let is_required = raw
            .require
            .as_ref()
            .is_some_and(|require| *require.get_ref());
        let trusts_nobody = raw.keys.is_empty() && raw.identities.is_empty();
        let inherits =
            before.is_some_and(|before| !before.keys.is_empty() || !before.identities.is_empty());
        if let Some(require) = raw
            .require
            .as_ref()
            .filter(|_| is_required && trusts_nobody && !inherits)
        {
            let message = "no component could be loaded: set `keys` or `identities`";
            self.error(&require.span(), message);
        }
        Rule {
            location,
            keys,
            identities,
            root,
            is_required,
        }
    }

    fn trusted_key(&mut self, raw: &Spanned<TrustedKey>) -> Option<(String, PublicKey)> {
        let TrustedKey { name, source } = raw.get_ref();
        let (text, place) = match source {
            KeySource::Pem(pem) => (Ok(pem.clone()), format!("key {name}")),
            KeySource::File(file) => {
                let path = self.context.folder.join(file);
                (read(&path, MAX_KEY), path.display().to_string())
            }
        };
        let key = text.and_then(|text| {
            PublicKey::from_pem(&text).map_err(|error| format!("{place} cannot be used: {error}"))
        });
        let key = key
            .map_err(|message| self.error(&raw.span(), message))
            .ok()?;
        Some((name.clone(), key))
    }

    fn trusted_identity(&mut self, raw: &Spanned<file::Identity>) -> Option<Identity> {
        let file::Identity { identity, issuer } = raw.get_ref();
        let identity = Identity::new(identity, issuer);
        identity
            .map_err(|error| self.error(&raw.span(), error.to_string()))
            .ok()
    }

    fn trust_root(&mut self, raw: &Spanned<std::path::PathBuf>) -> Option<TrustRoot> {
        let path = self.context.folder.join(raw.get_ref());
        let root = read(&path, MAX_ROOT).and_then(|text| {
            TrustRoot::from_json(&text)
                .map_err(|error| format!("{} cannot be used: {error}", path.display()))
        });
        root.map_err(|message| self.error(&raw.span(), message))
            .ok()
    }
}

fn read(path: &Path, limit: u64) -> Result<String, String> {
    let mut text = String::new();
    let result =
        std::fs::File::open(path).and_then(|file| file.take(limit + 1).read_to_string(&mut text));
    match result {
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
        Ok(size) if size as u64 > limit => Err(format!(
            "{} is larger than {}",
            path.display(),
            size::show(limit)
        )),
        Ok(_) => Ok(text),
    }
}
