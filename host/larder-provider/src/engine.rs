//! The engine: compiles components, and creates providers from them.

use std::any::Any;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{
    CompileJob, CompilePhases, GrantSources, HashedComponent, Provider, Rejection, SignalSender,
};
use larder_key_value::KeyValueStore;
use larder_model::name::{Digest, ProviderName, TeamName};
use larder_model::policy::{Grant, QuotaUsage};
use larder_runtime::drain::Drain;
use larder_runtime::file_fingerprint::FileFingerprint;
use larder_runtime::metrics::Metrics;

/// Compiles components, and knows the compiled components in its cache.
pub trait Engine: Send + Sync {
    /// The metrics of the server.
    fn metrics(&self) -> &Metrics;

    /// Checks and compiles a component. Dropping the future ends the compilation.
    fn compile<'a>(
        self: Arc<Self>,
        job: CompileJob<'a>,
        hashed: HashedComponent,
    ) -> BoxFuture<'a, Result<Compilation, Rejection>>;

    /// Returns the compiled component of a file with this fingerprint from the cache, so that the file need not be
    /// read.
    fn find_cached<'a>(
        self: Arc<Self>,
        team: &'a TeamName,
        fingerprint: FileFingerprint,
    ) -> BoxFuture<'a, Option<Box<dyn CachedComponent>>>;

    /// Returns the optimised code of the component with this digest from the cache.
    fn find_optimised<'a>(
        self: Arc<Self>,
        team: &'a TeamName,
        digest: Digest,
    ) -> BoxFuture<'a, Option<Box<dyn CachedComponent>>>;

    /// Records the digest of the file with this fingerprint. The fingerprint must be settled, and must be the same
    /// before and after the file was read.
    fn record_digest(&self, fingerprint: FileFingerprint, digest: Digest) -> BoxFuture<'_, ()>;

    /// Removes the recorded digest of the file with this fingerprint, because it is wrong.
    fn forget_digest(&self, fingerprint: FileFingerprint) -> BoxFuture<'_, ()>;
}

/// The result of a compilation.
pub struct Compilation {
    /// The compiled component.
    pub component: Box<dyn CachedComponent>,
    /// How long the phases took.
    pub phases: CompilePhases,
}

/// A compiled component from the cache of an engine.
pub trait CachedComponent: Send + Sync {
    /// The digest of the component.
    fn digest(&self) -> Digest;

    /// Links the component, and checks its imports and exports.
    fn link(self: Box<Self>) -> Result<Box<dyn CompiledComponent>, Rejection>;
}

/// A component that was checked, compiled and linked.
pub trait CompiledComponent: Any + Send + Sync {
    /// The names of the component's imports.
    fn imports(&self) -> &[String];

    /// Creates a provider. The provider has to be probed before it is served.
    fn into_provider(self: Box<Self>, parts: ProviderParts) -> Arc<dyn Provider>;
}

/// What a provider has beside its component.
pub struct ProviderParts {
    /// The name of the provider.
    pub name: ProviderName,
    /// The team of the provider.
    pub team: TeamName,
    /// The grants of the provider, and its limits.
    pub grant: Arc<Grant>,
    /// The origins of the grants.
    pub grant_sources: GrantSources,
    /// The queue for the signals of the provider.
    pub signals: SignalSender,
    /// The quota of the team and its usage; none if no teams are configured.
    pub quota_usage: Option<Arc<QuotaUsage>>,
    /// The key-value store of the team; none in a process without a store.
    pub key_value: Option<KeyValueStore>,
    /// The calls of the provider end when the tasks of this drain are dropped.
    pub drain: Drain,
}
