//! Tests of the examples in `examples/clients`. Each is run with the arguments in its header comment (`run:`)
//! and has to print the texts in its header comment (`prints:`), in that order.

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
use crate::server::RunningServer;
use crate::step::Outcome;
use crate::tools;

/// Longer than any example takes on a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) fn typescript(output: &Output) -> Result<Outcome> {
    tools::copy_sources()?;
    check_same_version(
        "typescript/package.json",
        "host/tests/clients/node/package.json",
        client_version,
    )?;
    // Node looks for packages in the folder of the script and in its parents.
    let dir = target("clients/node/examples");
    fs::create_dir_all(&dir)?;
    run_all(output, "typescript", "ts", |script| {
        let name = script
            .file_name()
            .context("a script has a name")?
            .to_string_lossy();
        fs::copy(script, dir.join(&*name))?;
        Ok(node(&format!("examples/{name}")))
    })
}

pub(crate) fn python(output: &Output) -> Result<Outcome> {
    check_same_version(
        "python/requirements.txt",
        "host/tests/clients/python/requirements.txt",
        mcp_version,
    )?;
    run_all(output, "python", "py", |script| {
        let mut python = command(target("clients/venv/bin/python"));
        python.arg("-B").arg(script);
        Ok(python)
    })
}

pub(crate) fn curl(output: &Output) -> Result<Outcome> {
    if !tools::succeeds(command("curl").arg("--version")) {
        return tools::missing("curl is not installed; get it from your system's packages");
    }
    run_all(output, "curl", "sh", shell)
}

pub(crate) fn larder(output: &Output) -> Result<Outcome> {
    run_all(output, "larder", "sh", shell)
}

/// Runs a shell script with the built `larder` first in `PATH`.
#[expect(
    clippy::disallowed_methods,
    reason = "the lint is for the server's configuration"
)]
fn shell(script: &Path) -> Result<Command> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path =
        std::env::join_paths(std::iter::once(target("debug")).chain(std::env::split_paths(&path)))?;
    let mut shell = command("sh");
    shell.arg(script).env("PATH", path);
    Ok(shell)
}

/// Runs all examples of a language one after another, because they change the same files.
fn run_all(
    output: &Output,
    language: &str,
    extension: &str,
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
            .with_context(|| format!("{guest} is missing; run `cargo xtask guests`"))?;
    }
    let server = RunningServer::start(&config, output)?;
    let result = find_examples(language, extension)?
        .iter()
        .try_for_each(|example| {
            let command = start(&example.script)?;
            example
                .run(command, &server.url, &docs, output)
                .with_context(|| example.script.display().to_string())
        });
    let stopped = server.stop();
    result.and(stopped)?;
    Ok(Outcome::Passed)
}

/// Finds all examples of a language. Every language must have the same minimum number of examples.
fn find_examples(language: &str, extension: &str) -> Result<Vec<Example>> {
    let folder = root().join("examples/clients").join(language);
    let mut found = Vec::new();
    for file in fs::read_dir(&folder)? {
        let path = file?.path();
        let example = Example::read(&path)?;
        if path.extension().is_some_and(|found| found == extension) && !example.expected.is_empty()
        {
            found.push(example);
        }
    }
    found.sort_by(|a, b| a.script.cmp(&b.script));
    ensure!(
        found.len() >= 9,
        "{language} has only {} examples",
        found.len()
    );
    Ok(found)
}

struct Example {
    script: PathBuf,
    arguments: Vec<String>,
    expected: Vec<String>,
}

impl Example {
    fn read(script: &Path) -> Result<Self> {
        Ok(Self::parse(script.to_owned(), &fs::read_to_string(script)?))
    }

    fn parse(script: PathBuf, text: &str) -> Self {
        let lines = || {
            text.lines()
                .map(|line| line.trim_start_matches(['/', '#', ' ']))
        };
        let arguments = lines()
            .find_map(|line| line.strip_prefix("run: "))
            .unwrap_or_default();
        let expected = lines().filter_map(|line| line.strip_prefix("prints: "));
        Self {
            script,
            arguments: arguments.split_whitespace().map(str::to_owned).collect(),
            expected: expected.map(|line| line.trim_end().to_owned()).collect(),
        }
    }

    fn run(&self, mut command: Command, url: &str, docs: &Path, output: &Output) -> Result<()> {
        output.write_line(&format!(
            "$ {}",
            self.script
                .strip_prefix(root())
                .unwrap_or(&self.script)
                .display()
        ))?;
        command
            .arg(url)
            .args(&self.arguments)
            .stdout(Stdio::piped());
        if let Output::Log(path) = output {
            command.stderr(fs::OpenOptions::new().append(true).open(path)?);
        }
        let mut child = ChildGuard(command.spawn().context("cannot start the example")?);
        let lines = stdout_lines(&mut child.0)?;
        let printed = follow_prompts(&lines, docs, output)?;
        let status = child.0.wait()?;
        ensure!(status.success(), "the example ended with {status}");
        self.check_output(&printed)
    }

    /// Checks that each expected text was printed after the previous one.
    fn check_output(&self, printed: &[String]) -> Result<()> {
        let mut printed = printed.iter();
        for expected in &self.expected {
            ensure!(
                printed.any(|line| line.contains(expected.as_str())),
                "the example did not print: {expected}"
            );
        }
        Ok(())
    }
}

/// Kills the child process when dropped.
struct ChildGuard(Child);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        // Both calls fail if the process has already ended, which is no problem.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn stdout_lines(child: &mut Child) -> Result<Receiver<String>> {
    let stdout = child.stdout.take().context("stdout is a pipe")?;
    let (send, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            if send
                .send(String::from_utf8_lossy(&line).into_owned())
                .is_err()
            {
                return;
            }
        }
    });
    Ok(lines)
}

/// Reads the whole output. When the example requests that the user change or add a file, this function does so.
fn follow_prompts(lines: &Receiver<String>, docs: &Path, output: &Output) -> Result<Vec<String>> {
    let end = Instant::now() + TIMEOUT;
    let mut printed = Vec::new();
    loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                output.write_line(&line)?;
                if line.contains("now change the file") {
                    fs::write(
                        docs.join("news.md"),
                        format!("news of line {}\n", unique()?),
                    )?;
                } else if line.contains("now add a file") {
                    fs::write(docs.join(format!("added-{}.md", unique()?)), "new\n")?;
                }
                printed.push(line);
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(printed),
            Err(RecvTimeoutError::Timeout) => bail!("the example still runs after {TIMEOUT:?}"),
        }
    }
}

fn unique() -> Result<u128> {
    Ok(std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)?
        .as_nanos())
}

/// Checks that the examples use the same version of the MCP SDK as the tests.
fn check_same_version(
    example: &str,
    tests: &str,
    version: fn(&str) -> Option<String>,
) -> Result<()> {
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path)?;
        version(&text).with_context(|| format!("no SDK version in {}", path.display()))
    };
    let (example, tests) = (
        read(root().join("examples/clients").join(example))?,
        read(root().join(tests))?,
    );
    ensure!(
        example == tests,
        "the examples use SDK version {example}, but the tests use {tests}"
    );
    Ok(())
}

fn client_version(json: &str) -> Option<String> {
    let package: serde_json::Value = serde_json::from_str(json).ok()?;
    Some(
        package["dependencies"]["@modelcontextprotocol/client"]
            .as_str()?
            .to_owned(),
    )
}

fn mcp_version(requirements: &str) -> Option<String> {
    requirements
        .lines()
        .find_map(|line| line.strip_prefix("mcp=="))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_header_comment_of_an_example() {
        let text = "// Reads.\n//   run: a b\n//   prints: one\n//   prints: two \nprints();\n";
        let example = Example::parse("x.ts".into(), text);
        assert_eq!(
            (
                example.arguments.join("|").as_str(),
                example.expected.join("|").as_str()
            ),
            ("a|b", "one|two")
        );
        let check = |lines: &[&str]| {
            example.check_output(&lines.iter().map(|&line| line.into()).collect::<Vec<_>>())
        };
        assert!(check(&["zero", "is one", "is two"]).is_ok());
        assert!(check(&["is two", "is one"]).is_err() && check(&[]).is_err());
    }
}
