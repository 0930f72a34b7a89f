//! Collects the files of the host that the configuration names.

use super::super::file::File;
use super::super::{Env, ParseContext};
use super::compiler;
use larder_model::policy::{OwnFile, OwnFiles};
use larder_sandbox::CacheLocation;

/// Returns the files that are known before the teams are converted: all except their plugins folders and the state
/// folder.
pub(super) fn of_host(file: &File, context: &ParseContext, env: &Env) -> OwnFiles {
    let mut own = OwnFiles::default();
    if let Some(configuration) = &context.file {
        own.add(OwnFile::Configuration, &context.working_dir.join(configuration));
    }
    match compiler::cache(file.compiler.cache_dir.as_deref(), context, env) {
        CacheLocation::Configured(cache) | CacheLocation::Default(cache) => own.add(OwnFile::Cache, &cache),
        CacheLocation::Temporary => {}
    }
    for secret in file.secret.values().filter_map(|secret| secret.file.as_ref()) {
        own.add(OwnFile::Secret, &context.folder.join(secret.get_ref()));
    }
    if let Some(log) = file.audit.file.as_ref().filter(|log| log.get_ref().as_os_str() != "-") {
        own.add(OwnFile::AuditLog, &context.folder.join(log.get_ref()));
    }
    own
}
