//! `[registries]`: the registries that components may come from.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use crate::value::HumanDuration;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Registries {
    pub(crate) store: Option<Spanned<PathBuf>>,
    pub(crate) check_interval: Option<HumanDuration>,
    pub(crate) stall_timeout: Option<HumanDuration>,
    pub(crate) pull_timeout: Option<HumanDuration>,
    pub(crate) concurrent_pulls: Option<NonZeroU32>,
    pub(crate) docker_credentials: Option<bool>,
    pub(crate) namespaces: BTreeMap<String, Spanned<String>>,
    pub(crate) permitted: BTreeMap<Spanned<String>, PermittedRegistry>,
}

/// One registry, by its host name.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PermittedRegistry {
    pub(crate) plain_http: bool,
    pub(crate) ca: Option<Spanned<PathBuf>>,
    pub(crate) proxy: Option<Spanned<String>>,
    pub(crate) mirrors: Vec<Spanned<String>>,
    pub(crate) username: Option<String>,
    pub(crate) password: Option<Spanned<String>>,
    pub(crate) token: Option<Spanned<String>>,
}

impl PermittedRegistry {
    pub(crate) fn credentials(&self) -> RegistryCredentials {
        RegistryCredentials {
            username: self.username.clone(),
            password: self.password.clone(),
            token: self.token.clone(),
        }
    }
}

/// The credentials of a team for a registry. The password and the token are names of secrets.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RegistryCredentials {
    pub(crate) username: Option<String>,
    pub(crate) password: Option<Spanned<String>>,
    pub(crate) token: Option<Spanned<String>>,
}

/// What happens when a tag was moved, or a package has a newer version.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Update {
    Ask,
    Auto,
}
