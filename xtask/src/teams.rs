//! Test of `examples/two-teams`: runs the steps of its README with the built components.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::run::{Output, command, larder, root, stdout_of, target};
use crate::server::RunningServer;

pub(crate) fn check(output: &Output) -> Result<()> {
    let dir = prepare()?;
    let config = dir.join("larder.toml");
    let run = |args: &[&str]| {
        let mut run = command(larder());
        run.args(args).arg("--config").arg(&config);
        // `check` is no client command.
        if args != ["check"] {
            run.arg("--in-process");
        }
        run
    };
    let read =
        |team: &str, name: &str| run(&["read", "--team", team, &format!("file:///shared/{name}")]);
    for (team, folder) in [("docs", "docs"), ("kitchen", "recipes")] {
        let text = stdout_of(&mut read(team, "welcome.md"))?;
        ensure!(
            text == fs::read_to_string(dir.join(folder).join("welcome.md"))?,
            "{team} reads {text}"
        );
    }
    // A file of another team must look the same as a file that does not exist.
    let other_team = expect_failure(read("docs", "soup.md"))?;
    let missing = expect_failure(read("docs", "nothing.md"))?;
    ensure!(
        other_team.replace("soup", "nothing") == missing,
        "{other_team} differs from {missing}"
    );
    let both = stdout_of(&mut run(&["list"]))?;
    output.write_line(&both)?;
    // A template of the first team covers resources that only the second team has.
    for (name, expected) in [("welcome", 1), ("style", 1), ("soup", 0)] {
        let count = both.matches(&format!("file:///shared/{name}.md")).count();
        ensure!(
            count == expected,
            "{name} is listed {count} times for a member of both teams"
        );
    }
    let first = stdout_of(&mut run(&["read", "file:///shared/welcome.md"]))?;
    ensure!(
        first.contains("`docs` wrote"),
        "not the document of the first team: {first}"
    );
    let check = run(&["check"]).output()?;
    let text = String::from_utf8_lossy(&check.stdout).into_owned()
        + &String::from_utf8_lossy(&check.stderr);
    output.write_line(&text)?;
    let is_reported = text
        .lines()
        .any(|line| line.trim().starts_with("denied") && line.contains("as /spy"));
    ensure!(
        is_reported && check.status.code() == Some(1),
        "the grant above the ceiling is not reported"
    );
    ensure!(
        !text.contains("not-a-real-key"),
        "the output contains the secret"
    );
    over_http(&config, output)?;
    with_tokens(&config, output)
}

fn over_http(config: &Path, output: &Output) -> Result<()> {
    let server = RunningServer::start(config, output)?;
    let list = stdout_of(command(larder()).args(["list", "--url", &server.url]));
    server.stop()?;
    let list = list?;
    ensure!(
        list.contains("file:///shared/style.md") && !list.contains("soup"),
        "over HTTP: {list}"
    );
    Ok(())
}

/// A client with a token sees the resources of its teams. A client without a token sees nothing.
fn with_tokens(config: &Path, output: &Output) -> Result<()> {
    let cook = add_token(config, "cook", &["kitchen"])?;
    let ann = add_token(config, "ann", &["docs", "kitchen"])?;
    let server = RunningServer::start(config, output)?;
    let list = |token: Option<&str>| {
        let mut list = command(larder());
        list.args(["list", "--url", &server.url])
            .env_remove("LARDER_TOKEN");
        list.envs(token.map(|token| ("LARDER_TOKEN", token)));
        list
    };
    let without_token = expect_failure(list(None));
    let (for_cook, for_ann) = (
        stdout_of(&mut list(Some(&cook))),
        stdout_of(&mut list(Some(&ann))),
    );
    server.stop()?;
    output.write_line(&without_token?)?;
    let (for_cook, for_ann) = (for_cook?, for_ann?);
    ensure!(
        for_cook.contains("soup") && !for_cook.contains("style"),
        "the list of `cook`: {for_cook}"
    );
    ensure!(
        !for_ann.contains("soup") && for_ann.contains("style"),
        "the list of `ann`: {for_ann}"
    );
    Ok(())
}

/// Creates a token and adds its section to the configuration.
fn add_token(config: &Path, name: &str, teams: &[&str]) -> Result<String> {
    let mut new = command(larder());
    new.args(["token", "new", "--name", name]);
    teams.iter().for_each(|team| _ = new.args(["--team", team]));
    let text = stdout_of(&mut new)?;
    let (token, lines) = text
        .split_once("\n\n")
        .context("unexpected output of `larder token new`")?;
    let mut file = fs::OpenOptions::new().append(true).open(config)?;
    write!(file, "\n{lines}")?;
    Ok(token.to_owned())
}

/// Runs a command that must exit with 1, and returns its stderr.
fn expect_failure(mut command: Command) -> Result<String> {
    let output = command.output()?;
    ensure!(
        output.status.code() == Some(1),
        "expected exit code 1: {output:?}"
    );
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Copies the example and puts components into its folders.
fn prepare() -> Result<PathBuf> {
    let (from, dir) = (
        root().join("examples/two-teams"),
        target("xtask").join("two-teams"),
    );
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    for folder in ["docs", "recipes", "plugins/docs", "plugins/kitchen"] {
        fs::create_dir_all(dir.join(folder))?;
    }
    for name in [
        "larder.toml",
        "oven.key",
        "docs/welcome.md",
        "docs/style.md",
        "recipes/welcome.md",
        "recipes/soup.md",
    ] {
        fs::copy(from.join(name), dir.join(name))?;
    }
    for team in ["docs", "kitchen"] {
        fs::copy(
            target("plugins").join("files.wasm"),
            dir.join("plugins").join(team).join("files.wasm"),
        )?;
    }
    Ok(dir)
}
