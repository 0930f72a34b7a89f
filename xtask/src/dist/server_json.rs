//! `server.json`, with which the MCP registry lists the packages.

use std::fs;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::wrappers::VERSION;
use crate::run::root;

/// The entry for the registry: the packages of the template, and the bundles in a list of checksums. Bundles have the
/// address of their release, so without a repository (`OWNER/NAME` on GitHub) they are left out.
pub(super) fn entry(checksums: &str, repository: Option<&str>) -> Result<Value> {
    let template = fs::read_to_string(root().join("deploy/mcp-registry/server.json"))?;
    let mut entry: Value = serde_json::from_str(&template.replace("VERSION", VERSION))?;
    let Some(repository) = repository else {
        return Ok(entry);
    };
    let url = format!("https://github.com/{repository}");
    entry["repository"] = json!({ "url": url, "source": "github" });
    let packages = entry["packages"].as_array_mut().context("packages")?;
    for line in checksums.lines() {
        let (digest, file) = line.split_once("  ").context("a line of sha256sum")?;
        if file.ends_with(".mcpb") {
            packages.push(bundle(&url, file, digest));
        }
    }
    Ok(entry)
}

fn bundle(repository: &str, file: &str, digest: &str) -> Value {
    json!({
        "registryType": "mcpb",
        "registryBaseUrl": "https://github.com",
        "identifier": format!("{repository}/releases/download/v{VERSION}/{file}"),
        "version": VERSION,
        "fileSha256": digest,
        "transport": { "type": "stdio" },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::wrappers::NAME;

    /// The registry accepts a package only if the package contains the name of the server.
    #[test]
    fn packages_contain_the_name_of_the_server() -> Result<()> {
        let entry = entry("", None)?;
        let name = entry["name"].as_str().context("a name")?;
        let npm = fs::read_to_string(root().join("deploy/npm/larder-mcp/package.json"))?;
        let npm: Value = serde_json::from_str(&npm)?;
        assert_eq!(npm["mcpName"], name);
        let pypi = fs::read_to_string(root().join("deploy/pypi/METADATA"))?;
        assert!(pypi.contains(&format!("\nmcp-name: {name}\n")));
        for package in entry["packages"].as_array().context("packages")? {
            assert_eq!(package["identifier"], NAME);
        }
        let description = entry["description"].as_str().context("a description")?;
        assert!(description.len() <= 100, "the limit of the registry");
        Ok(())
    }

    #[test]
    fn bundles_have_the_address_of_their_release() -> Result<()> {
        let sums = "ab  larder-mcp.mcpb\ncd  larder-mcp.tgz\n";
        let entry = entry(sums, Some("owner/name"))?;
        let packages = entry["packages"].as_array().context("packages")?;
        assert_eq!(packages.len(), 3);
        assert_eq!(packages[2]["fileSha256"], "ab");
        let address = packages[2]["identifier"].as_str().context("an address")?;
        let release = format!("/owner/name/releases/download/v{VERSION}/larder-mcp.mcpb");
        assert!(address.ends_with(&release), "{address}");
        Ok(())
    }
}
