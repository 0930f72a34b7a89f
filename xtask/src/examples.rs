//! The examples in `examples/clients`: each is run against a server of its own sort, with what its head says
//! (`run:`), and has to print what its head says (`prints:`), in that order.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::clients::{config, node};
use crate::run::{Output, command, root, target};
use crate::server::Serving;
use crate::step::Outcome;
use crate::tools;

/// Above what an example takes on a loaded machine.
const GIVE_UP: Duration = Duration::from_secs(120);

pub(crate) fn typescript(output: &Output) -> Result<Outcome> {
    tools::copy_sources()?;
    same_version("typescript/package.json", "host/tests/clients/node/package.json", client_version)?;
    // Packages are found from the script's place upwards.
    let at = target("clients/node/examples");
    fs::create_dir_all(&at)?;
    all(output, "typescript", "ts", |script| {
        let name = script.file_name().context("a script has a name")?.to_string_lossy();
        fs::copy(script, at.join(&*name))?;
        Ok(node(&format!("examples/{name}")))
    })
}

pub(crate) fn python(output: &Output) -> Result<Outcome> {
    same_version("python/requirements.txt", "host/tests/clients/python/requirements.txt", mcp_version)?;
    all(output, "python", "py", |script| {
        let mut python = command(target("clients/venv/bin/python"));
        python.arg("-B").arg(script);
        Ok(python)
    })
}

pub(crate) fn curl(output: &Output) -> Result<Outcome> {
    if !tools::works(command("curl").arg("--version")) {
        return tools::missing("curl is not installed; get it from your system's packages");
    }
    all(output, "curl", "sh", shell)
}

pub(crate) fn larder(output: &Output) -> Result<Outcome> {
    all(output, "larder", "sh", shell)
}

/// The `larder` that was built is the one that is found.
#[expect(clippy::disallowed_methods, reason = "the ban is about the product's configuration")]
fn shell(script: &Path) -> Result<Command> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(target("debug")).chain(std::env::split_paths(&path)))?;
    let mut shell = command("sh");
    shell.arg(script).env("PATH", path);
    Ok(shell)
}

/// One after the other, since they change the same files.
fn all(
    output: &Output,
    language: &str,
    ending: &str,
    start: impl Fn(&Path) -> Result<Command>,
) -> Result<Outcome> {
    let name = format!("client-examples-{language}");
    let docs = target("xtask").join(&name).join("docs");
    if docs.exists() {
        fs::remove_dir_all(&docs)?;
    }
    fs::create_dir_all(&docs)?;
    fs::write(docs.join("news.md"), "nothing new\n")?;
    let settings = "page_size = 20\nkeep_alive = \"1s\"\nextensions = [\"resources-get\"]\n";
    let config = config(&name, settings, &[(&docs, "/docs")])?;
    let plugins = target("xtask").join(&name).join("plugins");
    for guest in ["echo.wasm", "sleep.wasm"] {
        fs::copy(target("guests").join(guest), plugins.join(guest))
            .with_context(|| format!("no {guest}; run `cargo xtask guests`"))?;
    }
    let serving = Serving::start(&config, output)?;
    let ran = examples(language, ending)?.iter().try_for_each(|example| {
        let command = start(&example.script)?;
        example
            .run(command, &serving.url, &docs, output)
            .with_context(|| example.script.display().to_string())
    });
    let stopped = serving.stop();
    ran.and(stopped)?;
    Ok(Outcome::Passed)
}

/// All of one language, and no fewer than there are of each other.
fn examples(language: &str, ending: &str) -> Result<Vec<Example>> {
    let folder = root().join("examples/clients").join(language);
    let mut found = Vec::new();
    for file in fs::read_dir(&folder)? {
        let path = file?.path();
        let example = Example::read(&path)?;
        if path.extension().is_some_and(|found| found == ending) && !example.prints.is_empty() {
            found.push(example);
        }
    }
    found.sort_by(|a, b| a.script.cmp(&b.script));
    ensure!(found.len() >= 9, "{language} has only {} examples", found.len());
    Ok(found)
}

struct Example {
    script: PathBuf,
    arguments: Vec<String>,
    prints: Vec<String>,
}

impl Example {
    fn read(script: &Path) -> Result<Self> {
        Ok(Self::parse(script.to_owned(), &fs::read_to_string(script)?))
    }

    fn parse(script: PathBuf, text: &str) -> Self {
        let lines = || text.lines().map(|line| line.trim_start_matches(['/', '#', ' ']));
        let arguments = lines().find_map(|line| line.strip_prefix("run: ")).unwrap_or_default();
        let prints = lines().filter_map(|line| line.strip_prefix("prints: "));
        Self {
            script,
            arguments: arguments.split_whitespace().map(str::to_owned).collect(),
            prints: prints.map(|line| line.trim_end().to_owned()).collect(),
        }
    }

    fn run(&self, mut command: Command, url: &str, docs: &Path, output: &Output) -> Result<()> {
        output.say(&format!("$ {}", self.script.strip_prefix(root()).unwrap_or(&self.script).display()))?;
        command.arg(url).args(&self.arguments).stdout(Stdio::piped());
        if let Output::Log(path) = output {
            command.stderr(fs::OpenOptions::new().append(true).open(path)?);
        }
        let mut running = Running(command.spawn().context("cannot start it")?);
        let lines = follow(&mut running.0)?;
        let printed = obey(&lines, docs, output)?;
        let status = running.0.wait()?;
        ensure!(status.success(), "it ended with {status}");
        self.compare(&printed)
    }

    /// Each is found after the one before it.
    fn compare(&self, printed: &[String]) -> Result<()> {
        let mut printed = printed.iter();
        for wanted in &self.prints {
            ensure!(printed.any(|line| line.contains(wanted.as_str())), "it did not print: {wanted}");
        }
        Ok(())
    }
}

/// Ended, whatever happens.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail if it has ended, which is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn follow(child: &mut Child) -> Result<Receiver<String>> {
    let stdout = child.stdout.take().context("stdout is a pipe")?;
    let (send, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            if send.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
    Ok(lines)
}

/// Reads to the end, and does what the example asks people to do.
fn obey(lines: &Receiver<String>, docs: &Path, output: &Output) -> Result<Vec<String>> {
    let end = Instant::now() + GIVE_UP;
    let mut printed = Vec::new();
    loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                output.say(&line)?;
                if line.contains("now change the file") {
                    fs::write(docs.join("news.md"), format!("news of line {}\n", unique()?))?;
                } else if line.contains("now add a file") {
                    fs::write(docs.join(format!("added-{}.md", unique()?)), "new\n")?;
                }
                printed.push(line);
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(printed),
            Err(RecvTimeoutError::Timeout) => bail!("it still runs after {GIVE_UP:?}"),
        }
    }
}

fn unique() -> Result<u128> {
    Ok(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_nanos())
}

/// What people install is what the tests have.
fn same_version(example: &str, tests: &str, version: fn(&str) -> Option<String>) -> Result<()> {
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path)?;
        version(&text).with_context(|| format!("{} names no version", path.display()))
    };
    let (example, tests) = (read(root().join("examples/clients").join(example))?, read(root().join(tests))?);
    ensure!(example == tests, "the examples want {example} of the SDK, and the tests {tests}");
    Ok(())
}

fn client_version(json: &str) -> Option<String> {
    let package: serde_json::Value = serde_json::from_str(json).ok()?;
    Some(package["dependencies"]["@modelcontextprotocol/client"].as_str()?.to_owned())
}

fn mcp_version(requirements: &str) -> Option<String> {
    requirements.lines().find_map(|line| line.strip_prefix("mcp==")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_an_example_says_how_it_is_run() {
        let text = "// Reads.\n//   run: a b\n//   prints: one\n//   prints: two \nprints();\n";
        let example = Example::parse("x.ts".into(), text);
        assert_eq!(
            (example.arguments.join("|").as_str(), example.prints.join("|").as_str()),
            ("a|b", "one|two")
        );
        let printed =
            |lines: &[&str]| example.compare(&lines.iter().map(|&line| line.into()).collect::<Vec<_>>());
        assert!(printed(&["zero", "is one", "is two"]).is_ok());
        assert!(printed(&["is two", "is one"]).is_err() && printed(&[]).is_err());
    }
}
