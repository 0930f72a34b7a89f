//! The sandbox as the core knows it.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::provider::SandboxComponent;
use crate::{CachedComponent, Sandbox};
use larder_model::name::{Digest, TeamName};
use larder_provider::{
    self as interface, Compilation, CompileJob, Engine, HashedComponent, Rejection,
};
use larder_runtime::file_fingerprint::FileFingerprint;
use larder_runtime::metrics::Metrics;

/// Compiled code from the cache, with the sandbox that links it.
struct SandboxCode {
    cached: CachedComponent,
    sandbox: Arc<Sandbox>,
}

impl Engine for Sandbox {
    fn metrics(&self) -> &Metrics {
        self.metrics()
    }

    fn compile<'a>(
        self: Arc<Self>,
        job: CompileJob<'a>,
        hashed: HashedComponent,
    ) -> BoxFuture<'a, Result<Compilation, Rejection>> {
        Box::pin(async move {
            let (cached, phases) = self.compile_for(&job, hashed).await?;
            let component = self.code(cached);
            Ok(Compilation { component, phases })
        })
    }

    fn find_cached<'a>(
        self: Arc<Self>,
        team: &'a TeamName,
        fingerprint: FileFingerprint,
    ) -> BoxFuture<'a, Option<Box<dyn interface::CachedComponent>>> {
        Box::pin(async move {
            let cached = Sandbox::find_cached(&self, team, fingerprint).await?;
            Some(self.code(cached))
        })
    }

    fn find_optimised<'a>(
        self: Arc<Self>,
        team: &'a TeamName,
        digest: Digest,
    ) -> BoxFuture<'a, Option<Box<dyn interface::CachedComponent>>> {
        Box::pin(async move {
            let cached = Sandbox::find_optimised(&self, team, digest).await?;
            Some(self.code(cached))
        })
    }

    fn record_digest(&self, fingerprint: FileFingerprint, digest: Digest) -> BoxFuture<'_, ()> {
        Box::pin(self.record_digest(fingerprint, digest))
    }

    fn forget_digest(&self, fingerprint: FileFingerprint) -> BoxFuture<'_, ()> {
        Box::pin(self.forget_digest(fingerprint))
    }
}

impl Sandbox {
    fn code(self: Arc<Self>, cached: CachedComponent) -> Box<dyn interface::CachedComponent> {
        Box::new(SandboxCode {
            cached,
            sandbox: self,
        })
    }
}

impl interface::CachedComponent for SandboxCode {
    fn digest(&self) -> Digest {
        self.cached.digest()
    }

    fn link(self: Box<Self>) -> Result<Box<dyn interface::CompiledComponent>, Rejection> {
        let Self { cached, sandbox } = *self;
        let compiled = sandbox.link(cached)?;
        Ok(Box::new(SandboxComponent { compiled, sandbox }))
    }
}
