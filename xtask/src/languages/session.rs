//! `examples/session.md`: commands, and the output that every example must produce. Each section has a
//! configuration and blocks of `$ larder …` lines, followed by their expected output.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::run::{Output, command, larder, root};

/// A command with the configuration of its section and its expected output.
#[derive(Debug, PartialEq)]
struct SessionCommand<'a> {
    config: &'a str,
    args: &'a str,
    expected: String,
}

/// Runs all commands with the component in `dir/plugins`. Returns the number of commands.
pub(super) fn run(output: &Output, dir: &Path) -> Result<usize> {
    let text = fs::read_to_string(root().join("examples/session.md"))?;
    let commands = parse(&text)?;
    write_folder(dir)?;
    let mut failures = String::new();
    for command in &commands {
        let actual = run_command(dir, command)?;
        if !matches(&command.expected, &actual) {
            writeln!(
                failures,
                "$ larder {}\nexpected:\n{}actual:\n{actual}",
                command.args, command.expected
            )?;
        }
    }
    output.write_line(&failures)?;
    ensure!(
        failures.is_empty(),
        "the output differs from examples/session.md:\n{failures}"
    );
    check_completion_limit(dir)?;
    Ok(commands.len())
}

/// Checks a completion with more suggestions than a response may contain: it must be truncated and state the
/// total.
fn check_completion_limit(dir: &Path) -> Result<()> {
    let config = "[provider.changelog]\ndirs = [{ host = \"FOLDER\", guest = \"/changelog\" }]\n\
                  settings = { file = \"many.md\" }";
    let args = "complete changelog://releases/{version} version 1. --json";
    let actual = run_command(
        dir,
        &SessionCommand {
            config,
            args,
            expected: String::new(),
        },
    )?;
    let found = parse_json(&actual)?;
    let values = found["values"].as_array().map_or(0, Vec::len);
    let is_truncated = values == 100 && found["total"] == 150 && found["hasMore"] == true;
    ensure!(is_truncated, "expected 100 of 150 suggestions: {actual}");
    Ok(())
}

fn run_command(dir: &Path, session_command: &SessionCommand<'_>) -> Result<String> {
    let file = dir.join("larder.toml");
    let config = session_command
        .config
        .replace("FOLDER", &dir.join("folder").display().to_string());
    fs::write(&file, format!("plugins = \"plugins\"\n{config}"))?;
    let mut larder: Command = command(larder());
    larder
        .args(session_command.args.split_whitespace())
        .args(["--in-process", "--config"])
        .arg(&file);
    let output = larder.output()?;
    let (stdout, stderr) = (
        String::from_utf8(output.stdout)?,
        String::from_utf8(output.stderr)?,
    );
    let newline = if stdout.is_empty() || stdout.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    Ok(format!("{stdout}{newline}{stderr}"))
}

/// Writes the granted folder: the changelog of the session with both kinds of line endings, a file that is
/// not UTF-8, an empty file, and a changelog with many releases.
fn write_folder(dir: &Path) -> Result<()> {
    let folder = dir.join("folder");
    fs::create_dir_all(&folder)?;
    let changelog =
        fs::read_to_string(root().join("examples/session.changelog.md"))?.replace("\r\n", "\n");
    fs::write(folder.join("CHANGELOG.md"), &changelog)?;
    fs::write(folder.join("windows.md"), changelog.replace('\n', "\r\n"))?;
    fs::write(folder.join("latin1.md"), b"## 1.0.0\n\nSch\xf6n\n")?;
    fs::write(folder.join("empty.md"), b"")?;
    let many: String = (0..150)
        .map(|minor| format!("## 1.{minor}.0\n\nWords.\n\n"))
        .collect();
    fs::write(folder.join("many.md"), many)?;
    Ok(())
}

fn parse(text: &str) -> Result<Vec<SessionCommand<'_>>> {
    let (mut config, mut found) = ("", Vec::<SessionCommand<'_>>::new());
    let mut blocks = text.split("\n```");
    let _ = blocks.next();
    // Each iteration takes a block and the text between it and the next block.
    while let Some(block) = blocks.next() {
        let (language, body) = block.split_once('\n').context("a block without an end")?;
        match language {
            "toml" => config = body,
            "console" => found.extend(parse_console(config, body)),
            other => bail!("unexpected block language `{other}`"),
        }
        ensure!(
            blocks
                .next()
                .is_some_and(|end| end.is_empty() || end.starts_with('\n')),
            "a block is not closed"
        );
    }
    Ok(found)
}

fn parse_console<'a>(config: &'a str, body: &'a str) -> Vec<SessionCommand<'a>> {
    let mut found: Vec<SessionCommand<'_>> = Vec::new();
    for line in body.lines() {
        match (line.strip_prefix("$ larder "), found.last_mut()) {
            (Some(args), _) => found.push(SessionCommand {
                config,
                args,
                expected: String::new(),
            }),
            (None, Some(command)) => command.expected = format!("{}{line}\n", command.expected),
            (None, None) => {}
        }
    }
    found
}

/// Compares JSON by value and other text line by line, where `[..]` matches any text. The columns of a table are
/// separated by tabs, because the output is not a terminal.
fn matches(expected: &str, actual: &str) -> bool {
    if let (Ok(expected), Ok(actual)) = (parse_json(expected), parse_json(actual)) {
        return expected == actual;
    }
    expected.lines().count() == actual.lines().count()
        && expected
            .lines()
            .zip(actual.lines())
            .all(|(expected, actual)| match expected.split_once("[..]") {
                Some((before, after)) => {
                    actual.starts_with(before) && actual[before.len()..].ends_with(after)
                }
                None if actual.contains('\t') => columns(expected) == columns(actual),
                None => expected == actual,
            })
}

/// Returns the columns of a line of a table, without what separates them.
fn columns(line: &str) -> Vec<&str> {
    line.split(['\t', ' '])
        .filter(|column| !column.is_empty())
        .collect()
}

fn parse_json(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_sections_and_commands() {
        let text = "# x\n\n```toml\na = 1\n```\n\nwords\n\n```console\n$ larder list\none\n\ntwo\n$ larder read a:b\n\
                    three\n```\n\nmore\n";
        let command = |args, expected: &str| SessionCommand {
            config: "a = 1",
            args,
            expected: expected.into(),
        };
        let expected = vec![
            command("list", "one\n\ntwo\n"),
            command("read a:b", "three\n"),
        ];
        assert_eq!(parse(text).unwrap_or_default(), expected);
        assert!(parse("x\n```console\n$ larder list\n").is_err());
        assert!(parse("x\n```sh\nls\n```\n").is_err());
    }

    #[test]
    fn compares_json_by_value_and_text_by_line() {
        assert!(matches("{\"a\":1,\"b\":[]}\n", "{ \"b\": [], \"a\": 1 }\n"));
        assert!(!matches("{\"a\":1}\n", "{\"a\":2}\n"));
        assert!(matches("a\ncannot [..] x\n", "a\ncannot read x\n"));
        assert!(matches("a  b c\n", "a\tb c\n"));
        assert!(!matches("a  b\n", "a\tc\n") && !matches("a  b\n", "a b\n"));
        assert!(!matches("a\n", "a\nb\n"));
        assert!(!matches("a\n", "b\n"));
    }
}
