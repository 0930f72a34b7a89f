//! `larder prompts`: the prompts of a server or a folder.

use clap::Args;

use super::Outcome;
use super::definitions::{Definition, ListDefinitions};
use super::error::CommandError;
use larder_client::{Client, ClientError, Page, Prompt};

/// List the prompts of a server or of a plugins folder
#[derive(Debug, Args)]
#[command(
    after_help = "Only prompts that are granted are listed: `prompts = true` in [provider.NAME] of larder.toml."
)]
pub(super) struct Prompts {
    #[command(flatten)]
    list: ListDefinitions,
}

impl Prompts {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        self.list.run::<Prompt>().await
    }
}

impl Definition for Prompt {
    const PLURAL: &str = "prompts";
    const TITLE: &str = "PROMPT";

    async fn page(client: &mut Client, cursor: Option<&str>) -> Result<Page<Self>, ClientError> {
        client.prompts(cursor).await
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn arguments(&self) -> Vec<(&str, bool)> {
        self.arguments
            .iter()
            .map(|argument| (argument.name.as_str(), argument.required))
            .collect()
    }

    fn about(&self) -> Option<&str> {
        self.description.as_deref().or(self.title.as_deref())
    }
}
