//! Compiles a component as a whole, in the tier that is fastest.

use bytes::Bytes;

use super::process::Input;
use super::processes::RunningJob;
use super::{Compiler, Failure};
use crate::compile::cache::Cache;
use crate::compile::compiled_code::CompiledCode;
use crate::compile::phases::Stopwatch;
use crate::engine::tier::{Tier, usable_tiers};
use larder_model::name::Digest;
use larder_provider::{CompilePhases, Rejection};

impl Compiler {
    /// Compiles a component as a whole. If compiling its parts took too long, compiling the whole takes too long as well.
    pub(super) async fn compile_whole(
        &self,
        job: &RunningJob<'_>,
        key: Digest,
        bytes: &Bytes,
        parts: Option<Failure>,
    ) -> Result<(CompiledCode, CompilePhases), Rejection> {
        if let Some(timeout) = parts.filter(|failure| failure.is_timeout) {
            return Err(timeout.rejection);
        }
        if usable_tiers(job, bytes.len()).contains(&Tier::First) {
            match self.compile_tier(job, key, bytes, Tier::First).await {
                // Code without optimisation is larger, so optimised code may be small enough. Optimisation takes
                // longer, so it is not tried after a timeout.
                Err(Failure {
                    rejection: Rejection::Compiler(error),
                    is_timeout: false,
                }) => tracing::debug!(error, "compiling again, with optimisation"),
                ended => return ended.map_err(|failure| failure.rejection),
            }
        }
        let compiled = self.compile_tier(job, key, bytes, Tier::Optimised).await;
        compiled.map_err(|failure| failure.rejection)
    }

    /// Compiles a component into an entry of the cache.
    async fn compile_tier(
        &self,
        job: &RunningJob<'_>,
        key: Digest,
        bytes: &Bytes,
        tier: Tier,
    ) -> Result<(CompiledCode, CompilePhases), Failure> {
        let input = Input {
            bytes,
            tier,
            is_library: false,
        };
        let (entry, phases) = self
            .compile_once(job, tier.key(key), input, Stopwatch::start())
            .await?;
        self.remove_preliminary(key, tier).await?;
        Ok((CompiledCode::without_libraries(entry, tier), phases))
    }

    /// Removes the code that optimised code replaces.
    async fn remove_preliminary(&self, key: Digest, tier: Tier) -> Result<(), Rejection> {
        if tier == Tier::Optimised {
            let remove = move |cache: &Cache| {
                Tier::PRELIMINARY.map(|other| cache.remove_entry(other.key(key)))
            };
            self.run_blocking(move |cache| _ = remove(cache)).await?;
        }
        Ok(())
    }
}
