//! Schemas of OpenAPI 3.0 and 3.1 as JSON Schemas for tools. Only known keywords with valid values are kept, so that a
//! hostile document cannot make a tool invalid.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::document::{Document, local_pointer, name_of};
use crate::operation::Inputs;

/// The maximum depth of a schema.
const MAX_DEPTH: usize = 24;
/// The maximum number of parts of the schemas of a tool, and of definitions in the schemas.
const MAX_PARTS: usize = 3000;
const MAX_DEFINITIONS: usize = 100;
/// The maximum size of a schema as text. The host accepts 64 KiB.
const MAX_BYTES: usize = 60 << 10;
/// The maximum length of a description.
const MAX_DESCRIPTION: usize = 1000;

/// Whether a schema describes data that are sent to an API, or data that the API returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Request,
    Response,
}

struct Converter<'a> {
    document: &'a Document,
    direction: Direction,
    max_definitions: usize,
    parts: usize,
    /// The names of definitions by their pointers, and the pointers that still have to be converted.
    names: BTreeMap<String, String>,
    waiting: Vec<String>,
}

/// The schema of the arguments of a tool.
pub(crate) fn arguments(document: &Document, inputs: &Inputs) -> Value {
    bounded(document, Direction::Request, |converter| {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        let parameters = inputs.parameters.iter();
        let parameters = parameters.map(|it| {
            (
                &it.argument[..],
                &it.schema,
                &it.description,
                it.is_required,
            )
        });
        let body = inputs
            .body
            .iter()
            .map(|it| (it.argument, &it.schema, &it.description, it.is_required));
        for (argument, schema, description, is_required) in parameters.chain(body) {
            let mut schema = converter.object(schema);
            if !description.is_empty() {
                schema.insert("description".to_owned(), shorten(description).into());
            }
            properties.insert(argument.to_owned(), schema.into());
            if is_required {
                required.push(argument.to_owned());
            }
        }
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    })
}

/// The schema of the results of a tool: the status, and the body of a response in JSON.
pub(crate) fn result(document: &Document, body: Option<&Value>) -> Value {
    bounded(document, Direction::Response, |converter| {
        let body = body.map(|body| converter.object(body)).unwrap_or_default();
        json!({ "type": "object", "required": ["status"],
            "properties": { "status": { "type": "integer" }, "body": body } })
    })
}

/// Builds a schema with definitions. If it is too large, references become schemas that accept any value.
fn bounded(
    document: &Document,
    direction: Direction,
    build: impl Fn(&mut Converter<'_>) -> Value,
) -> Value {
    for max_definitions in [MAX_DEFINITIONS, 10, 0] {
        let mut converter = Converter {
            document,
            direction,
            max_definitions,
            parts: 0,
            names: BTreeMap::new(),
            waiting: Vec::new(),
        };
        let mut schema = build(&mut converter);
        let definitions = converter.definitions();
        if let (Some(schema), false) = (schema.as_object_mut(), definitions.is_empty()) {
            schema.insert("$defs".to_owned(), definitions.into());
        }
        if schema.to_string().len() <= MAX_BYTES {
            return schema;
        }
    }
    json!({ "type": "object" })
}

impl Converter<'_> {
    /// The definitions that were referred to, and the definitions to which these refer.
    fn definitions(&mut self) -> Map<String, Value> {
        let mut found = Map::new();
        while let Some(pointer) = self.waiting.pop() {
            let schema = self.document.pointer(&pointer).cloned().unwrap_or_default();
            let converted = self.schema(&schema, 0);
            found.insert(self.names[&pointer].clone(), converted);
        }
        found
    }

    fn object(&mut self, schema: &Value) -> Map<String, Value> {
        match self.schema(schema, 0) {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }

    fn schema(&mut self, schema: &Value, depth: usize) -> Value {
        self.parts += 1;
        if schema.is_boolean() {
            return schema.clone();
        }
        let Some(from) = schema
            .as_object()
            .filter(|_| depth < MAX_DEPTH && self.parts < MAX_PARTS)
        else {
            return json!({});
        };
        if let Some(reference) = from.get("$ref").and_then(Value::as_str) {
            return self.reference(reference);
        }
        let mut to = Map::new();
        for (key, value) in from {
            if let Some(value) = self.keyword(key, value, depth) {
                to.insert(key.clone(), value);
            }
        }
        self.remove_other_direction(from, &mut to);
        convert_from_3_0(from, &mut to);
        to.into()
    }

    fn reference(&mut self, reference: &str) -> Value {
        let Some(pointer) =
            local_pointer(reference).filter(|it| self.document.pointer(it).is_some())
        else {
            return json!({ "description": "It is defined in another document." });
        };
        if let Some(name) = self.names.get(&pointer) {
            return json!({ "$ref": format!("#/$defs/{name}") });
        }
        if self.names.len() >= self.max_definitions {
            return json!({});
        }
        let is_valid = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        let mut name: String = name_of(&pointer)
            .chars()
            .filter(is_valid)
            .take(40)
            .collect();
        if name.is_empty() || self.names.values().any(|other| *other == name) {
            name += &format!("_{}", self.names.len());
        }
        self.names.insert(pointer.clone(), name.clone());
        self.waiting.push(pointer);
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    /// The value of a keyword; `None` if the keyword is unknown or its value is invalid.
    fn keyword(&mut self, key: &str, value: &Value, depth: usize) -> Option<Value> {
        match key {
            "type" if is_type(value) => Some(value.clone()),
            "enum" if value.as_array().is_some_and(|items| !items.is_empty()) => {
                Some(value.clone())
            }
            "const" | "default" => Some(value.clone()),
            "required" if is_names(value) => Some(value.clone()),
            "title" | "description" | "format" => value.as_str().map(|text| shorten(text).into()),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                value.is_number().then(|| value.clone())
            }
            "multipleOf" => value
                .as_f64()
                .filter(|number| *number > 0.0)
                .map(|_| value.clone()),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
            | "maxProperties" => value.is_u64().then(|| value.clone()),
            "uniqueItems" => value.is_boolean().then(|| value.clone()),
            "items" | "additionalProperties" | "not" if value.is_object() || value.is_boolean() => {
                Some(self.schema(value, depth + 1))
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                let items = value.as_array().filter(|items| !items.is_empty())?;
                Some(
                    items
                        .iter()
                        .map(|item| self.schema(item, depth + 1))
                        .collect(),
                )
            }
            "properties" => {
                let map = value.as_object()?.iter();
                let map = map.map(|(name, schema)| (name.clone(), self.schema(schema, depth + 1)));
                Some(Value::Object(map.collect()))
            }
            _ => None,
        }
    }

    /// Removes properties that only responses, or only requests, have.
    fn remove_other_direction(&self, from: &Map<String, Value>, to: &mut Map<String, Value>) {
        let keyword = if self.direction == Direction::Request {
            "readOnly"
        } else {
            "writeOnly"
        };
        let properties = from
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        let removed: Vec<&String> = properties
            .filter(|(_, schema)| schema[keyword] == true)
            .map(|(name, _)| name)
            .collect();
        if let Some(properties) = to.get_mut("properties").and_then(Value::as_object_mut) {
            properties.retain(|name, _| !removed.contains(&name));
        }
        if let Some(required) = to.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| !removed.iter().any(|removed| name == removed.as_str()));
        }
    }
}

/// `nullable` and the boolean limits of OpenAPI 3.0.
fn convert_from_3_0(from: &Map<String, Value>, to: &mut Map<String, Value>) {
    if from.get("nullable") == Some(&Value::Bool(true)) {
        if let Some(one) = to.get("type").and_then(Value::as_str) {
            let both = json!([one, "null"]);
            to.insert("type".to_owned(), both);
        }
        if let Some(values) = to.get_mut("enum").and_then(Value::as_array_mut) {
            values.push(Value::Null);
        }
    }
    for (limit, exclusive) in [
        ("minimum", "exclusiveMinimum"),
        ("maximum", "exclusiveMaximum"),
    ] {
        if from.get(exclusive) == Some(&Value::Bool(true))
            && let Some(value) = to.remove(limit)
        {
            to.insert(exclusive.to_owned(), value);
        }
    }
}

fn is_type(value: &Value) -> bool {
    let types = [
        "string", "number", "integer", "boolean", "array", "object", "null",
    ];
    let is_one = |value: &Value| value.as_str().is_some_and(|name| types.contains(&name));
    let is_list = |items: &Vec<Value>| {
        !items.is_empty() && items.len() <= types.len() && items.iter().all(is_one)
    };
    is_one(value) || value.as_array().is_some_and(is_list)
}

fn is_names(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|names| names.iter().all(Value::is_string))
}

pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_DESCRIPTION) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(schemas: &Value, schema: &Value) -> Value {
        let text = json!({ "openapi": "3.0.0", "components": { "schemas": schemas } }).to_string();
        let document = Document::parse(text.as_bytes()).expect("a document");
        bounded(&document, Direction::Request, |converter| {
            converter.object(schema).into()
        })
    }

    fn check(schema: Value, expected: Value) {
        assert_eq!(convert(&json!({}), &schema), expected);
    }

    #[test]
    fn keeps_what_is_valid() {
        check(
            json!({ "type": "string", "nullable": true, "enum": ["a"], "x-mcp-header": "X", "example": 1, "pattern": "(" }),
            json!({ "type": ["string", "null"], "enum": ["a", null] }),
        );
        check(
            json!({ "type": "integer", "minimum": 1, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false }),
            json!({ "type": "integer", "exclusiveMinimum": 1, "maximum": 9 }),
        );
        check(
            json!({ "type": "strange", "enum": [], "properties": 3, "minLength": -1, "required": [1], "oneOf": [] }),
            json!({}),
        );
        check(
            json!({ "properties": { "id": { "readOnly": true }, "a": { "items": true } }, "required": ["id", "a"] }),
            json!({ "properties": { "a": { "items": true } }, "required": ["a"] }),
        );
    }

    #[test]
    fn references_become_definitions() {
        let schemas = json!({ "Node": { "properties": { "next": { "$ref": "#/components/schemas/Node" } } } });
        let node = json!({ "$ref": "#/$defs/Node" });
        let expected =
            json!({ "items": node, "$defs": { "Node": { "properties": { "next": node } } } });
        assert_eq!(
            convert(
                &schemas,
                &json!({ "items": { "$ref": "#/components/schemas/Node" } })
            ),
            expected
        );
        let external = convert(
            &schemas,
            &json!({ "items": { "$ref": "https://evil.example/x" } }),
        );
        assert_eq!(
            external["items"],
            json!({ "description": "It is defined in another document." })
        );
    }

    #[test]
    fn a_schema_is_bounded() {
        let large = |n: usize| {
            let properties: Map<String, Value> = (0..50)
                .map(|p| {
                    (
                        format!("p{p}"),
                        json!({ "$ref": format!("#/components/schemas/S{}", (n * 7 + p) % 400) }),
                    )
                })
                .collect();
            (
                format!("S{n}"),
                json!({ "description": "x".repeat(900), "properties": properties }),
            )
        };
        let schemas: Map<String, Value> = (0..400).map(large).collect();
        let converted = convert(
            &schemas.into(),
            &json!({ "items": { "$ref": "#/components/schemas/S0" } }),
        );
        assert!(converted.to_string().len() <= MAX_BYTES && converted["items"].is_object());
        let deep = (0..100).fold(
            json!({ "type": "string" }),
            |inner, _| json!({ "items": inner }),
        );
        assert!(convert(&json!({}), &deep).to_string().len() < 1000);
    }
}
