//! `larder prompts`: the prompts of a server or a folder.

use clap::Args;
use serde_json::json;

use super::connection::ConnectionArgs;
use super::error::CommandError;
use super::paging::all_items;
use super::table::Table;
use super::team::TeamArg;
use super::{Outcome, out};
use larder_client::{Prompt, PromptArgument};

/// List the prompts of a server or of a plugins folder
#[derive(Debug, Args)]
#[command(
    after_help = "Only prompts that are granted are listed: `prompts = true` in [provider.NAME] of larder.toml."
)]
pub(super) struct Prompts {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    team: TeamArg,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl Prompts {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let mut connection = self.connection.with_team(self.team).connect().await?;
        let prompts = all_items(usize::MAX, async |from| connection.client.prompts(from).await).await;
        connection.end().await;
        let prompts = prompts?;
        match self.json {
            true => out::json(&json!({ "prompts": prompts }))?,
            false if prompts.is_empty() => out::note("no prompts"),
            false => out::text(&show(&prompts).show())?,
        }
        Ok(Outcome::Success)
    }
}

fn show(prompts: &[Prompt]) -> Table<3> {
    let mut table = Table::new(["PROMPT", "ARGUMENTS", "DESCRIPTION"]);
    for prompt in prompts {
        let name = |PromptArgument { name, required, .. }: &PromptArgument| match required {
            true => name.clone(),
            false => format!("[{name}]"),
        };
        let arguments = prompt.arguments.iter().map(name).collect::<Vec<_>>().join(" ");
        let text = prompt.description.as_deref().or(prompt.title.as_deref()).unwrap_or_default();
        table.row([&prompt.name, &arguments, text.lines().next().unwrap_or_default()]);
    }
    table
}
