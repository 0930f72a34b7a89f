//! `larder sign`: signs a component in a registry, or a file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueHint};
use serde_json::json;

use super::context::ContextArgs;
use super::transfer::Transfers;
use crate::cli::error::{CommandError, RegistryCommandError};
use crate::cli::{Outcome, out};
use larder_model::signature::DETACHED_EXTENSION;
use larder_registry::{Error, Reference, Upload, Version};
use larder_signature::PrivateKey;

/// Sign a component in a registry, or a file
///
/// Signs in the format of cosign. The signature of a file is written next to it, as FILE.sig. Earlier
/// signatures in a registry stay.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem
  openssl pkey -in key.pem -pubout -out key.pub       # for `[trust]` of the servers
  larder sign registry.example.com/team/notes:1.0.0 --key key.pem")]
pub(in crate::cli) struct Sign {
    /// The component: a reference, or a file
    #[arg(value_name = "REF|FILE.wasm", value_hint = ValueHint::FilePath)]
    component: PathBuf,
    /// The file with the private key (PEM, PKCS #8, without a password)
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    #[command(flatten)]
    context: ContextArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Sign {
    pub(in crate::cli) async fn run(self) -> Result<Outcome, CommandError> {
        let key = private_key(&self.key)?;
        let (subject, written) = match super::reference_of(&self.component) {
            Some(reference) => sign_image(&self.context, &reference, &key).await?,
            None => sign_file(&self.component, &key)?,
        };
        if self.json {
            out::json(&json!({ "signed": subject, "signature": written }))?
        } else {
            out::text(&format!("{written}\n"))?
        }
        out::note(&format!("larder: signed {subject}"));
        Ok(Outcome::Success)
    }
}

fn private_key(path: &Path) -> Result<PrivateKey, CommandError> {
    let text = std::fs::read_to_string(path).map_err(CommandError::input(path))?;
    let failed = |error| RegistryCommandError::Key {
        path: path.to_owned(),
        error,
    };
    Ok(PrivateKey::from_pem(&text).map_err(failed)?)
}

/// Returns what was signed, and where the signature is.
fn sign_file(path: &Path, key: &PrivateKey) -> Result<(String, String), CommandError> {
    let content = std::fs::read(path).map_err(CommandError::input(path))?;
    let mut name = OsString::from(path);
    name.push(DETACHED_EXTENSION);
    let signature = PathBuf::from(name);
    larder_author::replace(
        &signature,
        format!("{}\n", key.sign_blob(&content)?).as_bytes(),
    )?;
    Ok((path.display().to_string(), signature.display().to_string()))
}

async fn sign_image(
    args: &ContextArgs,
    reference: &Reference,
    key: &PrivateKey,
) -> Result<(String, String), CommandError> {
    let context = args.load()?;
    let team = context.one_team()?;
    let image = team.client.resolve(reference).await?;
    // Only an existing image is signed.
    let (_, digest) = team.client.manifest(&image).await?;
    let place = image.at(Version::Tag(format!("sha256-{digest}.sig")));
    let existing = match team.client.manifest(&place).await {
        Ok((manifest, _)) => Some(manifest),
        Err(Error::NotFound(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let repository = format!("{}/{}", image.registry, image.repository);
    let signed = key.sign_manifest(
        &repository,
        &format!("sha256:{digest}"),
        existing.as_deref(),
    )?;
    let place = image.at(Version::Tag(signed.tag));
    let upload = Upload::new(&team.client, &place, Arc::new(Transfers::new("signing")));
    for (_, blob) in signed.blobs {
        upload.blob(blob).await?;
    }
    upload.manifest(signed.manifest, &signed.media_type).await?;
    Ok((image.to_string(), place.to_string()))
}
