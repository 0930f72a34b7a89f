//! `[trust]`: which signers of components are trusted.

use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use crate::config::value::TrustedKey;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct Trust {
    pub(in crate::config) keys: Vec<Spanned<TrustedKey>>,
    pub(in crate::config) identities: Vec<Spanned<Identity>>,
    pub(in crate::config) root: Option<Spanned<PathBuf>>,
    pub(in crate::config) require: Option<Spanned<bool>>,
}

/// An identity in certificates, and the issuer that confirms it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Identity {
    pub(in crate::config) identity: String,
    pub(in crate::config) issuer: String,
}
