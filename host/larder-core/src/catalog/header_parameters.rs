//! Arguments of tools that clients also send as HTTP headers, so that proxies can route by them: the properties of
//! an input schema with the keyword `x-mcp-header`.

use http::HeaderName;
use serde_json::{Map, Value};

/// The keyword in the schema. Its value is the end of the name of the header.
const KEYWORD: &str = "x-mcp-header";
/// Types whose values each have exactly one text.
const TYPES: [&str; 3] = ["string", "integer", "boolean"];

/// An argument that clients also send as a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderParameter {
    /// The name of the header, such as `mcp-param-region`.
    pub header: HeaderName,
    /// The keys that lead to the argument.
    path: Vec<String>,
}

impl HeaderParameter {
    /// Returns the header parameters of a schema. Fails if a parameter violates the protocol, because clients then
    /// reject the tool.
    pub(crate) fn all(schema: &Value) -> Result<Vec<Self>, String> {
        let mut found = Vec::new();
        collect(schema, &mut Vec::new(), &mut found)?;
        Ok(found)
    }

    /// Returns the value in the arguments of a call. Null counts as missing.
    pub fn value<'a>(&self, arguments: &'a Value) -> Option<&'a Value> {
        let value = self
            .path
            .iter()
            .try_fold(arguments, |value, key| value.get(key))?;
        (!value.is_null()).then_some(value)
    }
}

/// Finds the keyword in properties, and in the properties of properties.
fn collect(
    schema: &Value,
    path: &mut Vec<String>,
    found: &mut Vec<HeaderParameter>,
) -> Result<(), String> {
    for (key, property) in properties(schema) {
        path.push(key.clone());
        if let Some(suffix) = property.get(KEYWORD) {
            let header = header_name(suffix, property)
                .map_err(|why| format!("`{KEYWORD}` of `{key}` {why}"))?;
            if found.iter().any(|other| other.header == header) {
                return Err(format!("two properties have the header `{header}`"));
            }
            found.push(HeaderParameter {
                header,
                path: path.clone(),
            });
        }
        collect(property, path, found)?;
        path.pop();
    }
    Ok(())
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flat_map(Map::iter)
}

fn header_name(suffix: &Value, property: &Value) -> Result<HeaderName, &'static str> {
    let suffix = suffix
        .as_str()
        .filter(|suffix| !suffix.is_empty())
        .ok_or("is not a text, or is empty")?;
    if !has_type_with_text(property) {
        return Err("needs the type string, integer or boolean");
    }
    let name = format!("mcp-param-{suffix}");
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| "contains a character that no header name can have")
}

fn has_type_with_text(property: &Value) -> bool {
    let name = property["type"].as_str();
    name.is_some_and(|name| TYPES.contains(&name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_nested_properties() {
        let region = json!({ "type": "string", "x-mcp-header": "Region" });
        let limit = json!({ "type": "integer", "x-mcp-header": "limit" });
        let filter = json!({ "type": "object", "properties": { "limit": limit } });
        let schema = json!({ "properties": { "region": region, "filter": filter, "x": true } });
        let found = HeaderParameter::all(&schema).unwrap();
        let arguments = json!({ "region": null, "filter": { "limit": 3 } });
        let mut values: Vec<_> = found
            .iter()
            .map(|it| (it.header.as_str(), it.value(&arguments)))
            .collect();
        values.sort_by_key(|(header, _)| *header);
        assert_eq!(
            values,
            [
                ("mcp-param-limit", Some(&json!(3))),
                ("mcp-param-region", None)
            ]
        );
    }

    #[test]
    fn rejects_what_clients_reject() {
        let check = |properties: Value, expected: &str| {
            let error = HeaderParameter::all(&json!({ "properties": properties })).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        let text = |suffix: Value| json!({ "a": { "type": "string", "x-mcp-header": suffix } });
        check(text(json!("")), "is empty");
        check(text(json!(1)), "is not a text");
        for suffix in ["My Region", "Region:Primary", "Région", "Region\t1"] {
            check(text(json!(suffix)), "character");
        }
        for kind in ["number", "object", "array", "null"] {
            check(
                json!({ "a": { "type": kind, "x-mcp-header": "A" } }),
                "needs the type",
            );
        }
        let a = text(json!("A"))["a"].clone();
        let b = text(json!("a"))["a"].clone();
        check(
            json!({ "a": a, "b": b }),
            "two properties have the header `mcp-param-a`",
        );
    }
}
