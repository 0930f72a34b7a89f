//! JSON Schemas from Rust types.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// The schema of arguments. It always describes an object, as MCP requires.
pub(super) fn arguments<T: JsonSchema>() -> Value {
    let mut schema = schema::<T>(SchemaSettings::draft2020_12().for_deserialize());
    schema.insert("type".to_owned(), "object".into());
    schema.into()
}

/// The schema of a structured result.
pub(super) fn result<T: JsonSchema>() -> Value {
    schema::<T>(SchemaSettings::draft2020_12().for_serialize()).into()
}

/// The schema of a form: an object whose properties have a single type each, as MCP requires.
pub(super) fn form<T: JsonSchema>() -> Value {
    let mut schema = arguments::<T>();
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    properties
        .into_iter()
        .flat_map(Map::values_mut)
        .for_each(remove_null);
    schema
}

/// Converts the schema of `Option<T>` to the schema of `T`: an optional field of a form is a field that is not
/// required.
fn remove_null(property: &mut Value) {
    let Some(property) = property.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_mut_slice() {
            let only = only.take();
            property.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(mut schemas)) = property.remove("anyOf") {
        schemas.retain(|schema| schema["type"] != "null");
        match schemas.as_mut_slice() {
            [Value::Object(only)] => property.append(only),
            _ => drop(property.insert("anyOf".to_owned(), schemas.into())),
        }
    }
    if property.get("default").is_some_and(Value::is_null) {
        property.remove("default");
    }
}

/// A schema without references, and without the name and the comment of the Rust type, which are for people who
/// read the code.
fn schema<T: JsonSchema>(settings: SchemaSettings) -> Map<String, Value> {
    let settings = settings.with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    let schema = schema.ensure_object();
    schema.remove("title");
    schema.remove("description");
    std::mem::take(schema)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::NoArguments;

    /// A comment for people who read the code.
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only the schema is used")]
    struct Form {
        /// How loud.
        volume: Option<Volume>,
        count: Option<bool>,
        tone: Option<Tone>,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[allow(dead_code, reason = "only the schema is used")]
    enum Volume {
        Low,
        High,
    }

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only the schema is used")]
    enum Tone {
        /// Without jokes.
        Formal,
    }

    #[test]
    fn arguments_are_an_object() {
        assert_eq!(
            arguments::<NoArguments>(),
            json!({ "type": "object", "additionalProperties": false })
        );
        assert_eq!(arguments::<Value>(), json!({ "type": "object" }));
    }

    #[test]
    fn the_properties_of_a_form_have_one_type() {
        let volume =
            json!({ "type": "string", "enum": ["low", "high"], "description": "How loud." });
        let tone = json!({ "oneOf": [{ "const": "Formal", "type": "string", "description": "Without jokes." }] });
        let properties = json!({ "volume": volume, "count": { "type": "boolean" }, "tone": tone });
        assert_eq!(
            form::<Form>(),
            json!({ "type": "object", "properties": properties })
        );
    }
}
