//! Compiles a component as a whole, in the tier that is fastest.

use bytes::Bytes;

use super::process::Input;
use super::processes::RunningJob;
use super::{Compiler, Failure};
use crate::compile::cache::{Cache, KnownFunctions};
use crate::compile::compiled_code::CompiledCode;
use crate::compile::job::{can_recompile, functions_key};
use crate::compile::phases::Stopwatch;
use crate::engine::tier::{Tier, usable_tiers};
use larder_model::name::Digest;
use larder_provider::{CompilePhases, Rejection};

impl Compiler {
    /// Compiles a component as a whole. Uses the functions of the previous revision if there are any, because that is
    /// fastest. If compiling the parts took too long, the component is compiled only if there are such functions.
    pub(super) async fn compile_whole(
        &self,
        job: &RunningJob<'_>,
        key: Digest,
        bytes: &Bytes,
        parts: Option<Failure>,
    ) -> Result<(CompiledCode, CompilePhases), Rejection> {
        let known = self.known_functions(job).await?;
        if let Some(timeout) = parts.filter(|failure| failure.is_timeout && known.is_none()) {
            return Err(timeout.rejection);
        }
        if known.is_none() && usable_tiers(job, bytes.len()).contains(&Tier::First) {
            let input = Input {
                bytes,
                known: None,
                tier: Tier::First,
                is_library: false,
                may_recompile: false,
            };
            match self.compile_tier(job, key, input).await {
                // Code without optimisation is larger, so optimised code may be small enough. Optimisation takes
                // longer, so it is not tried after a timeout.
                Err(Failure {
                    rejection: Rejection::Compiler(error),
                    is_timeout: false,
                    ..
                }) => tracing::debug!(error, "compiling again, with optimisation"),
                ended => return ended.map_err(|failure| failure.rejection),
            }
        }
        let may_recompile = known.is_none() && can_recompile(job);
        let input = Input {
            bytes,
            known,
            tier: Tier::Optimised,
            is_library: false,
            may_recompile,
        };
        let compiled = self.compile_tier(job, key, input).await;
        compiled.map_err(|failure| failure.rejection)
    }

    async fn known_functions(
        &self,
        job: &RunningJob<'_>,
    ) -> Result<Option<KnownFunctions>, Rejection> {
        match functions_key(job) {
            Some(owner) => self.run_blocking(move |cache| cache.functions(owner)).await,
            None => Ok(None),
        }
    }

    /// Compiles a component into an entry of the cache, with the functions of the previous revision. If these functions
    /// make the process fail, they are removed, and another process compiles the component without them. If the process
    /// fails in a further compilation of the component, another process compiles the component once.
    async fn compile_tier(
        &self,
        job: &RunningJob<'_>,
        key: Digest,
        input: Input<'_>,
    ) -> Result<(CompiledCode, CompilePhases), Failure> {
        let stopwatch = Stopwatch::start();
        let tier = input.tier;
        let digest = tier.key(key);
        let was_known = input.known.is_some();
        let may_recompile = input.may_recompile;
        let again = Input {
            known: None,
            may_recompile: false,
            ..input
        };
        let (entry, phases) = match self.compile_once(job, digest, input, stopwatch).await {
            Err(Failure {
                rejection: Rejection::Compiler(error),
                has_compiled,
                ..
            }) if was_known || (may_recompile && has_compiled) => {
                self.prepare_second_process(job, &error, was_known).await?;
                self.compile_once(job, digest, again, stopwatch).await?
            }
            ended => ended?,
        };
        self.remove_preliminary(key, tier).await?;
        Ok((CompiledCode::without_libraries(entry, tier), phases))
    }

    async fn prepare_second_process(
        &self,
        job: &RunningJob<'_>,
        error: &str,
        was_known: bool,
    ) -> Result<(), Rejection> {
        if !was_known {
            tracing::warn!(
                error,
                "compiling again, without more keys for the functions of the next revision"
            );
            return Ok(());
        }
        tracing::warn!(
            error,
            "compiling again, without the functions of the previous revision"
        );
        if let Some(owner) = functions_key(job) {
            self.run_blocking(move |cache| cache.remove_functions(owner))
                .await?;
        }
        Ok(())
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
