//! Reloading the configuration of a running server: which changes apply immediately, and which changes need a restart.

mod auth_reload;
mod merge;

use super::{Config, ConfigError, environment, load_with};
use larder_mcp::auth;

pub use auth_reload::AuthReload;

/// The result of a reload.
#[derive(Debug, Clone)]
pub struct ConfigReload {
    /// The configuration that is in effect from now on: the new configuration, except for values that need a restart.
    pub config: Config,
    /// The keys whose values in the file take effect only after a restart.
    pub needs_restart: Vec<String>,
}

impl Config {
    /// Loads the same file with the same command line options. On an error, nothing changes.
    pub fn reload(&self) -> Result<ConfigReload, ConfigError> {
        // A server that requires credentials never stops requiring them, so missing credentials need not be reported.
        let auth_active = !self.endpoint.auth.is_empty();
        let fresh = load_with(&self.overrides, auth_active)?;
        let fresh = match (self.is_over_stdio, auth_active) {
            (true, _) => fresh.over_stdio()?,
            (false, true) => fresh,
            (false, false) => fresh.over_http()?,
        };
        Ok(self.merge(fresh))
    }

    /// Reloads only the credentials from the same file. `before` are the credentials that are now valid. Reads no other
    /// file, and ignores errors in other sections.
    pub fn reload_auth(&self, before: &auth::Config) -> Result<AuthReload, ConfigError> {
        let path = self.file.clone().unwrap_or_default();
        let bytes = std::fs::read(&path).map_err(|error| ConfigError::unreadable(&path, error))?;
        Ok(auth_reload::parse(&path, &bytes, &environment(), before))
    }
}
