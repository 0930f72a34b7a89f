//! `larder templates`: the resource templates of a server or a folder.

use clap::Args;

use super::connection::ConnectionArgs;
use super::error::CommandError;
use super::filter::FilterArgs;
use super::paging::all_items;
use super::table::Table;
use super::{Outcome, out};
use larder_client::{Filter, ResourceTemplate};

/// List the resource templates of a server or of a plugins folder
#[derive(Debug, Args)]
pub(super) struct Templates {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl Templates {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let mut connection = self
            .connection
            .with_team_filter(self.filter.team.as_deref())
            .connect()
            .await?;
        let filter = Filter::from(self.filter);
        let templates = all_items(usize::MAX, async |from| {
            connection.client.templates(&filter, from).await
        })
        .await;
        connection.end().await;
        let templates = templates?;
        if self.json {
            out::json(&templates.json("resourceTemplates"))?
        } else {
            show(&templates.items).print_or("no templates")?
        }
        Ok(templates.outcome("templates"))
    }
}

fn show(templates: &[ResourceTemplate]) -> Table<3> {
    let mut table = Table::new(["TEMPLATE", "NAME", "TYPE"]);
    for template in templates {
        let name = template.title.as_deref().unwrap_or(&template.name);
        table.row([
            &template.uri_template,
            name,
            template.mime_type.as_deref().unwrap_or(""),
        ]);
    }
    table
}
