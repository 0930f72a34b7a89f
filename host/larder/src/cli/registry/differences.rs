//! The differences between two revisions of a component.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::cli::inspect::ComponentInfo;
use crate::cli::{sanitize, table};

/// The properties of one revision on which an operator decides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Description {
    /// The digest of the image.
    pub(super) digest: String,
    /// The version under which its author published the revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    /// The size of the component in bytes.
    pub(super) size: u64,
    /// The version of the contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) contract: Option<String>,
    /// The interfaces of the contract that the revision exports, or else all of its exports.
    pub(super) exports: BTreeSet<String>,
    /// The imports of the revision.
    pub(super) imports: BTreeSet<String>,
    /// The requests in the `NAME.toml` of the revision.
    pub(super) requests: BTreeSet<String>,
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Difference {
    pub(super) what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<String>,
}

impl Description {
    pub(super) fn new(digest: String, version: Option<String>, component: &[u8]) -> Self {
        let info = ComponentInfo::of(component);
        let exports = match info.contract {
            Some(_) => info.exports,
            None => info.all_exports,
        };
        Self {
            digest,
            version: version.or(info.metadata.version),
            size: component.len() as u64,
            contract: info.contract,
            exports: exports.into_iter().collect(),
            imports: info.imports.into_values().flatten().collect(),
            requests: BTreeSet::new(),
        }
    }

    /// Returns the differences between `before` and this revision.
    pub(super) fn differences_from(&self, before: &Self) -> Vec<Difference> {
        let values = [
            (
                "digest",
                Some(before.digest.clone()),
                Some(self.digest.clone()),
            ),
            ("version", before.version.clone(), self.version.clone()),
            (
                "size",
                Some(table::bytes(before.size)),
                Some(table::bytes(self.size)),
            ),
            ("contract", before.contract.clone(), self.contract.clone()),
        ];
        let changed = values
            .into_iter()
            .filter(|(_, before, after)| before != after);
        let changed = changed.map(|(what, before, after)| Difference {
            what,
            before,
            after,
        });
        let sets = [
            ("exports", &before.exports, &self.exports),
            ("imports", &before.imports, &self.imports),
            ("requests", &before.requests, &self.requests),
        ];
        let members = sets.into_iter().flat_map(|(what, before, after)| {
            let removed = before.difference(after).cloned();
            let removed = removed.map(move |line| Difference::removed(what, line));
            let added = after.difference(before).cloned();
            removed.chain(added.map(move |line| Difference::added(what, line)))
        });
        changed.chain(members).collect()
    }
}

impl Difference {
    fn removed(what: &'static str, line: String) -> Self {
        Self {
            what,
            before: Some(line),
            after: None,
        }
    }

    fn added(what: &'static str, line: String) -> Self {
        Self {
            what,
            before: None,
            after: Some(line),
        }
    }

    /// Formats the difference as a line.
    pub(super) fn show(&self) -> String {
        let Self {
            what,
            before,
            after,
        } = self;
        let line = match (before, after) {
            (Some(before), Some(after)) => format!("{what:9} {before} -> {after}"),
            (Some(before), None) => format!("{what:9} - {before}"),
            (None, Some(after)) => format!("{what:9} + {after}"),
            (None, None) => String::new(),
        };
        format!("{}\n", sanitize::line(&line))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn shows_what_changes() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let before = Description {
            digest: "sha256:aa".into(),
            version: Some("1.0.0".into()),
            size: 2048,
            contract: Some("0.1.0".into()),
            exports: set(&["resource-provider"]),
            imports: set(&["wasi:io/streams@0.2.0", "wasi:filesystem/types@0.2.0"]),
            requests: set(&["variable HOME"]),
        };
        let after = Description {
            digest: "sha256:bb".into(),
            version: Some("1.1.0".into()),
            size: 4096,
            exports: set(&["resource-provider", "tool-provider"]),
            imports: set(&["wasi:io/streams@0.2.0", "wasi:http/types@0.2.0"]),
            requests: set(&["http https://x.example\x1b[2J GET"]),
            ..before.clone()
        };
        let shown: String = after
            .differences_from(&before)
            .iter()
            .map(Difference::show)
            .collect();
        expect![[r#"
            digest    sha256:aa -> sha256:bb
            version   1.0.0 -> 1.1.0
            size      2.0 KiB -> 4.0 KiB
            exports   + tool-provider
            imports   - wasi:filesystem/types@0.2.0
            imports   + wasi:http/types@0.2.0
            requests  - variable HOME
            requests  + http https://x.example\u001b[2J GET
        "#]]
        .assert_eq(&shown);
        assert_eq!(before.differences_from(&before), []);
    }
}
