//! `larder check FILE.wasm`: one component, before anybody serves it. It is loaded as a server would, and asked:
//! a type that differs from the contract's shows only there.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::app::{App, Provider, Served};
use crate::cli::failure::Failure;
use crate::cli::team::OfTeam;
use crate::cli::{Answer, alone, clean, log, out};
use crate::client::{Client, ClientError, Content, Reading};
use crate::config::{self, Overrides};

/// What was asked, and what came of it.
#[derive(Debug, Serialize)]
struct Findings {
    file: String,
    ok: bool,
    answers: Vec<Asked>,
}

#[derive(Debug, Serialize)]
struct Asked {
    question: &'static str,
    ok: bool,
    answer: String,
}

impl Asked {
    fn yes(question: &'static str, answer: impl Into<String>) -> Self {
        Self { question, ok: true, answer: answer.into() }
    }

    fn no(question: &'static str, answer: impl Into<String>) -> Self {
        Self { question, ok: false, answer: answer.into() }
    }
}

pub(super) async fn check(
    file: &Path,
    config: Option<PathBuf>,
    team: OfTeam,
    json: bool,
) -> Result<Answer, Failure> {
    let component = std::fs::read(file).map_err(|error| Failure::Input { path: file.to_owned(), error })?;
    let folder = alone::folder(file, &component)?;
    let plugins = Some(folder.path().to_owned());
    let overrides = Overrides { config, plugins, team: team.team, listen: None };
    let config = match overrides.config {
        Some(_) => {
            let mut config = config::load(&overrides)?;
            // The folder is this team's; what the others have is not asked for.
            config.teams.retain(|name, _| overrides.team.as_ref().is_none_or(|team| team == name));
            config.over_stdio()?
        }
        None => config::bare(folder.path(), &overrides)?,
    };
    log::start_quietly(&config.log);
    let app = App::build(config).await?;
    let answers = ask(&app).await;
    app.finish().await;
    let ok = answers.iter().all(|asked| asked.ok);
    let findings = Findings { file: file.display().to_string(), ok, answers };
    match json {
        true => out::json(&findings)?,
        false => out::text(&show(&findings.answers))?,
    }
    Ok(Answer::yes_if(findings.ok))
}

async fn ask(app: &App) -> Vec<Asked> {
    let Served { providers, rejected, held_back, .. } = app.served();
    let refusals = rejected.into_iter().map(|rejected| rejected.reason).chain(held_back);
    let mut answers: Vec<_> = refusals.map(|reason| Asked::no("load", reason)).collect();
    let Some(provider) = providers.into_iter().next() else { return answers };
    answers.push(Asked::yes("load", "it exports larder:provider/resource-provider"));
    answers.push(Asked::yes("describe", described(&provider)));
    answers.push(Asked::yes("list", provider.counts()));
    answers
        .extend(provider.left_out.iter().map(|why| Asked::no("list", format!("left out or changed: {why}"))));
    answers.push(match provider.resources.first() {
        Some(uri) => read(app, uri).await,
        None => Asked::yes("read", unread(&provider)),
    });
    answers
}

fn described(provider: &Provider) -> String {
    let words = [&provider.title, &provider.version, &provider.summary].into_iter().flatten();
    let text = words.map(String::as_str).collect::<Vec<_>>().join(", ");
    if text.is_empty() { "it says nothing of itself".into() } else { text }
}

/// Nothing is listed, so there is nothing that could be read without knowing it.
fn unread(provider: &Provider) -> String {
    let known = provider.templates.first().or(provider.claims.first());
    match known {
        Some(known) => format!(
            "nothing is listed, so nothing was read; try one of {known} with `larder read URI --plugins DIR`"
        ),
        None => "no URI leads here: it lists nothing now, has no templates, and claims no prefix".into(),
    }
}

async fn read(app: &App, uri: &str) -> Asked {
    match reading(app, uri).await {
        Ok(reading) => Asked::yes("read", format!("{uri}: {}", pieces(&reading.contents))),
        Err(error) => Asked::no("read", format!("{uri}: {error}")),
    }
}

async fn reading(app: &App, uri: &str) -> Result<Reading, ClientError> {
    let (input, output) = tokio::io::split(app.connect());
    let mut client = Client::lines(input, output).await?;
    let reading = client.read(uri).await;
    client.close().await;
    reading
}

fn pieces(contents: &[Content]) -> String {
    let piece = |content: &Content| {
        let kind = content.mime_type.as_deref().unwrap_or("no type");
        content
            .bytes()
            .map_or_else(|fault| fault.to_string(), |bytes| format!("{kind}, {} bytes", bytes.len()))
    };
    match contents {
        [] => "no content".into(),
        contents => contents.iter().map(piece).collect::<Vec<_>>().join("; "),
    }
}

// Not a table: an answer is never cut.
fn show(answers: &[Asked]) -> String {
    let line = |Asked { question, ok, answer }: &Asked| {
        format!("{:<7} {question:<9} {}\n", if *ok { "ok" } else { "FAILED" }, clean::line(answer))
    };
    answers.iter().map(line).collect()
}
