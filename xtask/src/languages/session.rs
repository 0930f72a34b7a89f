//! `examples/session.md`: what is asked, and what all examples have to answer. Each section has a configuration, and
//! blocks of `$ larder …` lines with the answers below them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::run::{Output, command, larder, root, target};

/// A question in its section, and the answer.
#[derive(Debug, PartialEq)]
struct Question<'a> {
    config: &'a str,
    words: &'a str,
    answer: String,
}

/// Asks the component in `at/plugins` everything. Says how many questions that were.
pub(super) fn hold(output: &Output, at: &Path) -> Result<usize> {
    let text = fs::read_to_string(root().join("examples/session.md"))?;
    let questions = questions(&text)?;
    folder(at)?;
    let mut wrong = String::new();
    for question in &questions {
        let met = asked(at, question)?;
        if !fits(&question.answer, &met) {
            writeln!(wrong, "$ larder {}\nexpected:\n{}met:\n{met}", question.words, question.answer)?;
        }
    }
    output.say(&wrong)?;
    ensure!(wrong.is_empty(), "not what examples/session.md expects:\n{wrong}");
    completed(at)?;
    Ok(questions.len())
}

/// More suggestions than an answer may have: as many as it may, and how many there are.
fn completed(at: &Path) -> Result<()> {
    let config = "[provider.changelog]\ndirs = [{ host = \"FOLDER\", guest = \"/changelog\" }]\n\
                  settings = { file = \"many.md\" }";
    let words = "complete changelog://releases/{version} version 1. --json";
    let met = asked(at, &Question { config, words, answer: String::new() })?;
    let found = parsed(&met)?;
    let values = found["values"].as_array().map_or(0, Vec::len);
    let as_said = values == 100 && found["total"] == 150 && found["hasMore"] == true;
    ensure!(as_said, "of 150 suggestions an answer has 100, and says so: {met}");
    Ok(())
}

fn asked(at: &Path, question: &Question<'_>) -> Result<String> {
    let file = at.join("larder.toml");
    // Compiling is part of the first question only.
    let cache = target("examples/cache");
    let config = question.config.replace("FOLDER", &at.join("folder").display().to_string());
    fs::write(&file, format!("plugins = \"plugins\"\n[compiler]\ncache_dir = {cache:?}\n{config}"))?;
    let mut ask: Command = command(larder());
    let ran = ask.args(question.words.split_whitespace()).arg("--config").arg(&file).output()?;
    let (out, err) = (String::from_utf8(ran.stdout)?, String::from_utf8(ran.stderr)?);
    let line = if out.is_empty() || out.ends_with('\n') { "" } else { "\n" };
    Ok(format!("{out}{line}{err}"))
}

/// What is granted: the changelog of the session, with both sorts of line ends, and a file that is no text.
fn folder(at: &Path) -> Result<()> {
    let folder = at.join("folder");
    fs::create_dir_all(&folder)?;
    let changelog = fs::read_to_string(root().join("examples/session.changelog.md"))?.replace("\r\n", "\n");
    fs::write(folder.join("CHANGELOG.md"), &changelog)?;
    fs::write(folder.join("windows.md"), changelog.replace('\n', "\r\n"))?;
    fs::write(folder.join("latin1.md"), b"## 1.0.0\n\nSch\xf6n\n")?;
    fs::write(folder.join("empty.md"), b"")?;
    let many: String = (0..150).map(|minor| format!("## 1.{minor}.0\n\nWords.\n\n")).collect();
    fs::write(folder.join("many.md"), many)?;
    Ok(())
}

fn questions(text: &str) -> Result<Vec<Question<'_>>> {
    let (mut config, mut found) = ("", Vec::<Question<'_>>::new());
    let mut blocks = text.split("\n```");
    let _ = blocks.next();
    // A block, and what is between it and the next one.
    while let Some(block) = blocks.next() {
        let (kind, body) = block.split_once('\n').context("a block without an end")?;
        match kind {
            "toml" => config = body,
            "console" => found.extend(asked_in(config, body)),
            other => bail!("a block of the kind `{other}`"),
        }
        ensure!(blocks.next().is_some_and(|end| end.is_empty() || end.starts_with('\n')), "an open block");
    }
    Ok(found)
}

fn asked_in<'a>(config: &'a str, body: &'a str) -> Vec<Question<'a>> {
    let mut found: Vec<Question<'_>> = Vec::new();
    for line in body.lines() {
        match (line.strip_prefix("$ larder "), found.last_mut()) {
            (Some(words), _) => found.push(Question { config, words, answer: String::new() }),
            (None, Some(question)) => question.answer = format!("{}{line}\n", question.answer),
            (None, None) => {}
        }
    }
    found
}

/// JSON by what it means; other text line by line, where `[..]` stands for anything.
fn fits(expected: &str, met: &str) -> bool {
    if let (Ok(expected), Ok(met)) = (parsed(expected), parsed(met)) {
        return expected == met;
    }
    expected.lines().count() == met.lines().count()
        && expected.lines().zip(met.lines()).all(|(expected, met)| match expected.split_once("[..]") {
            Some((before, after)) => met.starts_with(before) && met[before.len()..].ends_with(after),
            None => expected == met,
        })
}

fn parsed(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_sections_with_questions() {
        let text = "# x\n\n```toml\na = 1\n```\n\nwords\n\n```console\n$ larder list\none\n\ntwo\n$ larder read a:b\n\
                    three\n```\n\nmore\n";
        let question = |words, answer: &str| Question { config: "a = 1", words, answer: answer.into() };
        let expected = vec![question("list", "one\n\ntwo\n"), question("read a:b", "three\n")];
        assert_eq!(questions(text).unwrap_or_default(), expected);
        assert!(questions("x\n```console\n$ larder list\n").is_err());
        assert!(questions("x\n```sh\nls\n```\n").is_err());
    }

    #[test]
    fn answers_fit_by_meaning_or_by_line() {
        assert!(fits("{\"a\":1,\"b\":[]}\n", "{ \"b\": [], \"a\": 1 }\n"));
        assert!(!fits("{\"a\":1}\n", "{\"a\":2}\n"));
        assert!(fits("a\ncannot [..] x\n", "a\ncannot read x\n"));
        assert!(!fits("a\n", "a\nb\n"));
        assert!(!fits("a\n", "b\n"));
    }
}
