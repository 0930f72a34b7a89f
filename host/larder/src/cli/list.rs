//! `larder list`: the resources of a server or a folder.

use clap::Args;
use serde_json::Number;

use super::connection::ConnectionArgs;
use super::error::CommandError;
use super::filter::FilterArgs;
use super::paging::all_items;
use super::table::{self, Table};
use super::{Outcome, out};
use larder_client::{Filter, Resource};

/// List the resources of a server or of a plugins folder
#[derive(Debug, Args)]
#[command(
    after_help = "Rejected components and those that wait for approval are not listed: see `larder status`. If the list \
of a provider is not complete, its name is printed, and the exit code is 1."
)]
pub(super) struct List {
    /// List the children of this folder only, with an extension of the protocol
    #[arg(long, value_name = "URI", conflicts_with_all = ["prefix", "kind", "mime", "provider", "text"])]
    directory: Option<String>,
    /// The maximum number of resources
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl List {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let mut connection = self
            .connection
            .with_team_filter(self.filter.team.as_deref())
            .connect()
            .await?;
        let filter = Filter::from(self.filter);
        let limit = self.limit.unwrap_or(usize::MAX);
        let client = &mut connection.client;
        let resources = all_items(limit, async |from| match &self.directory {
            Some(uri) => client.directory(uri, from).await,
            None => client.resources(&filter, from).await,
        })
        .await;
        connection.end().await;
        let resources = resources?;
        if self.json {
            out::json(&resources.json("resources"))?
        } else {
            show(&resources.items).print_or("no resources")?
        }
        Ok(resources.outcome("resources"))
    }
}

fn show(resources: &[Resource]) -> Table<4> {
    let mut table = Table::new(["URI", "NAME", "TYPE", "SIZE"]);
    for resource in resources {
        let name = resource.title.as_deref().unwrap_or(&resource.name);
        let size = resource
            .size
            .as_ref()
            .and_then(Number::as_u64)
            .map(table::bytes)
            .unwrap_or_default();
        table.row([
            &resource.uri,
            name,
            resource.mime_type.as_deref().unwrap_or(""),
            &size,
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn prints_a_table() {
        let resources: Vec<Resource> = serde_json::from_value(json!([
            { "uri": "file:///a.md", "name": "a.md", "title": "A", "mimeType": "text/markdown", "size": 2048 },
            { "uri": "memo:b", "name": "b\u{202e}" },
        ]))
        .unwrap();
        expect![[r#"
            URI           NAME     TYPE           SIZE
            file:///a.md  A        text/markdown  2.0 KiB
            memo:b        b\u202e
        "#]]
        .assert_eq(&show(&resources).aligned(false));
    }
}
