//! The entries of larder.lock for files in a plugins folder.

use super::context::TeamAccess;
use crate::cli::error::CommandError;
use crate::cli::inspect::ComponentInfo;
use larder_core::source::{Artifact, FetchOutcome, Folder, Source as _};
use larder_model::name::Digest;
use larder_registry::LockedComponent;

/// A component in a plugins folder.
pub(super) struct LockedFile {
    pub(super) entry: LockedComponent,
    /// If the signatures are not sufficient: why the component must not be served.
    pub(super) untrusted: Option<String>,
}

/// Returns the components in the plugins folder of a team.
pub(super) fn locked_files(team: &TeamAccess<'_>) -> Result<Vec<LockedFile>, CommandError> {
    let plugins = &team.team.plugins;
    if !plugins.exists() {
        return Ok(Vec::new());
    }
    let scan = Folder::new(plugins.clone()).scan();
    let scan = scan.map_err(CommandError::input(plugins))?;
    scan.artifacts
        .into_iter()
        .map(|artifact| locked_file(team, artifact))
        .collect()
}

fn locked_file(team: &TeamAccess<'_>, artifact: Artifact) -> Result<LockedFile, CommandError> {
    let path = team.team.plugins.join(&artifact.origin);
    let failed = CommandError::input(path);
    let bytes = match artifact.component.fetch(u64::MAX).map_err(&failed)? {
        FetchOutcome::Bytes(bytes) => bytes,
        FetchOutcome::TooLarge(_) => return Err(failed(std::io::ErrorKind::FileTooLarge.into())),
    };
    let digest = Digest::of(&bytes);
    let (signer, untrusted) = match team.signer_of(&bytes, &artifact.signatures.read()) {
        Ok(signer) => (signer, None),
        Err(reason) => (None, Some(reason)),
    };
    let entry = LockedComponent {
        team: team.section().map(ToOwned::to_owned),
        name: artifact.name,
        reference: format!("file:{}", artifact.origin),
        digest,
        component: digest,
        size: bytes.len() as u64,
        signer,
        contract: ComponentInfo::of(&bytes).contract,
    };
    Ok(LockedFile { entry, untrusted })
}
