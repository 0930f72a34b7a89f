//! The packages of the crates: each package is complete, so that it can be compiled without the rest of the repository.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use super::work_folder;
use crate::run::{Output, cargo, command, root, target};
use crate::step::Outcome;

/// Makes the packages and checks that they compile. `cargo package` could check this too, but would compile all
/// dependencies once more.
pub(crate) fn check(output: &Output) -> Result<Outcome> {
    let work = work_folder("crates")?;
    let mut package = cargo(&[
        "package",
        "--workspace",
        "--exclude",
        "xtask",
        "--exclude",
        "test-features",
        "--no-verify",
        "--allow-dirty",
    ]);
    output.run(package.arg("--target-dir").arg(&work))?;
    let names = unpack(output, &work)?;
    fs::write(work.join("Cargo.toml"), workspace(&names)?)?;
    fs::copy(root().join("Cargo.lock"), work.join("Cargo.lock"))?;
    // With examples, cargo would choose the same features of dependencies as for the tests, and there are no examples.
    let mut compile = cargo(&["check", "--workspace", "--lib", "--bins", "--examples"]);
    compile
        .arg("--target-dir")
        .arg(target(""))
        .current_dir(&work);
    output.run(&mut compile)?;
    fs::remove_dir_all(&work)?;
    Ok(Outcome::Passed)
}

/// Unpacks the packages. Returns the names of the crates with their folders.
fn unpack(output: &Output, work: &Path) -> Result<Vec<(String, String)>> {
    let mut names = Vec::new();
    for file in fs::read_dir(work.join("package"))? {
        let file = file?.path();
        if file
            .extension()
            .is_some_and(|extension| extension == "crate")
        {
            // With the times in the archive, cargo would use the files that it built from the package of an earlier
            // run.
            output.run(
                command("tar")
                    .args(["--touch", "-xzf"])
                    .arg(&file)
                    .arg("-C")
                    .arg(work),
            )?;
            let folder = file
                .file_stem()
                .context("a name")?
                .to_string_lossy()
                .into_owned();
            let (name, _version) = folder.rsplit_once('-').context("a version")?;
            names.push((name.to_owned(), folder.clone()));
        }
    }
    ensure!(!names.is_empty(), "`cargo package` made no packages");
    Ok(names)
}

/// A workspace of the packages, with the profiles of the repository.
fn workspace(names: &[(String, String)]) -> Result<String> {
    let manifest: toml::Table = toml::from_str(&fs::read_to_string(root().join("Cargo.toml"))?)?;
    let members = names
        .iter()
        .map(|(_, folder)| toml::Value::from(folder.as_str()))
        .collect::<Vec<_>>();
    let patches = names.iter().map(|(name, folder)| {
        (
            name.clone(),
            toml::Value::from(toml::Table::from_iter([(
                "path".into(),
                folder.as_str().into(),
            )])),
        )
    });
    let mut workspace = toml::Table::new();
    workspace.insert("members".into(), members.into());
    workspace.insert("resolver".into(), manifest["workspace"]["resolver"].clone());
    let crates_io = toml::Table::from_iter(patches);
    let written = toml::Table::from_iter([
        ("workspace".to_owned(), workspace.into()),
        ("profile".to_owned(), manifest["profile"].clone()),
        (
            "patch".to_owned(),
            toml::Table::from_iter([("crates-io".to_owned(), crates_io.into())]).into(),
        ),
    ]);
    Ok(toml::to_string(&written)?)
}
