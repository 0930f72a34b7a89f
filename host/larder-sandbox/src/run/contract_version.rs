//! Which versions of the contract the host supports, and which imports of a component it offers.

use crate::imports::wasi_proposals::ProposalImport;
use larder_provider::CONTRACT_VERSION;

/// The package of the contract.
pub(super) const CONTRACT_PACKAGE: &str = "larder:provider/";
/// The interfaces of the contract that components may import.
const OFFERED_INTERFACES: [&str; 6] = [
    "provider-types",
    "provider-host",
    "http-client",
    "key-value",
    "interaction-types",
    "interaction-host",
];
/// The packages of WASI whose interfaces components may import.
const WASI_PACKAGES: [&str; 7] = [
    "wasi:cli/",
    "wasi:io/",
    "wasi:clocks/",
    "wasi:random/",
    "wasi:filesystem/",
    "wasi:sockets/",
    "wasi:http/",
];

/// Whether the host offers an import. This is checked here instead of in the linker, so that the error contains the
/// name that the author used.
pub(super) fn is_offered(import: &str) -> bool {
    if ProposalImport::of(import).is_some() {
        return true;
    }
    let (interface, version) = import.split_once('@').unwrap_or((import, ""));
    if let Some(interface) = interface.strip_prefix(CONTRACT_PACKAGE) {
        return OFFERED_INTERFACES.contains(&interface) && is_compatible(version, CONTRACT_VERSION);
    }
    is_of_wasi(interface) && is_compatible(version, "0.2")
}

fn is_of_wasi(interface: &str) -> bool {
    let mut packages = WASI_PACKAGES.iter();
    packages.any(|package| interface.starts_with(package))
}

pub(super) fn is_compatible(version: &str, supported: &str) -> bool {
    version
        .strip_prefix(supported)
        .is_some_and(|rest| rest.starts_with('.') && !rest.contains('-'))
}

/// A version of the contract that the host does not support.
pub(super) enum UnsupportedContract {
    Newer(String),
    Other(String),
}

/// Checks the version of an import or export that belongs to the contract.
pub(super) fn check_contract_version(name: &str) -> Option<UnsupportedContract> {
    let (_, version) = name.strip_prefix(CONTRACT_PACKAGE)?.split_once('@')?;
    if is_compatible(version, CONTRACT_VERSION) {
        return None;
    }
    let short = without_patch(version).to_owned();
    Some(
        if major_and_minor(version) > major_and_minor(CONTRACT_VERSION) {
            UnsupportedContract::Newer(short)
        } else {
            UnsupportedContract::Other(short)
        },
    )
}

fn without_patch(version: &str) -> &str {
    let short = version.rsplit_once('.').map(|(short, _)| short);
    short.filter(|_| !version.contains('-')).unwrap_or(version)
}

fn major_and_minor(version: &str) -> Option<(u64, u64)> {
    let mut numbers = version.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_offered_by_name_and_version() {
        for offered in [
            "wasi:io/poll@0.2.6",
            "wasi:sockets/tcp@0.2.9",
            "wasi:http/types@0.2.12",
            "larder:provider/http-client@0.1.7",
            "wasi:keyvalue/store@0.2.0-draft2",
            "wasi:logging/logging@0.2.0",
        ] {
            assert!(is_offered(offered), "{offered}");
        }
        for unknown in [
            "other:thing/api",
            "wasi:http/types@0.3.0",
            "larder:provider/http-client@0.2.0",
            "larder:provider/secrets@0.1.0",
            "wasi:nn/graph@0.2.0",
            "wasi:io/poll@0.2.0-rc.1",
            "wasi:blobstore/blobstore@0.2.0-draft",
        ] {
            assert!(!is_offered(unknown), "{unknown}");
        }
    }
}
