//! `larder templates`: the families of resources.

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::narrow::Narrow;
use super::reach::Reach;
use super::table::Table;
use super::walk::walk;
use super::{Answer, out};
use crate::client::{Filter, ResourceTemplate};

/// Lists the templates of a server, or of a folder of components
#[derive(Debug, Args)]
pub(super) struct Templates {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    narrow: Narrow,
    #[command(flatten)]
    reach: Reach,
}

impl Templates {
    pub(super) async fn run(self) -> Result<Answer, Failure> {
        let mut reached = self.reach.of_team_listed(self.narrow.team.as_deref()).connect().await?;
        let filter = Filter::from(self.narrow);
        let templates = walk(usize::MAX, async |from| reached.client.templates(&filter, from).await).await;
        reached.end().await;
        let templates = templates?;
        match self.json {
            true => out::json(&json!({ "resourceTemplates": templates }))?,
            false if templates.is_empty() => out::note("no templates"),
            false => out::text(&show(&templates).show(out::colour()))?,
        }
        Ok(Answer::Yes)
    }
}

fn show(templates: &[ResourceTemplate]) -> Table<3> {
    let mut table = Table::new(["TEMPLATE", "NAME", "TYPE"]);
    for template in templates {
        let name = template.title.as_deref().unwrap_or(&template.name);
        table.row([&template.uri_template, name, template.mime_type.as_deref().unwrap_or("")]);
    }
    table
}
