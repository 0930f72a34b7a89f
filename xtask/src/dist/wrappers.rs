//! The packages for `npx` and `uvx`, which contain the program.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::archive::{pack_gzip, zip};
use super::copy;
use super::targets::Platform;
use crate::run::{Output, root};

/// The name on npm and PyPI, where `larder` belongs to others.
pub(crate) const NAME: &str = "larder-mcp";
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");
const LICENCES: [&str; 2] = ["LICENSE", "THIRD-PARTY-LICENSES.txt"];

/// Packs the package of npm that finds the program. It is the same on each platform.
pub(crate) fn pack_launcher(output: &Output, out: &Path) -> Result<PathBuf> {
    let folder = super::empty_folder(&out.join("npm").join(NAME))?;
    let package = folder.join("package");
    let templates = root().join("deploy/npm").join(NAME);
    super::copy_folder(&templates, &package)?;
    copy(&root().join("LICENSE"), &package.join("LICENSE"))?;
    fill(&templates, &package, "package.json", &[])?;
    super::make_executable(&package.join("bin/larder-mcp.js"))?;
    pack_npm(output, &folder, NAME, out)
}

/// Packs the package of npm with the program of a platform, from the folder that becomes its archive.
pub(crate) fn pack_program(
    output: &Output,
    staged: &Path,
    platform: &Platform,
    out: &Path,
) -> Result<PathBuf> {
    let name = format!("{NAME}-{}-{}", platform.system, platform.processor);
    let folder = super::empty_folder(&out.join("npm").join(&name))?;
    let package = folder.join("package");
    copy(&staged.join("bin/larder"), &package.join("bin/larder"))?;
    for licence in LICENCES {
        copy(&staged.join(licence), &package.join(licence))?;
    }
    let values = [
        ("SYSTEM", platform.system),
        ("PROCESSOR", platform.processor),
    ];
    let templates = root().join("deploy/npm/platform");
    fill(&templates, &package, "package.json", &values)?;
    pack_npm(output, &folder, &name, out)
}

/// Packs the wheel of a platform.
pub(crate) fn pack_wheel(
    output: &Output,
    staged: &Path,
    platform: &Platform,
    out: &Path,
) -> Result<PathBuf> {
    let tags = platform.wheel_tags.join(".");
    let name = format!("larder_mcp-{VERSION}-py3-none-{tags}.whl");
    let folder = super::empty_folder(&out.join("pypi").join(&tags))?;
    let scripts = folder.join(format!("larder_mcp-{VERSION}.data/scripts"));
    copy(&staged.join("bin/larder"), &scripts.join(NAME))?;
    let information = format!("larder_mcp-{VERSION}.dist-info");
    let metadata = folder.join(&information);
    for licence in LICENCES {
        copy(
            &staged.join(licence),
            &metadata.join("licenses").join(licence),
        )?;
    }
    let templates = root().join("deploy/pypi");
    fill(&templates, &metadata, "METADATA", &[])?;
    let mut wheel = fs::read_to_string(templates.join("WHEEL"))?;
    for tag in platform.wheel_tags {
        wheel.push_str(&format!("Tag: py3-none-{tag}\n"));
    }
    fs::write(metadata.join("WHEEL"), wheel)?;
    let wheel = out.join(name);
    let record = format!("{information}/RECORD");
    zip(output, &folder, &wheel, Some(&record))?;
    Ok(wheel)
}

/// Writes a template with the version and other values.
pub(super) fn fill(
    templates: &Path,
    folder: &Path,
    file: &str,
    values: &[(&str, &str)],
) -> Result<()> {
    let template = templates.join(file);
    let mut text = fs::read_to_string(&template).with_context(|| template.display().to_string())?;
    text = text.replace("VERSION", VERSION);
    for (name, value) in values {
        text = text.replace(name, value);
    }
    fs::create_dir_all(folder)?;
    Ok(fs::write(folder.join(file), text)?)
}

fn pack_npm(output: &Output, folder: &Path, name: &str, out: &Path) -> Result<PathBuf> {
    let file = out.join(format!("{name}-{VERSION}.tgz"));
    pack_gzip(output, folder, "package", &file)?;
    Ok(file)
}
