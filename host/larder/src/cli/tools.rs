//! `larder tools`: the tools of a server or a folder.

use clap::Args;

use super::Outcome;
use super::definitions::{Definition, ListDefinitions};
use super::error::CommandError;
use larder_client::{Client, ClientError, Page, Tool};

/// List the tools of a server or of a plugins folder
#[derive(Debug, Args)]
#[command(
    after_help = "Only tools that are granted are listed: `tools = true` in [provider.NAME] of larder.toml. \
Tools that wait for approval are not listed: see `larder status`."
)]
pub(super) struct Tools {
    #[command(flatten)]
    list: ListDefinitions,
}

impl Tools {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        self.list.run::<Tool>().await
    }
}

impl Definition for Tool {
    const PLURAL: &str = "tools";
    const TITLE: &str = "TOOL";

    async fn page(client: &mut Client, cursor: Option<&str>) -> Result<Page<Self>, ClientError> {
        client.tools(cursor).await
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn arguments(&self) -> Vec<(&str, bool)> {
        let required = self.input_schema["required"].as_array();
        let is_required =
            |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
        let properties = self.input_schema["properties"].as_object();
        properties
            .into_iter()
            .flatten()
            .map(|(name, _)| (name.as_str(), is_required(name)))
            .collect()
    }

    fn about(&self) -> Option<&str> {
        self.description.as_deref().or(self.title.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::super::definitions::table;
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
        .assert_eq(&table(&tools).aligned(false));
    }
}
