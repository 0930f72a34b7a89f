//! The commands for components in registries.

mod add;
mod annotations;
mod context;
mod differences;
mod edit;
mod files;
mod gc;
mod lock;
mod pull;
mod push;
mod remove;
mod section;
mod sign;
mod transfer;
mod update;
mod verify;

use std::path::Path;

pub(super) use add::Add;
pub(super) use gc::Gc;
pub(super) use lock::Lock;
pub(super) use pull::Pull;
pub(super) use push::Push;
pub(super) use remove::Remove;
pub(super) use sign::Sign;
pub(super) use update::Update;
pub(super) use verify::Verify;

use super::Outcome;
use super::error::CommandError;
use super::inspect::{Findings, Inspect, RegistryMetadata, Statement, examine_published};
use context::{ContextArgs, TeamAccess, component_bytes};
use larder_model::name::ProviderName;
use larder_registry::{PulledImage, Reference, Store};

/// Returns the argument as a reference, unless it names a file.
pub(super) fn reference_of(argument: &Path) -> Option<Reference> {
    let text = argument.to_str().filter(|_| !argument.exists())?;
    let is_builtin = text.starts_with(larder_builtin::PREFIX);
    text.parse().ok().filter(|_| !is_builtin)
}

/// Runs `larder inspect` for a component in a registry.
pub(super) async fn inspect(reference: Reference, args: Inspect) -> Result<Outcome, CommandError> {
    let Inspect {
        config, team, json, ..
    } = args;
    let context = ContextArgs { config, team }.load()?;
    let team = context.one_team()?;
    let pulled = team.pull(&reference, &team.store).await?;
    let name = default_name(&reference);
    let findings = examine(&team, &team.store, &name, &reference, &pulled).await?;
    findings.print(json)
}

/// Describes a pulled component.
async fn examine(
    team: &TeamAccess<'_>,
    store: &Store,
    name: &str,
    reference: &Reference,
    pulled: &PulledImage,
) -> Result<Findings, CommandError> {
    let bytes = component_bytes(store, &pulled.component)?;
    let published = published(team, store, pulled)?;
    examine_published(
        name,
        &reference.to_string(),
        &bytes,
        published,
        &team.team.reconcile,
    )
    .await
}

fn published(
    team: &TeamAccess<'_>,
    store: &Store,
    pulled: &PulledImage,
) -> Result<RegistryMetadata, CommandError> {
    let (signer, untrusted) = match team.signer(&pulled.component, store)? {
        Ok(signer) => (signer, None),
        Err(untrusted) => (None, Some(untrusted)),
    };
    let signed = team
        .attestations(&pulled.component, store)?
        .into_iter()
        .map(Statement::from);
    let unsigned = store
        .documents(&pulled.component.manifest)?
        .into_iter()
        .map(Statement::from);
    Ok(RegistryMetadata {
        image: pulled.image.to_string(),
        annotations: pulled.component.annotations.clone(),
        signer,
        untrusted,
        attestations: signed.chain(unsigned).collect(),
    })
}

/// Returns the name of a provider for a reference: the last part of its repository, or the name of the package.
fn default_name(reference: &Reference) -> String {
    let name = match reference {
        Reference::Image(image) => image
            .repository
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_owned(),
        Reference::Package(package) => package.package.name().to_string(),
    };
    if ProviderName::parse(&name).is_ok() {
        name
    } else {
        "component".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_named_after_the_repository() {
        for (reference, name) in [
            ("r.example/team/wiki:1", "wiki"),
            ("r.example/wiki-search:1", "wiki-search"),
            ("team:notes@^1", "notes"),
        ] {
            assert_eq!(default_name(&reference.parse().unwrap()), name);
        }
    }

    #[test]
    fn files_precede_references() {
        assert_eq!(reference_of(Path::new("Cargo.toml")), None);
        assert_eq!(reference_of(Path::new("plugins/wiki.wasm")), None);
        assert!(reference_of(Path::new("r.example/wiki:1")).is_some());
    }
}
