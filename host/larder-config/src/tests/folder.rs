//! The folder of a configuration in tests.

use super::*;
use larder_signature::testing::{Authority, Signer};

/// A temporary folder with the files that the example names.
pub(super) struct Folder(pub(super) tempfile::TempDir);

impl Folder {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["plugins", "docs", "cache", "keys"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let files = [
            ("wiki", "hush-hush\n"),
            ("billing", "hush-hush-hush\n"),
            ("release.pub", &Signer::ecdsa().public_key()),
            ("cluster", "0123456789abcdef0123456789abcdef\n"),
            ("nats.creds", include_str!("nats-for-tests.creds")),
            (
                "nats-ca.pem",
                include_str!("../../../tests/integration/registries/registry/tls/ca-for-tests.pem"),
            ),
            ("old.pub", &Signer::ed25519().public_key()),
            ("trusted_root.json", &Authority::new().trust_root()),
            (
                "registry-ca.pem",
                include_str!("../../../tests/integration/registries/registry/tls/ca-for-tests.pem"),
            ),
        ];
        files.iter().for_each(|(name, text)| {
            std::fs::write(folder.path().join("keys").join(name), text).unwrap()
        });
        Self(folder)
    }

    pub(super) fn read_with(
        &self,
        text: &str,
        env: &[(&str, &str)],
        overrides: &Overrides,
    ) -> Result<Config, ConfigError> {
        let folder = self.0.path().to_owned();
        let file = Some("larder.toml".into());
        let working_dir = folder.clone();
        let context = ParseContext {
            file,
            working_dir,
            folder,
            auth_active: false,
        };
        let env = env
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        parse(text, &context, &env, overrides)
    }

    pub(super) fn read(&self, text: &str) -> Config {
        self.read_with(text, &[("HOME", "/home/me")], &Overrides::default())
            .unwrap()
    }

    /// Returns the whole configuration as text, for comparisons.
    pub(super) fn shown(&self, text: &str) -> String {
        format!("{:#?}", self.read(text))
    }
}
