//! `[trust]`: which signers of components are trusted.

use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use crate::value::TrustedKey;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Trust {
    pub(crate) keys: Vec<Spanned<TrustedKey>>,
    pub(crate) identities: Vec<Spanned<Identity>>,
    pub(crate) root: Option<Spanned<PathBuf>>,
    pub(crate) require: Option<Spanned<bool>>,
}

/// An identity in certificates, and the issuer that confirms it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identity {
    pub(crate) identity: String,
    pub(crate) issuer: String,
}
