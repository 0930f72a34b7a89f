//! `larder tools`: the tools of a server or a folder.

use clap::Args;
use serde_json::json;

use super::connection::ConnectionArgs;
use super::error::CommandError;
use super::paging::all_items;
use super::table::Table;
use super::team::TeamArg;
use super::{Outcome, out};
use larder_client::Tool;

/// List the tools of a server or of a plugins folder
#[derive(Debug, Args)]
#[command(
    after_help = "Only tools that are granted are listed: `tools = true` in [provider.NAME] of larder.toml. \
Tools that wait for approval are not listed: see `larder status`."
)]
pub(super) struct Tools {
    /// Print JSON, with the schemas
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    team: TeamArg,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl Tools {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let mut connection = self.connection.with_team(self.team).connect().await?;
        let tools = all_items(usize::MAX, async |from| connection.client.tools(from).await).await;
        connection.end().await;
        let tools = tools?;
        match self.json {
            true => out::json(&json!({ "tools": tools }))?,
            false if tools.is_empty() => out::note("no tools"),
            false => out::text(&show(&tools).show())?,
        }
        Ok(Outcome::Success)
    }
}

fn show(tools: &[Tool]) -> Table<3> {
    let mut table = Table::new(["TOOL", "ARGUMENTS", "DESCRIPTION"]);
    for tool in tools {
        let text = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
        table.row([&tool.name, &arguments(tool), text.lines().next().unwrap_or_default()]);
    }
    table
}

/// The names of the arguments; optional ones in brackets.
fn arguments(tool: &Tool) -> String {
    let required = |name: &str| {
        let required = tool.input_schema["required"].as_array();
        required.is_some_and(|required| required.iter().any(|one| one == name))
    };
    let properties = tool.input_schema["properties"].as_object();
    let names = properties.into_iter().flatten().map(|(name, _)| match required(name) {
        true => name.clone(),
        false => format!("[{name}]"),
    });
    names.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn prints_a_table() {
        let schema = json!({ "properties": { "n": {}, "mode": {} }, "required": ["n"] });
        let tools: Vec<Tool> = serde_json::from_value(json!([
            { "name": "double", "description": "Doubles a number.\nMore.", "inputSchema": schema },
            { "name": "tell", "inputSchema": {} },
        ]))
        .unwrap();
        expect![[r#"
            TOOL    ARGUMENTS  DESCRIPTION
            double  [mode] n   Doubles a number.
            tell
        "#]]
        .assert_eq(&show(&tools).aligned(false));
    }
}
