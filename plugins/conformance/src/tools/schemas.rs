//! Tools whose arguments have an unusual schema.

use std::borrow::Cow;

use larder_provider::{Call, Result, Tool, Tools};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub(super) fn add<P: 'static>(tools: Tools<P>) -> Tools<P> {
    let contact = Tool::new("json_schema_2020_12_tool", |_: &P, call: &Call<Contact>| {
        contact(call)
    });
    let header = Tool::new("test_custom_header", |_: &P, call: &Call<Region>| {
        region(call)
    });
    tools
        .tool(contact.description("Tool with JSON Schema 2020-12 features"))
        .tool(header.description("Has an argument that is also sent as a header."))
}

/// Arguments with the keywords of JSON Schema 2020-12 that a host must pass on.
#[derive(Deserialize)]
struct Contact(Map<String, Value>);

impl JsonSchema for Contact {
    fn schema_name() -> Cow<'static, str> {
        "Contact".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        let text = json!({ "type": "string" });
        let address = json!({
            "$anchor": "addressDef",
            "type": "object",
            "properties": { "street": text, "city": text },
        });
        let method = json!({ "type": "string", "enum": ["phone", "email"] });
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": { "address": address },
            "properties": {
                "name": text,
                "address": { "$ref": "#/$defs/address" },
                "contactMethod": method,
                "phone": text,
                "email": text,
            },
            "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
            "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
            "then": { "required": ["phone"] },
            "else": { "required": ["email"] },
            "additionalProperties": false,
        });
        // The value is an object, so that the conversion cannot fail.
        Schema::try_from(schema).unwrap_or_default()
    }
}

fn contact(call: &Call<Contact>) -> Result<String> {
    let Contact(arguments) = &call.arguments;
    Ok(format!("Received: {}", Value::from(arguments.clone())))
}

#[derive(Deserialize, JsonSchema)]
struct Region {
    /// Also sent as the header `Mcp-Param-Region`.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

fn region(call: &Call<Region>) -> Result<String> {
    Ok(format!("The region is {}.", call.arguments.region))
}
