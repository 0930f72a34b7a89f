//! Interfaces of WASI that are proposals, and that other hosts of components offer too: settings by `wasi:config`,
//! values by `wasi:keyvalue`, and log lines by `wasi:logging`. Proposals have no compatible versions, so each version is
//! named. Other versions of them do not prevent that a component is loaded: their functions fail when they are called.

mod config;
mod keyvalue;
mod logging;
mod refusal;

use wasmtime::component::Linker;

pub(crate) use self::refusal::refuse_calls;
use crate::guest::state::GuestState;

/// The packages whose other interfaces and versions may be imported, although their functions always fail.
const REFUSED_PACKAGES: [&str; 4] = [
    "wasi:config/",
    "wasi:keyvalue/",
    "wasi:logging/",
    "wasi:otel/",
];

/// What this host does with an import that belongs to a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProposalImport {
    /// Settings and secrets.
    Settings,
    /// Values that outlive a call, which need the grant `key_value`.
    KeyValue,
    /// Lines for the log of the provider.
    Logging,
    /// The component is loaded, but the functions of the import fail.
    Refused,
}

impl ProposalImport {
    /// None if the import is not an interface of these proposals.
    pub fn of(import: &str) -> Option<Self> {
        if config::INTERFACES.contains(&import) {
            return Some(Self::Settings);
        }
        if keyvalue::is_offered(import) {
            return Some(Self::KeyValue);
        }
        if logging::INTERFACES.contains(&import) {
            return Some(Self::Logging);
        }
        REFUSED_PACKAGES
            .iter()
            .any(|package| import.starts_with(package))
            .then_some(Self::Refused)
    }
}

/// Adds the interfaces to the linker. A guest that does not import them costs nothing more.
pub(super) fn add_to_linker(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    config::add_to_linker(linker)?;
    keyvalue::add_to_linker(linker)?;
    logging::add_to_linker(linker)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_of_proposals_are_known_by_name_and_version() {
        for (import, expected) in [
            (
                "wasi:config/store@0.2.0-rc.1",
                Some(ProposalImport::Settings),
            ),
            (
                "wasi:config/store@0.2.0-draft",
                Some(ProposalImport::Settings),
            ),
            (
                "wasi:config/store@0.2.0-rc.2",
                Some(ProposalImport::Refused),
            ),
            (
                "wasi:keyvalue/store@0.2.0-draft",
                Some(ProposalImport::KeyValue),
            ),
            (
                "wasi:keyvalue/batch@0.2.0-draft2",
                Some(ProposalImport::KeyValue),
            ),
            (
                "wasi:keyvalue/watcher@0.2.0-draft2",
                Some(ProposalImport::Refused),
            ),
            ("wasi:keyvalue/store@0.2.0", Some(ProposalImport::Refused)),
            (
                "wasi:logging/logging@0.1.0-draft",
                Some(ProposalImport::Logging),
            ),
            ("wasi:logging/logging", Some(ProposalImport::Logging)),
            ("wasi:logging/logging@0.2.0", Some(ProposalImport::Refused)),
            (
                "wasi:otel/tracing@0.2.0-rc.2",
                Some(ProposalImport::Refused),
            ),
            ("wasi:blobstore/blobstore@0.2.0-draft", None),
            ("wasi:http/types@0.2.0", None),
        ] {
            assert_eq!(ProposalImport::of(import), expected, "{import}");
        }
    }
}
