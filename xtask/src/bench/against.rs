//! Builds the version of a commit, to compare this version with it: its server, and its guests, because the contract
//! may be different.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::dist;
use crate::run::{Output, command, stdout_of, target};

const FOLDER: &str = "bench/against";

/// The version for the comparison.
pub(super) struct Against {
    pub(super) program: PathBuf,
    /// None if it uses the guests of this version.
    pub(super) guests: Option<PathBuf>,
}

impl Against {
    /// Finds a program, or builds the version of a commit.
    pub(super) fn find(output: &Output, value: &str) -> Result<Self> {
        let program = PathBuf::from(value);
        if program.is_file() {
            return Ok(Self {
                program: program.canonicalize()?,
                guests: None,
            });
        }
        let name = format!("{value}^{{commit}}");
        let commit = stdout_of(command("git").args(["rev-parse", "--verify", "--quiet", &name]))?;
        let commit = commit.trim();
        ensure!(
            !commit.is_empty(),
            "`{value}` is neither a program nor a commit"
        );
        Self::build(output, commit)
    }

    fn build(output: &Output, commit: &str) -> Result<Self> {
        let tree = target(FOLDER).join(commit);
        if !tree.exists() {
            fs::create_dir_all(target(FOLDER))?;
            output.run(
                command("git")
                    .args(["worktree", "add", "--detach"])
                    .arg(&tree)
                    .arg(commit),
            )?;
        }
        eprintln!("building {commit} in {}", tree.display());
        // Older versions published the build of the profile `release`.
        let profile = if has_profile(&tree, dist::PROFILE)? {
            dist::PROFILE
        } else {
            "release"
        };
        let build = [
            "build",
            "--locked",
            "--package",
            "larder",
            "--profile",
            profile,
        ];
        output.run(command("cargo").args(build).current_dir(&tree))?;
        output.run(
            command("cargo")
                .args(["xtask", "guests"])
                .current_dir(&tree),
        )?;
        let built = tree.join("target");
        Ok(Self {
            program: built.join(profile).join("larder"),
            guests: Some(built.join("guests")),
        })
    }
}

fn has_profile(tree: &Path, name: &str) -> Result<bool> {
    let manifest: toml::Table = fs::read_to_string(tree.join("Cargo.toml"))?.parse()?;
    Ok(manifest
        .get("profile")
        .and_then(|profiles| profiles.get(name))
        .is_some())
}
