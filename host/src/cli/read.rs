//! `larder read`: what a URI holds, to stdout or into a file.

use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;

use super::failure::Failure;
use super::reach::Reach;
use super::team::OfTeam;
use super::{Answer, clean, out};
use crate::client::{Content, Progress, Reading};

/// Reads a resource: its text, or its bytes as they are
#[derive(Debug, Args)]
pub(super) struct Read {
    /// The resource
    uri: String,
    /// Write it to this file
    #[arg(long, short, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,
    /// The version that you have already: if it is still the current one, nothing is written but a note
    #[arg(long = "version", value_name = "VERSION")]
    held: Option<String>,
    /// Say on stderr how far the server is
    #[arg(long, conflicts_with = "held")]
    progress: bool,
    /// Print the whole answer as JSON, blobs in base64
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    team: OfTeam,
    #[command(flatten)]
    reach: Reach,
}

impl Read {
    pub(super) async fn run(self) -> Result<Answer, Failure> {
        let mut reached = self.reach.of_team(self.team).connect().await?;
        let reading = match &self.held {
            Some(held) => reached.client.read_newer(&self.uri, held).await,
            None if self.progress => {
                reached.client.read_with_progress(&self.uri, say_progress).await.map(Some)
            }
            None => reached.client.read(&self.uri).await.map(Some),
        };
        reached.end().await;
        let Some(reading) = reading? else {
            return not_modified(self.json, self.held.as_deref());
        };
        match self.output {
            _ if self.json => out::json(&reading)?,
            Some(path) => {
                std::fs::write(&path, bytes(&reading)?).map_err(|error| Failure::File { path, error })?
            }
            None if out::is_terminal() => out::text(&for_eyes(&reading.contents, out::colour()))?,
            None => out::bytes(&bytes(&reading)?)?,
        }
        Ok(Answer::Yes)
    }
}

/// It is an answer, so the exit code is 0; what is piped or written to a file stays as it was.
fn not_modified(json: bool, held: Option<&str>) -> Result<Answer, Failure> {
    match json {
        true => out::json(&serde_json::json!({ "notModified": true, "version": held }))?,
        false => out::note("not modified"),
    }
    Ok(Answer::Yes)
}

fn say_progress(progress: Progress) -> ControlFlow<()> {
    let total = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
    let message = progress.message.map(|message| format!(": {}", clean::line(&message))).unwrap_or_default();
    out::note(&format!("{}{total}{message}", progress.progress));
    ControlFlow::Continue(())
}

fn bytes(reading: &Reading) -> Result<Vec<u8>, Failure> {
    let mut all = Vec::new();
    for content in &reading.contents {
        all.extend(content.bytes()?);
    }
    Ok(all)
}

/// Several pieces get a line above each; what could steer the terminal is written out, and bytes are not shown.
fn for_eyes(contents: &[Content], colour: bool) -> String {
    let mut shown = String::new();
    for content in contents {
        if contents.len() > 1 {
            let kind = content.mime_type.as_deref().unwrap_or("no type");
            let head = format!("── {} ({})", clean::line(&content.uri), clean::line(kind));
            shown += &if colour { format!("\x1b[1m{head}\x1b[0m\n") } else { format!("{head}\n") };
        }
        match (&content.text, content.bytes()) {
            (Some(text), _) => shown += &clean::lines(text),
            (None, Ok(bytes)) => {
                shown += &format!("({} bytes; see them with `--output FILE` or a pipe)", bytes.len())
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

    fn check(contents: Value, eyes: Expect, raw: &[u8]) {
        let reading: Reading = serde_json::from_value(json!({ "contents": contents })).unwrap();
        eyes.assert_eq(&for_eyes(&reading.contents, false));
        assert_eq!(bytes(&reading).unwrap(), raw);
    }

    #[test]
    fn text_is_safe_for_eyes_and_untouched_for_pipes() {
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
            (2 bytes; see them with `--output FILE` or a pipe)
        "#]],
            &[0, 255],
        );
    }

    #[test]
    fn several_pieces_are_told_apart() {
        let two = json!([{ "uri": "a:1", "text": "x", "mimeType": "text/plain" }, { "uri": "a:2", "blob": "/w==" }]);
        check(
            two,
            expect![[r#"
            ── a:1 (text/plain)
            x
            ── a:2 (no type)
            (1 bytes; see them with `--output FILE` or a pipe)
        "#]],
            &[b'x', 255],
        );
    }
}
