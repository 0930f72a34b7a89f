//! The bundle for Claude Desktop and other clients that install MCPB.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};

use super::archive::zip;
use super::copy;
use super::targets::Platform;
use super::wrappers::VERSION;
use crate::run::{Output, root};

/// Packs the program of a platform with the manifest, from the folder that becomes its archive.
pub(crate) fn pack(
    output: &Output,
    staged: &Path,
    platform: &Platform,
    out: &Path,
) -> Result<PathBuf> {
    let name = file_name(platform);
    let folder = super::empty_folder(&out.join("mcpb").join(&name))?;
    copy(&staged.join("bin/larder"), &folder.join("server/larder"))?;
    for licence in ["LICENSE", "THIRD-PARTY-LICENSES.txt"] {
        copy(&staged.join(licence), &folder.join(licence))?;
    }
    fs::write(
        folder.join("manifest.json"),
        format!("{:#}\n", manifest(platform)?),
    )?;
    let bundle = out.join(name);
    zip(output, &folder, &bundle, None)?;
    Ok(bundle)
}

pub(super) fn file_name(platform: &Platform) -> String {
    format!(
        "larder-mcp-{VERSION}-{}-{}.mcpb",
        platform.system, platform.processor
    )
}

/// The manifest of `deploy/`, with this version and platform.
fn manifest(platform: &Platform) -> Result<Value> {
    let template = fs::read_to_string(root().join("deploy/mcpb/manifest.json"))?;
    let mut manifest: Value = serde_json::from_str(&template)?;
    manifest["version"] = json!(VERSION);
    manifest["compatibility"]["platforms"] = json!([platform.system]);
    Ok(manifest)
}
