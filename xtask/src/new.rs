//! `larder new`, as its reader would use it: each language's project is made, taken through the commands of its own
//! README, tested by its own test, and edited under `larder dev`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::languages::with_tools;
use crate::plugins::add_target;
use crate::run::{Output, command, larder, root, target};
use crate::server::Serving;
use crate::step::Outcome;
use crate::tools::{self, missing, works};

const NAME: &str = "my-notes";
const HELLO: &str = "Hello, world!\n";
/// Above what a build and compiling its component take on a loaded machine.
const LIVE_WITHIN: Duration = Duration::from_secs(120);

/// A language, and what its projects are like.
struct Kit {
    language: &'static str,
    /// The file that its author changes.
    source: &'static str,
    /// The project's own test, as its README has it.
    test: &'static str,
    /// What was installed or compiled of others, and is kept between two runs.
    kept: Option<&'static str>,
    /// A build and a load take seconds: it is edited under `larder dev`. The others are built by it once.
    quick: bool,
}

pub(crate) fn rust(output: &Output) -> Result<Outcome> {
    add_target(output)?;
    Kit { language: "rust", source: "src/lib.rs", test: "cargo test", kept: Some("target"), quick: true }
        .use_it(output)
}

pub(crate) fn python(output: &Output) -> Result<Outcome> {
    let test = "python test_provider.py";
    Kit { language: "python", source: "app.py", test, kept: None, quick: false }.use_it(output)
}

pub(crate) fn javascript(output: &Output) -> Result<Outcome> {
    let new_enough = "process.exit(+(parseInt(process.versions.node) < 20))";
    if !works(command("node").args(["-e", new_enough])) || !works(command("npm").arg("--version")) {
        return missing("Node 20 or newer with npm is not installed: https://nodejs.org");
    }
    let kept = Some("node_modules");
    Kit { language: "javascript", source: "provider.js", test: "npm test", kept, quick: true }.use_it(output)
}

pub(crate) fn go(output: &Output) -> Result<Outcome> {
    if let Some(without) = tools::made_by(tools::go, output)? {
        return Ok(without);
    }
    named_like_a_package(output)?;
    made("go", "main.go").use_it(output)
}

pub(crate) fn c(output: &Output) -> Result<Outcome> {
    if let Some(without) = tools::made_by(tools::cc, output)? {
        return Ok(without);
    }
    made("c", "app.c").use_it(output)
}

fn made(language: &'static str, source: &'static str) -> Kit {
    Kit { language, source, test: "make test", kept: None, quick: true }
}

/// A name that Go has for a package of its own, which the SDK imports.
fn named_like_a_package(output: &Output) -> Result<()> {
    let here = target("new/go-log");
    if here.exists() {
        fs::remove_dir_all(&here)?;
    }
    fs::create_dir_all(target("new"))?;
    output.run(command(larder()).args(["new", "log", "--lang", "go", "--path"]).arg(&here))?;
    shell(output, &here, "make")
}

impl Kit {
    fn use_it(&self, output: &Output) -> Result<Outcome> {
        let here = self.fresh(output)?;
        let readme = fs::read_to_string(here.join("README.md"))?;
        let [tools, build, drop_in] = commands(&readme)?;
        ensure!(readme.contains(&format!("`{}`", self.test)), "the README does not name `{}`", self.test);
        is_ours(tools)?;
        // Where there is no rustup, or no pip, the tools are from elsewhere.
        let installer = tools.split_whitespace().next().unwrap_or_default();
        if works(with_tools(command(installer))?.arg("--version")) {
            shell(output, &here, tools)?;
        }
        shell(output, &here, build)?;
        fs::create_dir(here.join("PLUGINS"))?;
        shell(output, &here, drop_in)?;
        shell(output, &here, self.test)?;
        if !self.quick {
            ensure!(here.join("PLUGINS").join(format!("{NAME}.wasm")).is_file(), "nothing was dropped in");
            shell(output, &here, "larder dev . --once")?;
            return Ok(Outcome::Passed);
        }
        ensure!(greeting(&here, ["--plugins", "PLUGINS"])? == HELLO, "it does not greet");
        let live = edited(output, &here, self.source)?;
        Ok(Outcome::Noted(format!("live {:.1} s after a save", live.as_secs_f64())))
    }

    /// A project as `larder new` writes it.
    fn fresh(&self, output: &Output) -> Result<PathBuf> {
        let (here, aside) =
            (target("new").join(self.language), target("new").join(format!("{}-kept", self.language)));
        fs::create_dir_all(target("new"))?;
        let kept = self.kept.map(|kept| here.join(kept));
        if let Some(kept) = kept.as_ref().filter(|kept| kept.exists() && !aside.exists()) {
            fs::rename(kept, &aside)?;
        }
        if here.exists() {
            fs::remove_dir_all(&here).with_context(|| format!("cannot remove {}", here.display()))?;
        }
        let mut new = command(larder());
        output.run(new.args(["new", NAME, "--lang", self.language, "--path"]).arg(&here))?;
        if let Some(kept) = kept.filter(|_| aside.exists()) {
            fs::rename(&aside, kept)?;
        }
        Ok(here)
    }
}

/// The three that a README promises: tools, build, drop in.
fn commands(readme: &str) -> Result<[&str; 3]> {
    let (_, rest) = readme.split_once("```sh\n").context("the README has no commands")?;
    let (block, _) = rest.split_once("```").context("the README's commands have no end")?;
    let lines: Vec<&str> = block.lines().collect();
    lines.try_into().map_err(|lines| anyhow::anyhow!("the README has not three commands: {lines:?}"))
}

/// What a README lets people install is what the tests have: nothing else is put beside it.
fn is_ours(tools: &str) -> Result<()> {
    let pinned = fs::read_to_string(root().join("examples/requirements.txt"))?;
    for package in tools.split_whitespace().filter(|word| word.contains("==")) {
        ensure!(pinned.lines().any(|line| line == package), "{package} is not in examples/requirements.txt");
    }
    Ok(())
}

/// Runs a line as a person would type it.
fn shell(output: &Output, here: &Path, line: &str) -> Result<()> {
    let mut shell = with_tools(command("sh"))?;
    output.run(shell.args(["-c", line]).env("PIP_DISABLE_PIP_VERSION_CHECK", "1").current_dir(here))
}

/// What the project says, to whoever asks there.
fn greeting(here: &Path, at: [&str; 2]) -> Result<String> {
    let mut read = command(larder());
    let read = read.arg("read").arg(format!("{NAME}://hello")).args(at).current_dir(here).output()?;
    ensure!(read.status.success(), "larder read: {}", String::from_utf8_lossy(&read.stderr));
    Ok(String::from_utf8(read.stdout)?)
}

/// Saves another line under `larder dev`, and waits for the other answer. Until then the old one is given, and nothing
/// else: whoever reads meanwhile notices no build.
fn edited(output: &Output, here: &Path, source: &str) -> Result<Duration> {
    let mut dev = with_tools(command(larder()))?;
    dev.args(["dev", ".", "--listen", "127.0.0.1:0"]).current_dir(here);
    let serving = Serving::of(dev, output)?;
    let read = || greeting(here, ["--url", &serving.url]);
    until("the first load", || Ok(read().is_ok_and(|said| said == HELLO)))?;
    let file = here.join(source);
    let text = fs::read_to_string(&file)?;
    ensure!(text.contains("\"world\""), "{} greets nobody", file.display());
    fs::write(&file, text.replace("\"world\"", "\"moon\""))?;
    let live = until("the edited answer", || match read()?.as_str() {
        "Hello, moon!\n" => Ok(true),
        HELLO => Ok(false),
        other => bail!("it says {other:?}"),
    })?;
    serving.stop()?;
    Ok(live)
}

/// How long it took.
fn until(what: &str, mut is_so: impl FnMut() -> Result<bool>) -> Result<Duration> {
    let began = Instant::now();
    while !is_so()? {
        ensure!(began.elapsed() < LIVE_WITHIN, "no sign of {what} within {LIVE_WITHIN:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(began.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_readme_has_three_commands() {
        let block =
            |lines: &str| commands(&format!("# x\n\n```sh\n{lines}```\n")).map(|lines| lines.join("|"));
        assert_eq!(block("a # 1\nb\nc\n").unwrap(), "a # 1|b|c");
        assert!(block("a\nb\n").is_err() && commands("# x\n").is_err());
    }

    #[test]
    fn nothing_but_pinned_tools_is_installed() {
        assert!(is_ours("npm install").is_ok());
        assert!(is_ours("pip install nothing-of-ours==1  # tools").is_err());
    }
}
