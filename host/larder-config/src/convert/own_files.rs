//! Collects the files of the host that the configuration names.

#[cfg(feature = "registry")]
use std::path::Path;

#[cfg(feature = "registry")]
use toml::Spanned;

use super::super::LOCK_FILE;
use super::super::file::File;
#[cfg(feature = "registry")]
use super::super::file::Trust;
#[cfg(feature = "registry")]
use super::super::value::{KeySource, TrustedKey};
use super::super::{Env, ParseContext};
use super::compiler;
use larder_model::policy::{OwnFile, OwnFiles};
use larder_sandbox::CacheLocation;

/// Returns the files that are known before the teams are converted: all files except the plugins folders of the teams
/// and the state folder.
pub(super) fn of_host(file: &File, context: &ParseContext, env: &Env) -> OwnFiles {
    let mut own = OwnFiles::default();
    if let Some(configuration) = context.file_path() {
        own.add(OwnFile::Configuration, &configuration);
        own.add(OwnFile::Configuration, &context.folder.join(LOCK_FILE));
    }
    match compiler::cache(file.compiler.cache_dir.as_deref(), context, env) {
        CacheLocation::Configured(cache) | CacheLocation::Default(cache) => {
            own.add(OwnFile::Cache, &cache)
        }
        CacheLocation::Temporary => {}
    }
    for secret in file
        .secret
        .values()
        .filter_map(|secret| secret.file.as_ref())
    {
        own.add(OwnFile::Secret, &context.folder.join(secret.get_ref()));
    }
    #[cfg(feature = "cluster")]
    if let Some(credentials) = &file.cluster.credentials_file {
        own.add(OwnFile::Secret, &context.folder.join(credentials.get_ref()));
    }
    if let Some(log) = file
        .audit
        .file
        .as_ref()
        .filter(|log| log.get_ref().as_os_str() != "-")
    {
        own.add(OwnFile::AuditLog, &context.folder.join(log.get_ref()));
    }
    #[cfg(feature = "registry")]
    add_registry_files(&mut own, file, context);
    own
}

/// Adds the store, and the files with the keys of trusted signers.
#[cfg(feature = "registry")]
fn add_registry_files(own: &mut OwnFiles, file: &File, context: &ParseContext) {
    if let Some(store) = &file.registries.store {
        own.add(OwnFile::Store, &context.folder.join(store.get_ref()));
    }
    let rules = file
        .team
        .values()
        .filter_map(|team| team.trust.as_ref())
        .chain([&file.trust]);
    for trusted in rules.flat_map(trust_files) {
        own.add(OwnFile::Trust, &context.folder.join(trusted));
    }
}

#[cfg(feature = "registry")]
fn trust_files(trust: &Trust) -> impl Iterator<Item = &Path> {
    let keys = trust.keys.iter().filter_map(key_file);
    keys.chain(trust.root.as_ref().map(|root| root.get_ref().as_path()))
}

#[cfg(feature = "registry")]
fn key_file(key: &Spanned<TrustedKey>) -> Option<&Path> {
    match &key.get_ref().source {
        KeySource::File(file) => Some(file),
        KeySource::Pem(_) => None,
    }
}
