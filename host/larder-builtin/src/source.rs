//! The built-in providers of a team as a source.

use std::collections::BTreeMap;
use std::io;

use tokio::sync::watch;

use super::BuiltinProvider;
use larder_core::source::{Scan, ScanTriggers, Source};
use larder_model::name::ProviderName;

/// The components of a team that are inside the program, by the name of the provider.
pub type BuiltinComponents = BTreeMap<ProviderName, &'static BuiltinProvider>;

/// The built-in providers that a configuration names.
pub struct BuiltinSource(watch::Receiver<BuiltinComponents>);

/// Replaces the configuration of a running source.
#[derive(Debug, Clone)]
pub struct BuiltinHandle(watch::Sender<BuiltinComponents>);

impl BuiltinHandle {
    /// Creates the source of a team and its handle.
    pub fn new(components: BuiltinComponents) -> (Self, BuiltinSource) {
        let (sender, receiver) = watch::channel(components);
        (Self(sender), BuiltinSource(receiver))
    }

    /// Replaces the components. The next scan uses them. The caller triggers the scan.
    pub fn update(&self, components: BuiltinComponents) {
        self.0.send_replace(components);
    }
}

impl Source for BuiltinSource {
    fn location(&self) -> String {
        "the program".into()
    }

    fn scan(&mut self) -> io::Result<Scan> {
        let components = self.0.borrow();
        let artifacts = components
            .iter()
            .map(|(name, provider)| provider.artifact(name));
        Ok(Scan {
            artifacts: artifacts.collect(),
            reserved: components.keys().map(ToString::to_string).collect(),
            ..Scan::default()
        })
    }

    fn register_triggers(&mut self, _: &mut ScanTriggers) {}
}
