//! Compiles a provider again with optimisation, if it was compiled without optimisation because somebody waited for it.
//! The revision stays the same, so nobody is notified.

use std::sync::Weak;
use std::time::Duration;

use super::Loader;
use crate::source::Blob;
use larder_model::name::{Digest, ProviderName};
use larder_model::policy::Grant;
use larder_provider::{CompileJob, CompiledComponent, LoadError, Priority, Provider};

/// The delays before further attempts. A failure may have a temporary cause, such as a busy machine.
const RETRY_DELAYS: [Duration; 3] = [
    Duration::from_secs(60),
    Duration::from_secs(4 * 60),
    Duration::from_secs(16 * 60),
];

impl Loader {
    /// Compiles the component of a provider with optimisation, and lets the provider use the code. Tries again if the
    /// compilation fails.
    pub(super) async fn optimise(&self, component: &Blob, provider: Weak<dyn Provider>) {
        tokio::select! {
            () = self.drain.stopping() => {}
            () = self.optimise_with_retries(component, &provider) => {}
        }
    }

    async fn optimise_with_retries(&self, component: &Blob, provider: &Weak<dyn Provider>) {
        let mut delays = RETRY_DELAYS.into_iter();
        while let Err(error) = self.optimise_in_turn(component, provider).await {
            // Without the provider, the code is not needed any more.
            let Some(name) = provider.upgrade().map(|provider| provider.name().clone()) else {
                return;
            };
            let delay = delays.next().filter(|_| error.is_temporary());
            self.log_failure(&name, &error, delay);
            let Some(delay) = delay else { return };
            tokio::time::sleep(delay).await;
        }
    }

    fn log_failure(&self, name: &ProviderName, error: &LoadError, retry_in: Option<Duration>) {
        let team = self.team.non_default();
        match retry_in {
            Some(retry_in) => {
                tracing::warn!(team, provider = %name, %error, ?retry_in, "cannot optimise the code of a provider: it stays slower until another attempt succeeds");
            }
            None => {
                tracing::warn!(team, provider = %name, %error, "cannot optimise the code of a provider: it stays slower until it is loaded again");
            }
        }
    }

    /// Waits until no other provider is being optimised, and makes one attempt.
    async fn optimise_in_turn(
        &self,
        component: &Blob,
        provider: &Weak<dyn Provider>,
    ) -> Result<(), LoadError> {
        let _permit = self.optimise_permit.acquire().await;
        // If this is none, the provider was removed or has another revision.
        let Some(serving) = provider.upgrade() else {
            return Ok(());
        };
        let name = serving.name().clone();
        let digest = serving.digest();
        let grant = serving.grant().clone();
        drop(serving);
        let compiled = self
            .optimised_code(component, &name, digest, &grant)
            .await?;
        if let (Some(compiled), Some(provider)) = (compiled, provider.upgrade()) {
            provider.replace_code(compiled);
            tracing::debug!(team = self.team.non_default(), provider = %name, "the code is optimised");
        }
        Ok(())
    }

    /// Returns none if the component has changed. The next scan loads the changed component.
    async fn optimised_code(
        &self,
        component: &Blob,
        name: &ProviderName,
        digest: Digest,
        grant: &Grant,
    ) -> Result<Option<Box<dyn CompiledComponent>>, LoadError> {
        // Another provider may have the same component.
        if let Some(cached) = self.engine.clone().find_optimised(&self.team, digest).await {
            return Ok(Some(cached.link()?));
        }
        let hashed = self.read(component, grant).await?;
        if hashed.digest() != digest {
            return Ok(None);
        }
        let job = CompileJob {
            team: &self.team,
            provider: Some(name),
            priority: Priority::Optimisation,
        };
        let compilation = self.engine.clone().compile(job, hashed).await?;
        Ok(Some(compilation.component.link()?))
    }
}
