//! An engine whose components are names of fake contents.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};

use super::FakeContent;
use crate::{
    CachedComponent, Compilation, CompileJob, CompilePhases, CompiledComponent, Engine,
    HashedComponent, Provider, ProviderParts, Rejection,
};
use larder_model::name::{Digest, TeamName};
use larder_runtime::file_fingerprint::FileFingerprint;
use larder_runtime::metrics::Metrics;

/// An engine without WebAssembly. The bytes of a component are the name of a content; other components are rejected.
#[derive(Default)]
pub struct FakeEngine {
    metrics: Metrics,
    contents: BTreeMap<String, FakeContent>,
}

impl FakeEngine {
    /// Adds a content. It is what the component with these bytes provides.
    pub fn with(mut self, component: &str, content: FakeContent) -> Self {
        self.contents.insert(component.to_owned(), content);
        self
    }
}

/// A component, with the content that it provides.
struct FakeComponent {
    digest: Digest,
    content: FakeContent,
    metrics: Metrics,
}

impl Engine for FakeEngine {
    fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    fn compile<'a>(
        self: Arc<Self>,
        _job: CompileJob<'a>,
        hashed: HashedComponent,
    ) -> BoxFuture<'a, Result<Compilation, Rejection>> {
        let name = String::from_utf8_lossy(hashed.bytes());
        let content = self.contents.get(&*name).ok_or(Rejection::NotWasm);
        let compilation = content.map(|content| Compilation {
            component: Box::new(FakeComponent {
                digest: hashed.digest(),
                content: content.clone(),
                metrics: self.metrics.clone(),
            }),
            phases: CompilePhases::default(),
        });
        Box::pin(ready(compilation))
    }

    fn find_cached<'a>(
        self: Arc<Self>,
        _team: &'a TeamName,
        _fingerprint: FileFingerprint,
    ) -> BoxFuture<'a, Option<Box<dyn CachedComponent>>> {
        Box::pin(ready(None))
    }

    fn find_optimised<'a>(
        self: Arc<Self>,
        _team: &'a TeamName,
        _digest: Digest,
    ) -> BoxFuture<'a, Option<Box<dyn CachedComponent>>> {
        Box::pin(ready(None))
    }

    fn record_digest(&self, _fingerprint: FileFingerprint, _digest: Digest) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    fn forget_digest(&self, _fingerprint: FileFingerprint) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }
}

impl CachedComponent for FakeComponent {
    fn digest(&self) -> Digest {
        self.digest
    }

    fn link(self: Box<Self>) -> Result<Box<dyn CompiledComponent>, Rejection> {
        Ok(self)
    }
}

impl CompiledComponent for FakeComponent {
    fn imports(&self) -> &[String] {
        &[]
    }

    fn into_provider(self: Box<Self>, parts: ProviderParts) -> Arc<dyn Provider> {
        let provider = self.content.provider_of(parts, self.digest, &self.metrics);
        Arc::new(provider)
    }
}
