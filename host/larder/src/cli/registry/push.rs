//! `larder push`: publishes a component in a registry.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueHint};
use serde_json::json;

use super::annotations::{AnnotationArgs, grant_request};
use super::context::{ContextArgs, TeamAccess};
use super::transfer::Transfers;
use crate::cli::error::{CommandError, RegistryCommandError};
use crate::cli::inspect::ComponentInfo;
use crate::cli::{Outcome, out};
use larder_functions::read_functions;
use larder_registry::{Error, Image, Interfaces, Package, Reference, Upload, Version, semver};

/// Publish a component in a registry
///
/// NAME.toml next to NAME.wasm, with the grants that the component requests, becomes an annotation.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  larder push notes.wasm registry.example.com/team/notes:1.0.0 --description 'Serves notes' --licenses MIT

Credentials come from the configuration, or from Docker: `docker login registry.example.com`.")]
pub(in crate::cli) struct Push {
    /// The component
    #[arg(value_name = "FILE.wasm", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Where it is published: REGISTRY/REPOSITORY:TAG, or NAMESPACE:PACKAGE@VERSION
    #[arg(value_name = "REF")]
    reference: Reference,
    #[command(flatten)]
    annotations: AnnotationArgs,
    #[command(flatten)]
    context: ContextArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Push {
    pub(in crate::cli) async fn run(self) -> Result<Outcome, CommandError> {
        let path = self.file;
        let bytes = std::fs::read(&path).map_err(CommandError::input(&path))?;
        let info = ComponentInfo::of(&bytes);
        if info.contract.is_none() && !has_functions(&bytes) {
            let kind = info.kind_with_article();
            return Err(RegistryCommandError::NotAProvider { path, kind }.into());
        }
        let request = grant_request(&path)?;
        let interfaces = Interfaces {
            imports: info.imports.into_values().flatten().collect(),
            exports: info.all_exports,
        };
        let context = self.context.load()?;
        let team = context.one_team()?;
        let (image, tag) = destination(&team, &self.reference).await?;
        let annotations = self
            .annotations
            .annotations(&info.metadata, Some(&tag), request);
        let before = published(&team, &image).await?;
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let transfers = Arc::new(Transfers::new(&format!("pushing {image}")));
        let upload = Upload::new(&team.client, &image, transfers);
        let digest = upload
            .component(&file, bytes.into(), &interfaces, &annotations)
            .await?;
        let pushed = image.with_digest(digest).to_string();
        let moved = before.filter(|before| *before != pushed);
        if self.json {
            out::json(&json!({
                "reference": image.to_string(),
                "image": pushed,
                "digest": format!("sha256:{digest}"),
                "replaced": moved,
                "annotations": annotations,
            }))?
        } else {
            out::text(&format!("{pushed}\n"))?
        }
        if let Some(before) = moved {
            out::note(&format!("larder: the tag {tag} was {before} before"));
        }
        Ok(Outcome::Success)
    }
}

/// Returns whether a component has a function that can be a tool.
fn has_functions(component: &[u8]) -> bool {
    read_functions(component).is_ok_and(|set| !set.functions.is_empty())
}

/// Returns the image that the tag means now.
async fn published(team: &TeamAccess<'_>, image: &Image) -> Result<Option<String>, CommandError> {
    match team.client.resolve(&Reference::Image(image.clone())).await {
        Ok(image) => Ok(Some(image.to_string())),
        Err(Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the image to push, and its tag.
async fn destination(
    team: &TeamAccess<'_>,
    reference: &Reference,
) -> Result<(Image, String), CommandError> {
    let image = match reference {
        Reference::Image(image) => image.clone(),
        Reference::Package(package) => {
            let version = exact_version(package).ok_or_else(|| no_tag(reference))?;
            team.client.image_of(package, &version).await?
        }
    };
    match &image.version {
        Version::Tag(tag) => Ok((image.clone(), tag.clone())),
        Version::Digest(_) => Err(no_tag(reference).into()),
    }
}

fn no_tag(reference: &Reference) -> RegistryCommandError {
    RegistryCommandError::NoTag(reference.to_string())
}

/// Returns the version of a requirement that names exactly one version, such as `1.2.0` or `=1.2.0`.
fn exact_version(package: &Package) -> Option<semver::Version> {
    let [only] = package.requirement.comparators.as_slice() else {
        return None;
    };
    matches!(only.op, semver::Op::Caret | semver::Op::Exact).then_some(())?;
    let mut version = semver::Version::new(only.major, only.minor?, only.patch?);
    version.pre = only.pre.clone();
    Some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_published_in_one_version() {
        for (reference, version) in [
            ("team:wiki@1.2.0", Some("1.2.0")),
            ("team:wiki@=1.2.0-rc.1", Some("1.2.0-rc.1")),
            ("team:wiki@1.2", None),
            ("team:wiki@>=1.2.0", None),
            ("team:wiki", None),
        ] {
            let Ok(Reference::Package(package)) = reference.parse() else {
                panic!("{reference}")
            };
            let found = exact_version(&package).map(|version| version.to_string());
            assert_eq!(found.as_deref(), version, "{reference}");
        }
    }
}
