//! The crates that are part of the program: their licences, and a list of them (CycloneDX).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::run::{cargo, stdout_of};

/// A crate of another project.
pub(super) struct Dependency {
    name: String,
    version: String,
    /// An SPDX expression.
    license: String,
    repository: Option<String>,
    folder: PathBuf,
}

/// The crates that are linked into the program on a target, sorted.
pub(super) fn of_program(triple: &str) -> Result<Vec<Dependency>> {
    let arguments = [
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        triple,
    ];
    let metadata: Value = serde_json::from_str(&stdout_of(&mut cargo(&arguments))?)?;
    let linked = linked(&metadata)?;
    let packages = metadata["packages"].as_array().context("packages")?;
    let is_foreign = |package: &&Value| {
        linked.contains(package["id"].as_str().unwrap_or_default()) && package["source"].is_string()
    };
    let mut found = packages
        .iter()
        .filter(is_foreign)
        .map(dependency)
        .collect::<Result<Vec<_>>>()?;
    found.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    ensure!(
        found.len() > 50,
        "only {} dependencies were found",
        found.len()
    );
    Ok(found)
}

/// The ids of the packages that `larder` needs at run time. Packages that only its build or its tests need are omitted.
fn linked(metadata: &Value) -> Result<BTreeSet<&str>> {
    let nodes = metadata["resolve"]["nodes"]
        .as_array()
        .context("the graph of packages")?;
    let nodes: BTreeMap<&str, &Value> = nodes
        .iter()
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let packages = metadata["packages"].as_array().context("packages")?;
    let program = packages
        .iter()
        .find(|package| package["name"] == "larder")
        .context("larder")?;
    let (mut found, mut open) = (
        BTreeSet::new(),
        vec![program["id"].as_str().context("an id")?],
    );
    while let Some(id) = open.pop() {
        let dependencies = nodes
            .get(id)
            .and_then(|node| node["deps"].as_array())
            .into_iter()
            .flatten();
        if found.insert(id) {
            let is_normal = |kinds: &Value| {
                kinds
                    .as_array()
                    .is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
            };
            let normal = dependencies.filter(|dependency| is_normal(&dependency["dep_kinds"]));
            open.extend(normal.filter_map(|dependency| dependency["pkg"].as_str()));
        }
    }
    Ok(found)
}

fn dependency(package: &Value) -> Result<Dependency> {
    let text = |key: &str| package[key].as_str().map(str::to_owned);
    let name = text("name").context("a name")?;
    let license = text("license").with_context(|| format!("{name} has no licence"))?;
    let manifest = text("manifest_path").context("a manifest")?;
    let folder = Path::new(&manifest)
        .parent()
        .context("a folder")?
        .to_owned();
    let version = text("version").context("a version")?;
    // An old way to write "or".
    Ok(Dependency {
        name,
        version,
        license: license.replace('/', " OR "),
        repository: text("repository"),
        folder,
    })
}

/// The texts of all licences. Crates with the same text are listed together.
pub(super) fn licences(dependencies: &[Dependency]) -> Result<String> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut overview = String::from("Larder contains these crates:\n\n");
    for dependency in dependencies {
        let Dependency {
            name,
            version,
            license,
            ..
        } = dependency;
        writeln!(overview, "- {name} {version}: {license}")?;
        for text in dependency.texts()? {
            texts
                .entry(text)
                .or_default()
                .push(format!("{name} {version}"));
        }
    }
    for (text, crates) in &texts {
        write!(
            overview,
            "\n{}\n{}\n\n{}\n",
            "=".repeat(80),
            crates.join(", "),
            text.trim_end()
        )?;
    }
    Ok(overview)
}

impl Dependency {
    /// The texts of its licences and notices.
    fn texts(&self) -> Result<Vec<String>> {
        let mut paths = Vec::new();
        let folder = &self.folder;
        for file in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let path = file?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .to_uppercase();
            let is_licence = ["LICENSE", "LICENCE", "COPYING", "NOTICE"]
                .iter()
                .any(|it| name.starts_with(it));
            if is_licence && path.is_file() {
                paths.push(path);
            }
        }
        paths.sort();
        paths
            .iter()
            .map(|path| Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned()))
            .collect()
    }

    fn component(&self) -> Value {
        let Self {
            name,
            version,
            license,
            ..
        } = self;
        let mut component = json!({
            "type": "library",
            "bom-ref": format!("pkg:cargo/{name}@{version}"),
            "name": name,
            "version": version,
            "purl": format!("pkg:cargo/{name}@{version}"),
            "licenses": [{ "expression": license }],
        });
        if let Some(repository) = &self.repository {
            component["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
        }
        component
    }
}

/// The list of all crates, in the format of CycloneDX.
pub(super) fn sbom(dependencies: &[Dependency]) -> Value {
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "bom-ref": "larder",
            "name": "larder",
            "version": env!("CARGO_PKG_VERSION"),
            "licenses": [{ "license": { "id": "Apache-2.0" } }],
        } },
        "components": dependencies.iter().map(Dependency::component).collect::<Vec<_>>(),
    })
}
