//! Replaces the code of a provider that was compiled without optimisation, because somebody waited for it. The revision
//! stays the same, so nobody is notified.

use std::sync::Weak;

use super::Loader;
use crate::source::Blob;
use larder_model::name::{Digest, ProviderName};
use larder_model::policy::Grant;
use larder_sandbox::provider::{LoadError, Provider};
use larder_sandbox::{CompileJob, CompiledComponent, Priority};

impl Loader {
    /// Compiles the component of a provider with optimisation, and lets the provider use the code.
    pub(super) async fn optimise(&self, component: &Blob, provider: Weak<Provider>) {
        tokio::select! {
            () = self.drain.stopping() => {}
            () = self.optimise_in_turn(component, provider) => {}
        }
    }

    async fn optimise_in_turn(&self, component: &Blob, provider: Weak<Provider>) {
        let _permit = self.optimise_permit.acquire().await;
        // Without it, the provider was removed or has another revision.
        let Some(serving) = provider.upgrade() else { return };
        let (name, digest, grant) = (serving.name().clone(), serving.digest(), serving.grant().clone());
        drop(serving);
        match self.optimised_code(component, (&name, digest), &grant).await {
            Ok(Some(compiled)) => {
                if let Some(provider) = provider.upgrade() {
                    provider.replace_code(compiled);
                    tracing::debug!(team = self.team.non_default(), provider = %name, "the code is optimised");
                }
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(team = self.team.non_default(), provider = %name, %error, "cannot optimise the code of a provider: it stays slower until it is loaded again");
            }
        }
    }

    /// Returns none if the component has changed. The next scan loads what is there now.
    async fn optimised_code(
        &self,
        component: &Blob,
        (name, digest): (&ProviderName, Digest),
        grant: &Grant,
    ) -> Result<Option<CompiledComponent>, LoadError> {
        // Another provider may have the same component.
        if let Some(cached) = self.sandbox.find_optimised(&self.team, digest).await {
            return Ok(Some(self.sandbox.link(cached)?));
        }
        let hashed = self.read(component, grant).await?;
        if hashed.digest() != digest {
            return Ok(None);
        }
        let job = CompileJob { team: &self.team, provider: Some(name), priority: Priority::Optimisation };
        let (cached, _) = self.sandbox.compile_for(&job, hashed).await?;
        Ok(Some(self.sandbox.link(cached)?))
    }
}
