//! `larder skills`: the skills of a server or a folder.

mod lint;

use clap::{Args, Subcommand};
use serde_json::json;

use super::connection::ConnectionArgs;
use super::error::CommandError;
use super::paging::all_items;
use super::table::Table;
use super::team::TeamArg;
use super::{Outcome, out};
use larder_client::Skill;
use larder_model::size;

/// List the skills of a server or of a plugins folder
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Only skills that are granted are listed: `skills = true` in [provider.NAME] of larder.toml. \
`larder check` and `larder status` say why a folder with a SKILL.md is not a skill, and `larder skills lint FOLDER` says it without a server."
)]
pub(super) struct Skills {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print JSON, with the front matter and the digest of each file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    team: TeamArg,
    #[command(flatten)]
    connection: ConnectionArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    Lint(lint::Lint),
}

impl Skills {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        if let Some(Command::Lint(lint)) = self.command {
            return lint.run();
        }
        let mut connection = self.connection.with_team(self.team).connect().await?;
        let found = all_items(usize::MAX, async |from| {
            connection.client.skills(from).await
        })
        .await;
        connection.end().await;
        let skills = found?.items;
        if self.json {
            out::json(&json!({ "skills": skills }))?
        } else {
            table(&skills).print_or("no skills")?
        }
        Ok(Outcome::Success)
    }
}

fn table(skills: &[Skill]) -> Table<5> {
    let mut table = Table::new(["SKILL", "FILES", "SIZE", "URI", "DESCRIPTION"]);
    for skill in skills {
        let text = |key: &str| skill.frontmatter.get(key).and_then(|value| value.as_str());
        let description = text("description").and_then(|text| text.lines().next());
        let (files, bytes) = files(skill);
        table.row([
            text("name").unwrap_or_default(),
            &files,
            &bytes,
            &skill.uri,
            description.unwrap_or_default(),
        ]);
    }
    table
}

/// Returns the number of files, and their size. Both are unknown if the files are generated.
fn files(skill: &Skill) -> (String, String) {
    let Some(files) = skill.resources.as_array() else {
        return ("dynamic".into(), String::new());
    };
    let sizes = files.iter().filter_map(|file| file["size"].as_u64());
    let bytes = sizes.fold(0, u64::saturating_add);
    (files.len().to_string(), size::show(bytes))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn prints_a_table() {
        let file = |size: u64| json!({ "uri": "skill://a/x", "digest": "sha256:0", "size": size });
        let skills: Vec<Skill> = serde_json::from_value(json!([
            {
                "uri": "skill://a/SKILL.md",
                "frontmatter": { "name": "a", "description": "Does a.\nMore." },
                "resources": [file(1024), file(1024)],
            },
            { "uri": "skill://b/SKILL.md", "frontmatter": {}, "resources": "dynamic" },
        ]))
        .unwrap();
        expect![[r#"
            SKILL  FILES    SIZE   URI                 DESCRIPTION
            a      2        2 KiB  skill://a/SKILL.md  Does a.
                   dynamic         skill://b/SKILL.md
        "#]]
        .assert_eq(&table(&skills).aligned(false));
    }
}
