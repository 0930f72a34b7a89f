//! The set of tools of a provider.

use super::Tool;
use crate::bindings::tools::exports::larder::provider::tool_provider as wit;
use crate::{Error, Freshness, Result};

/// The tools of a provider; see [`Tool`].
pub struct Tools<P> {
    tools: Vec<Tool<P>>,
    freshness: Option<Freshness>,
}

impl<P> Tools<P> {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self {
            tools: Vec::new(),
            freshness: None,
        }
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: Tool<P>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Sets how long the list of tools may be cached, and for which callers. Without this, the list is not cached.
    pub fn freshness(mut self, freshness: Freshness) -> Self {
        self.freshness = Some(freshness);
        self
    }

    /// The single page of `list-tools`.
    pub(super) fn page(self) -> wit::ToolPage {
        let tools = self.tools.into_iter().map(Tool::declaration).collect();
        wit::ToolPage {
            tools,
            next_cursor: None,
            freshness: self.freshness,
        }
    }

    pub(super) fn call(&self, provider: &P, call: wit::ToolCall) -> Result<wit::ToolAnswer> {
        let tool = self
            .tools
            .iter()
            .find(|tool| tool.name == call.name)
            .ok_or(Error::NotFound)?;
        tool.call(provider, call)
    }
}

impl<P> Default for Tools<P> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use serde_json::{Value, json};

    use super::*;
    use crate::{Answer, Block, Call, Input, InputRequest, ToolResult};

    struct Shop;

    #[derive(Deserialize, JsonSchema)]
    struct Order {
        /// How many.
        count: u8,
    }

    #[derive(Serialize, JsonSchema)]
    struct Price {
        price: u32,
    }

    fn price(_: &Shop, call: &Call<Order>) -> Result<ToolResult<Price>> {
        Ok(match call.arguments.count {
            0 => ToolResult::error("Nothing was ordered."),
            1 => ToolResult::structured(Price { price: 3 }).content("Three."),
            count => ToolResult::structured(Price {
                price: u32::from(count) * 3,
            }),
        })
    }

    fn greet(_: &Shop, _: &Call) -> Result<String> {
        Ok("Welcome.".to_owned())
    }

    fn order(_: &Shop, call: &Call) -> Result<Answer> {
        let Some(input) = &call.input else {
            return Ok(InputRequest::elicit::<Order>("order", "How many?")
                .state("7")
                .into());
        };
        Ok(ToolResult::text(format!("{:?}", input.has_state("7"))).into())
    }

    fn tools() -> Tools<Shop> {
        Tools::new()
            .tool(
                Tool::new("price", price)
                    .title("Price")
                    .description("Tells the price.")
                    .read_only(true),
            )
            .tool(Tool::new("greet", greet))
            .tool(Tool::new("order", order))
    }

    fn call(name: &str, arguments: &str, input: Option<Input>) -> Result<wit::ToolAnswer> {
        let call = wit::ToolCall {
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            input,
        };
        tools().call(&Shop, call)
    }

    #[test]
    fn types_become_schemas() {
        let page = tools().page();
        let [price, greet, _] = page.tools.as_slice() else {
            panic!("{page:?}")
        };
        let json = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        let input = json(&price.input_schema);
        assert_eq!(
            (&input["type"], &input["required"]),
            (&json!("object"), &json!(["count"]))
        );
        assert_eq!(input["properties"]["count"]["description"], "How many.");
        let output = json(price.output_schema.as_deref().expect("a schema"));
        assert_eq!(
            (&output["type"], &output["required"]),
            (&json!("object"), &json!(["price"]))
        );
        assert_eq!(
            (price.hints.read_only, price.hints.destructive),
            (Some(true), None)
        );
        assert_eq!(
            json(&greet.input_schema),
            json!({ "type": "object", "additionalProperties": false })
        );
        assert_eq!((&greet.output_schema, &greet.title), (&None, &None));
    }

    #[test]
    fn schemas_can_be_given() {
        let echo =
            |_: &Shop, call: &Call<Value>| Ok(ToolResult::structured(call.arguments.clone()));
        let schema = |kind: &'static str| move || json!({ "type": "object", "title": kind });
        let tool = || {
            Tool::new("echo", echo)
                .input_schema(schema("in"))
                .output_schema(schema("out"))
        };
        let page = Tools::new().tool(tool()).page();
        assert_eq!(
            page.tools[0].input_schema,
            r#"{"title":"in","type":"object"}"#
        );
        assert_eq!(
            page.tools[0].output_schema.as_deref(),
            Some(r#"{"title":"out","type":"object"}"#)
        );
        let call = wit::ToolCall {
            name: "echo".into(),
            arguments: r#"{"a":1}"#.into(),
            input: None,
        };
        let Ok(wit::ToolAnswer::Complete(result)) = Tools::new().tool(tool()).call(&Shop, call)
        else {
            panic!()
        };
        assert_eq!(result.structured.as_deref(), Some(r#"{"a":1}"#));
    }

    #[test]
    fn returns_typed_results() {
        let check =
            |name: &str, arguments: &str, text: &str, structured: Option<&str>, is_error: bool| {
                let structured = structured.map(str::to_owned);
                let result = wit::ToolResult {
                    content: vec![text.into()],
                    structured,
                    is_error,
                    metadata: vec![],
                };
                assert_eq!(
                    call(name, arguments, None),
                    Ok(wit::ToolAnswer::Complete(result)),
                    "{arguments}"
                );
            };
        check(
            "price",
            r#"{"count":1}"#,
            "Three.",
            Some(r#"{"price":3}"#),
            false,
        );
        check(
            "price",
            r#"{"count":2}"#,
            r#"{"price":6}"#,
            Some(r#"{"price":6}"#),
            false,
        );
        check(
            "price",
            r#"{"count":0}"#,
            "Nothing was ordered.",
            None,
            true,
        );
        check(
            "price",
            "{}",
            "Invalid arguments: missing field `count`",
            None,
            true,
        );
        check(
            "price",
            r#"{"count":"1"}"#,
            "Invalid arguments: invalid type: string \"1\", expected u8",
            None,
            true,
        );
        check("greet", "{}", "Welcome.", None, false);
    }

    #[test]
    fn asks_and_is_called_again() {
        let Ok(wit::ToolAnswer::InputRequired(asked)) = call("order", "{}", None) else {
            panic!()
        };
        assert_eq!(
            (asked.requests[0].key.as_str(), asked.state),
            ("order", Some(b"7".to_vec()))
        );
        let again = call("order", "{}", Some(Input::decline("order").state("7")));
        let Ok(wit::ToolAnswer::Complete(result)) = again else {
            panic!("{again:?}")
        };
        assert_eq!(result.content, [Block::text("true")]);
    }

    #[test]
    fn an_unknown_tool_is_not_found() {
        assert_eq!(call("other", "{}", None), Err(Error::NotFound));
        assert!(matches!(call("greet", "{", None), Err(Error::Invalid(_))));
    }
}
