//! The keys that need an optional part of the program. If the part is missing, these keys are errors: the server must
//! not run as if the keys were not in the file.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::Diagnostic;
use super::parser::Source;

/// A Cargo feature of the program.
struct Feature {
    name: &'static str,
    is_enabled: bool,
    /// The keys that need the feature. `*` stands for any name.
    keys: &'static [&'static str],
}

const FEATURES: [Feature; 3] = [
    Feature {
        name: "cluster",
        is_enabled: cfg!(feature = "cluster"),
        keys: &["cluster"],
    },
    Feature {
        name: "registry",
        is_enabled: cfg!(feature = "registry"),
        keys: &[
            "registries",
            "trust",
            "provider.*.update",
            "team.*.trust",
            "team.*.credentials",
            "team.*.provider.*.update",
        ],
    },
    Feature {
        name: "search",
        is_enabled: cfg!(feature = "search"),
        keys: &["provider.*.index", "team.*.provider.*.index"],
    },
];

/// Returns an error for each key whose feature is missing in this program.
pub(super) fn check(source: &Source<'_>) -> Vec<Diagnostic> {
    FEATURES
        .iter()
        .flat_map(|feature| feature.check(source))
        .collect()
}

impl Feature {
    fn check(&self, source: &Source<'_>) -> Vec<Diagnostic> {
        if self.is_enabled {
            return Vec::new();
        }
        let keys = self.find_keys(source.root()).into_iter();
        keys.map(|at| source.diagnostic(&at, missing(self.name)))
            .collect()
    }

    fn find_keys(&self, root: &DeTable<'_>) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for key in self.keys {
            find(root, key, &mut found);
        }
        found
    }
}

/// Returns the text for the user if a feature is missing.
pub(crate) fn missing(feature: &str) -> String {
    format!(
        "this larder was built without the feature `{feature}`: use a release, build with `--features {feature}`, \
         or remove this"
    )
}

/// Finds a key with a value other than `false`. The value `false` needs no feature.
fn find(table: &DeTable<'_>, path: &str, found: &mut Vec<Range<usize>>) {
    let (name, below) = path
        .split_once('.')
        .map_or((path, None), |(name, below)| (name, Some(below)));
    for (key, value) in table
        .iter()
        .filter(|(key, _)| name == "*" || key.get_ref() == name)
    {
        match (below, value.get_ref()) {
            (Some(below), DeValue::Table(table)) => find(table, below, found),
            (Some(_), _) | (None, DeValue::Boolean(false)) => {}
            (None, _) => found.push(key.span()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser;

    /// Checks a file without any feature.
    fn check(text: &str, expected: &[&str]) {
        let (_, source, _) = parser::parse::<toml::Table>(text, None).unwrap();
        let found = FEATURES.iter().flat_map(|feature| {
            Feature {
                is_enabled: false,
                ..*feature
            }
            .check(&source)
        });
        let found: Vec<_> = found.map(|error| error.in_file(None)).collect();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, start) in found.iter().zip(expected) {
            assert!(found.starts_with(start), "{found}");
        }
    }

    #[test]
    fn keys_of_a_missing_feature_are_errors() {
        check("", &[]);
        check(
            "[provider.a]\nindex = false\n[server]\nindex = true\ncluster = 1\n",
            &[],
        );
        check(
            "[cluster]\nnats = 'nats://a'\n[provider.a]\nindex = true\n[team.t.provider.b]\nindex = 'x'\n",
            &[
                "configuration:1: cluster: this larder was built without the feature `cluster`: ",
                "configuration:4: provider.a.index: this larder was built without the feature `search`: ",
                "configuration:6: team.t.provider.b.index: this larder was built without the feature `search`: ",
            ],
        );
        check(
            "[trust]\nrequire = true\n[registries]\n[provider.a]\nupdate = 'auto'\n",
            &[
                "configuration:3: registries: this larder was built without the feature `registry`: ",
                "configuration:1: trust: this larder was built without the feature `registry`: ",
                "configuration:5: provider.a.update: ",
            ],
        );
        check(
            "[team.t.trust]\nrequire = true\n[team.t.credentials.'r.example']\n[team.t.provider.a]\nupdate = 'ask'\n",
            &[
                "configuration:1: team.t.trust: ",
                "configuration:3: team.t.credentials: ",
                "configuration:5: team.t.provider.a.update: ",
            ],
        );
        check(
            "cluster.key = []\nprovider.a.index = true",
            &[
                "configuration:1: cluster: ",
                "configuration:2: provider.a.index: ",
            ],
        );
    }

    #[test]
    fn no_feature_is_missing_in_a_complete_program() {
        let text = "[cluster]\n[provider.a]\nindex = true";
        let (_, source, _) = parser::parse::<toml::Table>(text, None).unwrap();
        let is_complete = FEATURES.iter().all(|feature| feature.is_enabled);
        assert_eq!(super::check(&source).is_empty(), is_complete);
    }
}
