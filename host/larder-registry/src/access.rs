//! What a team may access, and how: the permitted registries with their settings and credentials, and the limits.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use larder_model::policy::Secret;

use crate::{Error, Package};

/// The registries that a team may access.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Access {
    /// The permitted registries, by host name with port.
    pub registries: BTreeMap<String, Registry>,
    /// The registry of the packages of each namespace.
    pub namespaces: BTreeMap<String, String>,
    /// Docker's configuration. It and its credential helpers are used for registries without configured credentials.
    /// The file need not exist.
    pub docker_config: Option<PathBuf>,
    /// The limits of transfers.
    pub limits: Limits,
}

/// The settings of one registry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Registry {
    /// Uses HTTP without TLS.
    pub plain_http: bool,
    /// Certificates in PEM format of authorities that are trusted in addition to the authorities of the system.
    pub ca: Option<String>,
    /// The URL of a proxy. It may contain credentials. Without it, `HTTPS_PROXY` and similar variables apply.
    pub proxy: Option<Secret>,
    /// Registries that are tried first, in this order: a host name, and optionally a path before the repository. They
    /// must be permitted too.
    pub mirrors: Vec<String>,
    /// The credentials.
    pub credentials: Option<Credentials>,
}

/// The credentials for a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    /// A name and a password.
    Basic {
        /// The name.
        username: String,
        /// The password.
        password: Secret,
    },
    /// A token that is sent to the registry without an exchange.
    Bearer(Secret),
    /// A token that is exchanged for other tokens, as Docker's helpers return it.
    Identity(Secret),
}

/// The limits of transfers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The size of a component in bytes.
    pub component: u64,
    /// How long a registry may send no bytes.
    pub stall: Duration,
    /// How long a pull may take in total.
    pub pull: Duration,
    /// How many pulls run at the same time in one process.
    pub concurrent_pulls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            component: 64 << 20,
            stall: Duration::from_secs(30),
            pull: Duration::from_secs(10 * 60),
            concurrent_pulls: 4,
        }
    }
}

impl Access {
    /// Returns the settings of a registry, if it is permitted.
    pub fn registry(&self, name: &str) -> Result<&Registry, Error> {
        self.registries
            .get(name)
            .ok_or_else(|| Error::NotPermitted(name.to_owned()))
    }

    /// Returns the registry for a package, if it is permitted.
    pub fn registry_of(&self, package: &Package) -> Result<&str, Error> {
        let namespace = package.package.namespace().to_string();
        let Some(registry) = self.namespaces.get(&namespace) else {
            return Err(Error::UnknownNamespace(namespace));
        };
        self.registry(registry).map(|_| registry.as_str())
    }
}

impl Registry {
    /// Returns the scheme of its URLs.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.plain_http { "http" } else { "https" }
    }
}
