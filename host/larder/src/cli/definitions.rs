//! The common parts of `larder tools` and `larder prompts`, which list the definitions of a server or a folder.

use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::connection::ConnectionArgs;
use super::error::CommandError;
use super::paging::all_items;
use super::table::Table;
use super::team::TeamArg;
use super::{Outcome, out};
use larder_client::{Client, ClientError, Page};

/// A tool or a prompt.
pub(super) trait Definition: Serialize + Sized {
    /// The plural name of the items, which is also the key in JSON.
    const PLURAL: &str;
    /// The title of the first column.
    const TITLE: &str;

    /// Returns one page of the list.
    async fn page(client: &mut Client, cursor: Option<&str>) -> Result<Page<Self>, ClientError>;

    fn name(&self) -> &str;

    /// The arguments, and whether each argument is required.
    fn arguments(&self) -> Vec<(&str, bool)>;

    /// A description, or else a title.
    fn about(&self) -> Option<&str>;
}

#[derive(Debug, Args)]
pub(super) struct ListDefinitions {
    /// Print JSON, with everything that the server says about them
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    team: TeamArg,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl ListDefinitions {
    pub(super) async fn run<T: Definition>(self) -> Result<Outcome, CommandError> {
        let mut connection = self.connection.with_team(self.team).connect().await?;
        let found = all_items(usize::MAX, async |from| {
            T::page(&mut connection.client, from).await
        })
        .await;
        connection.end().await;
        let found = found?.items;
        if self.json {
            out::json(&json!({ T::PLURAL: found }))?
        } else {
            table(&found).print_or(&format!("no {}", T::PLURAL))?
        }
        Ok(Outcome::Success)
    }
}

/// Optional arguments are in brackets.
pub(super) fn table<T: Definition>(definitions: &[T]) -> Table<3> {
    let mut table = Table::new([T::TITLE, "ARGUMENTS", "DESCRIPTION"]);
    for definition in definitions {
        let arguments = definition.arguments().into_iter();
        let arguments: Vec<_> = arguments
            .map(|(name, is_required)| argument(name, is_required))
            .collect();
        let about = definition
            .about()
            .and_then(|text| text.lines().next())
            .unwrap_or_default();
        table.row([definition.name(), &arguments.join(" "), about]);
    }
    table
}

fn argument(name: &str, is_required: bool) -> String {
    if is_required {
        name.to_owned()
    } else {
        format!("[{name}]")
    }
}
