//! `larder list`: the resources, page after page.

use clap::Args;
use serde_json::{Number, json};

use super::failure::Failure;
use super::narrow::Narrow;
use super::reach::Reach;
use super::table::{self, Table};
use super::walk::walk;
use super::{Answer, out};
use crate::client::{Filter, Resource};

/// Lists the resources of a server, or of a folder of components
#[derive(Debug, Args)]
#[command(
    after_help = "What a server rejects or holds back is in no list of a client: `larder status` says it."
)]
pub(super) struct List {
    /// At most this many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    narrow: Narrow,
    #[command(flatten)]
    reach: Reach,
}

impl List {
    pub(super) async fn run(self) -> Result<Answer, Failure> {
        let mut reached = self.reach.of_team_listed(self.narrow.team.as_deref()).connect().await?;
        let (filter, limit) = (Filter::from(self.narrow), self.limit.unwrap_or(usize::MAX));
        let resources = walk(limit, async |from| reached.client.resources(&filter, from).await).await;
        reached.end().await;
        let resources = resources?;
        match self.json {
            true => out::json(&json!({ "resources": resources }))?,
            false if resources.is_empty() => out::note("no resources"),
            false => out::text(&show(&resources).show(out::colour()))?,
        }
        Ok(Answer::Yes)
    }
}

fn show(resources: &[Resource]) -> Table<4> {
    let mut table = Table::new(["URI", "NAME", "TYPE", "SIZE"]);
    for resource in resources {
        let name = resource.title.as_deref().unwrap_or(&resource.name);
        let size = resource.size.as_ref().and_then(Number::as_u64).map(table::bytes).unwrap_or_default();
        table.row([&resource.uri, name, resource.mime_type.as_deref().unwrap_or(""), &size]);
    }
    table
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_list_is_a_table() {
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
        .assert_eq(&show(&resources).show(false));
    }
}
