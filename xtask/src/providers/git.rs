//! The repository of the test of `git`.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::Surroundings;
use crate::run::{Output, command};
use crate::step::Outcome;
use crate::tools::succeeds;

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    super::check(output, "git", prepare)
}

/// Creates a repository with `git`: loose and packed objects and references, and a large file.
pub(super) fn prepare(output: &Output, folder: &Path) -> Result<Surroundings> {
    if !succeeds(command("git").arg("--version")) {
        return Surroundings::missing("git is not installed; get it from your system's packages");
    }
    let repository = folder.join("repository");
    fs::create_dir_all(repository.join("many"))?;
    fs::create_dir_all(repository.join("src"))?;
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"];
        // The configuration of the machine must have no effect.
        let mut git = command("git");
        git.env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        output.run(git.args(identity).args(args).current_dir(&repository))
    };
    let commit =
        |message: &str| git(&["add", "--all"]).and_then(|()| git(&["commit", "-qm", message]));
    git(&["init", "--quiet", "--initial-branch=main"])?;
    fs::write(repository.join("README.md"), "# One\n")?;
    fs::write(repository.join("src/a b.txt"), "text\n")?;
    for number in 0..1200 {
        fs::write(
            repository.join(format!("many/{number:04}.txt")),
            format!("{number}\n"),
        )?;
    }
    commit("First commit")?;
    git(&["tag", "first"])?;
    git(&["tag", "-a", "v1.0", "-m", "a tag"])?;
    git(&["branch", "feature/login"])?;
    git(&["gc", "--quiet"])?;
    fs::write(repository.join("README.md"), "# Two\n")?;
    commit("Second commit")?;
    git(&["tag", "second"])?;
    git(&["checkout", "-qb", "large"])?;
    fs::write(repository.join("large.bin"), vec![0; 2 << 20])?;
    commit("A large file")?;
    git(&["checkout", "-q", "main"])?;
    Ok(Surroundings::default())
}
