//! `larder read`: reads a resource to stdout or into a file.

use std::path::PathBuf;

use clap::Args;
use clap_complete::ArgValueCompleter;

use super::connection::ConnectionArgs;
use super::error::CommandError;
use super::team::TeamArg;
use super::{Outcome, completions, out, progress, sanitize};
use larder_client::{Content, ReadResult};
use larder_model::size;

/// Read a resource and print its content unchanged
#[derive(Debug, Args)]
pub(super) struct Read {
    /// The URI of the resource
    #[arg(add = ArgValueCompleter::new(completions::uris))]
    uri: String,
    /// Write the content to this file
    #[arg(long, short, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,
    /// The version that you have already; if it is the current one, only a note is printed
    #[arg(long = "version", value_name = "VERSION")]
    known_version: Option<String>,
    /// Print progress to stderr
    #[arg(long, conflicts_with = "known_version")]
    progress: bool,
    /// Print the whole result as JSON, with blobs in base64
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    team: TeamArg,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl Read {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let mut connection = self.connection.with_team(self.team).connect().await?;
        let reading = match &self.known_version {
            Some(version) => connection.client.read_if_changed(&self.uri, version).await,
            None if self.progress => connection
                .client
                .read_with_progress(&self.uri, progress::print)
                .await
                .map(Some),
            None => connection.client.read(&self.uri).await.map(Some),
        };
        connection.end().await;
        let Some(reading) = reading? else {
            return not_modified(self.json, self.known_version.as_deref());
        };
        match self.output {
            _ if self.json => out::json(&reading)?,
            Some(path) => {
                std::fs::write(&path, bytes(&reading)?).map_err(CommandError::file(path))?
            }
            None if out::is_terminal() => {
                out::text(&for_terminal(&reading.contents, out::colour()))?
            }
            None => out::bytes(&bytes(&reading)?)?,
        }
        Ok(Outcome::Success)
    }
}

/// Reports that the known version is current. The exit code is 0, and no output file is written.
fn not_modified(json: bool, version: Option<&str>) -> Result<Outcome, CommandError> {
    if json {
        out::json(&serde_json::json!({ "notModified": true, "version": version }))?
    } else {
        out::note("not modified")
    }
    Ok(Outcome::Success)
}

fn bytes(reading: &ReadResult) -> Result<Vec<u8>, CommandError> {
    let mut all = Vec::new();
    for content in &reading.contents {
        all.extend(content.bytes()?);
    }
    Ok(all)
}

/// Formats contents for a terminal: a heading if there are several contents, with escaped control characters, and
/// without binary content.
fn for_terminal(contents: &[Content], colour: bool) -> String {
    let mut shown = String::new();
    for content in contents {
        if contents.len() > 1 {
            let kind = content.mime_type.as_deref().unwrap_or("no type");
            let head = format!(
                "── {} ({})",
                sanitize::line(&content.uri),
                sanitize::line(kind)
            );
            shown += &if colour {
                format!("\x1b[1m{head}\x1b[0m\n")
            } else {
                format!("{head}\n")
            };
        }
        match (&content.text, content.bytes()) {
            (Some(text), _) => shown += &sanitize::lines(text),
            (None, Ok(bytes)) => {
                shown += &format!(
                    "({}; use `--output FILE` or a pipe to get them)",
                    size::show(bytes.len() as u64)
                )
            }
            (None, Err(fault)) => shown += &format!("({fault})"),
        }
        if !shown.ends_with('\n') {
            shown.push('\n');
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::*;

    fn check(contents: Value, terminal: Expect, raw: &[u8]) {
        let reading: ReadResult = serde_json::from_value(json!({ "contents": contents })).unwrap();
        terminal.assert_eq(&for_terminal(&reading.contents, false));
        assert_eq!(bytes(&reading).unwrap(), raw);
    }

    #[test]
    fn escapes_text_for_terminals_only() {
        check(
            json!([{ "uri": "a:b", "text": "one\n\ttwo\x1b[2J" }]),
            expect![[r#"
            one
            	two\u001b[2J
        "#]],
            b"one\n\ttwo\x1b[2J",
        );
        check(
            json!([{ "uri": "a:b", "blob": "AP8=" }]),
            expect![[r#"
            (2 bytes; use `--output FILE` or a pipe to get them)
        "#]],
            &[0, 255],
        );
    }

    #[test]
    fn several_contents_get_headings() {
        let two = json!([{ "uri": "a:1", "text": "x", "mimeType": "text/plain" }, { "uri": "a:2", "blob": "/w==" }]);
        check(
            two,
            expect![[r#"
            ── a:1 (text/plain)
            x
            ── a:2 (no type)
            (1 bytes; use `--output FILE` or a pipe to get them)
        "#]],
            &[b'x', 255],
        );
    }
}
