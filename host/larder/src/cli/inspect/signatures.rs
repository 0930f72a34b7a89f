//! The signatures next to a component in a folder.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use super::registry_metadata::{RegistryMetadata, Statement};
use larder_model::signature::{
    BUNDLE_EXTENSION, DETACHED_EXTENSION, FoundSignature, MAX_SIGNATURE_SIZE, Signature,
    SignatureVerifier, Signer,
};

/// Describes the signatures of a file. Returns nothing if the file has no signatures and needs none.
pub(super) fn of_file(
    file: &Path,
    component: &[u8],
    trust: &dyn SignatureVerifier,
) -> Option<RegistryMetadata> {
    let found = find_all(file);
    if found.is_empty() && !trust.is_required() {
        return None;
    }
    let subject = component.to_vec().into();
    let (signer, untrusted) = match trust.verify(&subject, &found) {
        Ok(signers) => (join(signers), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let attestations = found
        .iter()
        .filter_map(|found| trust.attestation(&subject, found));
    let attestations = attestations.map(Statement::from).collect();
    Some(RegistryMetadata {
        signer,
        untrusted,
        attestations,
        ..RegistryMetadata::default()
    })
}

fn find_all(file: &Path) -> Vec<FoundSignature> {
    let extensions = [DETACHED_EXTENSION, BUNDLE_EXTENSION].into_iter();
    extensions
        .filter_map(|extension| find(file, extension))
        .collect()
}

fn join(signers: Vec<Signer>) -> Option<String> {
    let names: Vec<_> = signers.iter().map(ToString::to_string).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn find(file: &Path, extension: &str) -> Option<FoundSignature> {
    let mut path = OsString::from(file);
    path.push(extension);
    let path = Path::new(&path);
    let signature = match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => Err(format!("it cannot be read: {error}").into()),
        Ok(content) if extension == BUNDLE_EXTENSION => Ok(Signature::Bundle(content.into())),
        Ok(content) => Ok(Signature::Detached(content.into())),
    };
    let origin = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Some(FoundSignature { origin, signature })
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)?
        .take(MAX_SIGNATURE_SIZE + 1)
        .read_to_end(&mut content)?;
    match content.len() as u64 {
        0..=MAX_SIGNATURE_SIZE => Ok(content),
        _ => Err(io::ErrorKind::FileTooLarge.into()),
    }
}
