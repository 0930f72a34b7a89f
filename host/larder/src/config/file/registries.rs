//! `[registries]`: the registries that components may come from.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use crate::config::value::HumanDuration;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct Registries {
    pub(in crate::config) store: Option<Spanned<PathBuf>>,
    pub(in crate::config) check_interval: Option<HumanDuration>,
    pub(in crate::config) stall_timeout: Option<HumanDuration>,
    pub(in crate::config) pull_timeout: Option<HumanDuration>,
    pub(in crate::config) concurrent_pulls: Option<NonZeroU32>,
    pub(in crate::config) docker_credentials: Option<bool>,
    pub(in crate::config) namespaces: BTreeMap<String, Spanned<String>>,
    pub(in crate::config) permitted: BTreeMap<Spanned<String>, PermittedRegistry>,
}

/// One registry, by its host name.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct PermittedRegistry {
    pub(in crate::config) plain_http: bool,
    pub(in crate::config) ca: Option<Spanned<PathBuf>>,
    pub(in crate::config) proxy: Option<Spanned<String>>,
    pub(in crate::config) mirrors: Vec<Spanned<String>>,
    pub(in crate::config) username: Option<String>,
    pub(in crate::config) password: Option<Spanned<String>>,
    pub(in crate::config) token: Option<Spanned<String>>,
}

/// The credentials of a team for a registry. The password and the token are names of secrets.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct RegistryCredentials {
    pub(in crate::config) username: Option<String>,
    pub(in crate::config) password: Option<Spanned<String>>,
    pub(in crate::config) token: Option<Spanned<String>>,
}

/// What happens when a tag was moved, or a package has a newer version.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::config) enum Update {
    Ask,
    Auto,
}
