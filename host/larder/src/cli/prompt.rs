//! `larder prompt`: the messages of a prompt.

use clap::Args;

use super::call::{append_text, block_text};
use super::connection::ConnectionArgs;
use super::error::CommandError;
use super::team::TeamArg;
use super::{Outcome, name_value, out};
use larder_client::PromptResult;

/// Get the messages of a prompt
#[derive(Debug, Args)]
pub(super) struct Prompt {
    /// The prompt, as printed by `larder prompts`
    prompt: String,
    /// An argument; can be repeated
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = name_value::parse)]
    arguments: Vec<(String, String)>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    team: TeamArg,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl Prompt {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let mut connection = self.connection.with_team(self.team).connect().await?;
        let result = connection
            .client
            .get_prompt(&self.prompt, &self.arguments)
            .await;
        connection.end().await;
        let result = result?;
        if self.json {
            out::json(&result)?
        } else {
            out::text(&show(&result, out::is_terminal()))?
        }
        Ok(Outcome::Success)
    }
}

fn show(result: &PromptResult, terminal: bool) -> String {
    let mut shown = String::new();
    for message in &result.messages {
        let text = format!("{}: {}", message.role, block_text(&message.content));
        append_text(&mut shown, &text, terminal);
    }
    shown
}
