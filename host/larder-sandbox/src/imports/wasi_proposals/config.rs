//! Implements `wasi:config` with the settings and secrets of the provider, like `setting` of the contract.

use std::collections::BTreeMap;

use wasmtime::component::{ComponentType, Linker, Lower};

use crate::guest::state::GuestState;

/// The versions that other hosts offer: wasmtime and wasmCloud, wassette, Spin, and wasmCloud before 2025. All of them
/// have the same functions.
pub(super) const INTERFACES: [&str; 4] = [
    "wasi:config/store@0.2.0-rc.1",
    "wasi:config/store@0.2.0-draft",
    "wasi:config/store@0.2.0-draft-2024-09-27",
    "wasi:config/runtime@0.2.0-draft",
];

/// Why a setting cannot be read.
#[derive(ComponentType, Lower)]
#[component(variant)]
#[expect(
    dead_code,
    reason = "settings are in memory, so that reading never fails"
)]
enum ConfigError {
    #[component(name = "upstream")]
    Upstream(String),
    #[component(name = "io")]
    Io(String),
}

pub(super) fn add_to_linker(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    for interface in INTERFACES {
        let mut config = linker.instance(interface)?;
        config.func_wrap("get", |store, (name,): (String,)| {
            let value = store.data().setting_value(&name);
            Ok((Ok::<_, ConfigError>(value),))
        })?;
        config.func_wrap("get-all", |store, (): ()| {
            Ok((Ok::<_, ConfigError>(store.data().all_settings()),))
        })?;
    }
    Ok(())
}

impl GuestState {
    /// All settings and secrets. A secret takes precedence over a setting of the same name.
    fn all_settings(&self) -> Vec<(String, String)> {
        let grant = &self.lease.grant;
        let secrets = grant.secrets.iter();
        let secrets = secrets.map(|(name, secret)| (name.clone(), secret.reveal().to_owned()));
        let settings = grant.settings.clone().into_iter();
        let all: BTreeMap<_, _> = settings.chain(secrets).collect();
        all.into_iter().collect()
    }
}
