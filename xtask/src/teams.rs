//! The walk through two teams, as its README tells it: `examples/two-teams`, with the components that were built.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::run::{Output, command, larder, root, stdout_of, target};
use crate::server::Serving;

/// What each step of it answers.
pub(crate) fn check(output: &Output) -> Result<()> {
    let at = prepare()?;
    let config = at.join("larder.toml");
    let ask = |words: &[&str]| {
        let mut ask = command(larder());
        ask.args(words).arg("--config").arg(&config);
        ask
    };
    let read = |team: &str, name: &str| ask(&["read", "--team", team, &format!("file:///shared/{name}")]);
    for (team, folder) in [("docs", "docs"), ("kitchen", "recipes")] {
        let told = stdout_of(&mut read(team, "welcome.md"))?;
        ensure!(told == fs::read_to_string(at.join(folder).join("welcome.md"))?, "{team} reads {told}");
    }
    let (theirs, nobodys) = (refused(read("docs", "soup.md"))?, refused(read("docs", "nothing.md"))?);
    ensure!(theirs.replace("soup", "nothing") == nobodys, "{theirs} is not as {nobodys}");
    let both = stdout_of(&mut ask(&["list"]))?;
    output.say(&both)?;
    for name in ["welcome", "style", "soup"] {
        let times = both.matches(&format!("file:///shared/{name}.md")).count();
        ensure!(times == 1, "{name} is listed {times} times to who belongs to both");
    }
    let first = stdout_of(&mut ask(&["read", "file:///shared/welcome.md"]))?;
    ensure!(first.contains("`docs` wrote"), "not the first team's: {first}");
    let check = ask(&["check"]).output()?;
    let said = String::from_utf8_lossy(&check.stdout).into_owned() + &String::from_utf8_lossy(&check.stderr);
    output.say(&said)?;
    let cut = said.lines().any(|line| line.trim().starts_with("refused") && line.contains("as /spy"));
    ensure!(cut && check.status.code() == Some(1), "the ceiling is not told");
    ensure!(!said.contains("not-a-real-key"), "the secret is told");
    over_http(&config, output)?;
    with_tokens(&config, output)
}

fn over_http(config: &Path, output: &Output) -> Result<()> {
    let serving = Serving::start(config, output)?;
    let list = stdout_of(command(larder()).args(["list", "--url", &serving.url]));
    serving.stop()?;
    let list = list?;
    ensure!(list.contains("file:///shared/style.md") && !list.contains("soup"), "over HTTP: {list}");
    Ok(())
}

/// Each sees what is his teams', and who has no token sees nothing.
fn with_tokens(config: &Path, output: &Output) -> Result<()> {
    let (cook, ann) = (token(config, "cook", &["kitchen"])?, token(config, "ann", &["docs", "kitchen"])?);
    let serving = Serving::start(config, output)?;
    let list = |token: Option<&str>| {
        let mut list = command(larder());
        list.args(["list", "--url", &serving.url]).env_remove("LARDER_TOKEN");
        list.envs(token.map(|token| ("LARDER_TOKEN", token)));
        list
    };
    let told = (refused(list(None)), stdout_of(&mut list(Some(&cook))), stdout_of(&mut list(Some(&ann))));
    serving.stop()?;
    let (nobody, cooks, anns) = (told.0?, told.1?, told.2?);
    output.say(&nobody)?;
    ensure!(cooks.contains("soup") && !cooks.contains("style"), "the cook sees {cooks}");
    ensure!(anns.contains("soup") && anns.contains("style"), "Ann sees {anns}");
    Ok(())
}

/// Makes one, and writes the lines that it comes with into the configuration.
fn token(config: &Path, name: &str, teams: &[&str]) -> Result<String> {
    let mut new = command(larder());
    new.args(["token", "new", "--name", name]);
    teams.iter().for_each(|team| _ = new.args(["--team", team]));
    let told = stdout_of(&mut new)?;
    let (token, lines) = told.split_once("\n\n").context("a token, and lines")?;
    let mut file = fs::OpenOptions::new().append(true).open(config)?;
    write!(file, "\n{lines}")?;
    Ok(token.to_owned())
}

fn refused(mut command: Command) -> Result<String> {
    let ran = command.output()?;
    ensure!(ran.status.code() == Some(1), "it was not refused: {ran:?}");
    Ok(String::from_utf8_lossy(&ran.stderr).into_owned())
}

/// A copy of it, with components in its folders.
fn prepare() -> Result<PathBuf> {
    let (from, at) = (root().join("examples/two-teams"), target("xtask").join("two-teams"));
    if at.exists() {
        fs::remove_dir_all(&at)?;
    }
    for folder in ["docs", "recipes", "plugins/docs", "plugins/kitchen"] {
        fs::create_dir_all(at.join(folder))?;
    }
    for name in [
        "larder.toml",
        "oven.key",
        "docs/welcome.md",
        "docs/style.md",
        "recipes/welcome.md",
        "recipes/soup.md",
    ] {
        fs::copy(from.join(name), at.join(name))?;
    }
    for team in ["docs", "kitchen"] {
        fs::copy(target("plugins").join("files.wasm"), at.join("plugins").join(team).join("files.wasm"))?;
    }
    Ok(at)
}
