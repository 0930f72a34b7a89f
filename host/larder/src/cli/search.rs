//! `larder search`: searches in the resources of a server or a folder.

use clap::Args;
use serde_json::json;

use super::connection::ConnectionArgs;
use super::error::CommandError;
use super::filter::KindParser;
use super::paging::{AllItems, all_items};
use super::table::Table;
use super::team::TeamArg;
use super::{Outcome, out};
use larder_client::{ClientError, Search as Query, SearchResult};

/// The maximum number of results that a server returns for one search.
const MAX_RESULTS: u32 = 100;

/// Search in the resources of a server or of a plugins folder
#[derive(Debug, Args)]
#[command(
    after_help = "Finds words in names, titles, descriptions and URIs, and in the content of providers that can search \
or are indexed (`index = true` in [provider.NAME]). The best results come first. Only Larder servers support it."
)]
pub(super) struct Search {
    /// The words to search for
    #[arg(required = true, value_name = "TEXT")]
    words: Vec<String>,
    /// The maximum number of results, up to 100
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
    /// Only resources whose URI begins with this
    #[arg(long, value_name = "URI")]
    prefix: Option<String>,
    /// Only resources of this kind, such as "file"
    #[arg(long, value_parser = KindParser, hide_possible_values = true)]
    kind: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    team: TeamArg,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl Search {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let mut connection = self.connection.with_team(self.team).connect().await?;
        let limit = self.limit.min(MAX_RESULTS);
        let query = Query {
            query: self.words.join(" "),
            limit: Some(limit),
            uri_prefix: self.prefix,
            kind: self.kind,
        };
        let results = all_items(limit as usize, async |from| {
            connection.client.search(&query, from).await
        });
        let results = results.await;
        connection.end().await;
        let results = results.map_err(unsupported)?;
        let AllItems { items, incomplete } = &results;
        if self.json {
            out::json(&json!({ "results": items, "incomplete": incomplete }))?
        } else {
            show(items).print_or("nothing found")?
        }
        if !self.json
            && let Some(note) = results.note("results")
        {
            out::note(&note);
        }
        // A search is limited by time, so its results need not be complete.
        Ok(Outcome::Success)
    }
}

/// Returns what a server without the method lacks.
fn unsupported(error: CommandError) -> CommandError {
    match error {
        CommandError::Client(ClientError::Rpc(error)) if error.code == -32601 => {
            CommandError::NoSearch
        }
        error => error,
    }
}

fn show(results: &[SearchResult]) -> Table<3> {
    let mut table = Table::new(["URI", "NAME", "EXCERPT"]);
    for result in results {
        let resource = &result.resource;
        let name = resource.title.as_deref().unwrap_or(&resource.name);
        table.row([&resource.uri, name, result.excerpt().unwrap_or_default()]);
    }
    table
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use larder_client::Page;

    use super::*;

    #[test]
    fn prints_a_table() {
        let page: Page<SearchResult> = serde_json::from_value(json!({
            "results": [
                { "uri": "file:///a.md", "name": "a.md", "title": "A", "excerpt": "about\na\u{1b}[2J" },
                { "uri": "memo:b", "name": "b" },
            ],
        }))
        .unwrap();
        expect![[r#"
            URI           NAME  EXCERPT
            file:///a.md  A     about a\u001b[2J
            memo:b        b
        "#]]
        .assert_eq(&show(&page.items).aligned(false));
    }
}
