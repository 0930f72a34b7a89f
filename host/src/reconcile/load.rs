//! From a file to a provider: read, compile, probe. What holds a thread does so on one of its own.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::drain::Drain;
use crate::name::{Digest, ProviderName, TeamName};
use crate::policy::Grant;
use crate::provider::{LoadError, Probed, Provider};
use crate::sandbox::{Sandbox, Signal};
use crate::source::{Fetched, File};

pub(super) async fn read(file: &File, grant: &Grant, drain: &Drain) -> Result<Bytes, LoadError> {
    let (file, limit) = (file.clone(), grant.limits.component);
    let fetched = drain.spawn_blocking(move || file.fetch(limit)).await;
    match fetched {
        Ok(Ok(Fetched::Bytes(bytes))) => Ok(bytes),
        Ok(Ok(Fetched::TooLarge(size))) => Err(LoadError::TooLarge { size, limit }),
        Ok(Err(error)) => Err(LoadError::Unreadable(error.to_string())),
        Err(error) => Err(LoadError::Unreadable(error.to_string())),
    }
}

/// Compiles a component and asks it what it offers.
pub async fn load(
    owner: (ProviderName, TeamName),
    bytes: Bytes,
    grant: Arc<Grant>,
    sandbox: &Arc<Sandbox>,
    signals: &mpsc::Sender<(ProviderName, Signal)>,
    drain: &Drain,
) -> Result<(Provider, Probed), LoadError> {
    let compiler = sandbox.clone();
    let work = drain.spawn_blocking(move || (Digest::of(&bytes), compiler.compile(&bytes)));
    // A component over which the compiler panics is one bad component, not the end of the house.
    let (digest, compiled) = work.await.map_err(|error| LoadError::Compiler(error.to_string()))?;
    let provider = Provider::new(owner, digest, compiled?, grant, sandbox.clone(), signals.clone());
    let probed = provider.probe().await?;
    Ok((provider, probed))
}
