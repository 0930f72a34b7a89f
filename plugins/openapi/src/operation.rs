//! The operations of a document, and their parameters.

use std::collections::BTreeSet;

use larder_provider::{Error, Result, warn};
use larder_web::PathTemplate;
use serde_json::{Value, json};

use crate::document::{Document, texts};

/// The maximum number of operations, and of parameters of one operation. Further ones are ignored.
const MAX_OPERATIONS: usize = 2000;
const MAX_PARAMETERS: usize = 100;
/// The maximum length of a tool name.
const MAX_NAME: usize = 64;
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];
/// Headers that OpenAPI does not allow as parameters, because other parts of the document describe them.
const RESERVED_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// An operation: a method of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operation {
    /// The name of the operation, which is also valid as the name of a tool. Unique in the document.
    pub(crate) name: String,
    /// In capitals.
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) summary: String,
    pub(crate) description: String,
    pub(crate) tags: Vec<String>,
    pub(crate) is_deprecated: bool,
}

/// A parameter of an operation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// The name of the argument of the tool. It is the name of the parameter, unless two parameters have this name.
    pub(crate) argument: String,
    pub(crate) place: Place,
    pub(crate) is_required: bool,
    pub(crate) description: String,
    pub(crate) schema: Value,
    pub(crate) style: String,
    pub(crate) is_exploded: bool,
    /// Whether the value is sent as JSON.
    pub(crate) is_json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Path,
    Query,
    Header,
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Body {
    pub(crate) argument: &'static str,
    pub(crate) media_type: String,
    pub(crate) is_required: bool,
    pub(crate) description: String,
    pub(crate) schema: Value,
}

/// The inputs of a call of an operation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Inputs {
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Option<Body>,
}

impl Operation {
    /// All operations, in the order of the document's paths.
    pub(crate) fn all(document: &Document) -> Vec<Self> {
        let (mut names, mut found) = (BTreeSet::new(), Vec::new());
        for (path, item) in document.map("/paths") {
            let item = match document.resolve(item) {
                Ok(item) => item,
                Err(error) => {
                    warn!("the path `{}` is omitted: {error}", path.escape_debug());
                    continue;
                }
            };
            for method in METHODS {
                let Some(operation) = item.get(method).filter(|it| it.is_object()) else {
                    continue;
                };
                // One that cannot be followed has a page that says so.
                let operation = document.resolve(operation).unwrap_or(operation);
                if found.len() < MAX_OPERATIONS {
                    let name = unique(tool_name(operation, method, path), &names);
                    names.insert(name.clone());
                    found.push(Self::new(name, method, path, operation));
                }
            }
        }
        found
    }

    fn new(name: String, method: &str, path: &str, value: &Value) -> Self {
        let text = |key: &str| value[key].as_str().unwrap_or_default().trim().to_owned();
        Self {
            name,
            method: method.to_uppercase(),
            path: path.to_owned(),
            summary: text("summary"),
            description: text("description"),
            tags: texts(&value["tags"]),
            is_deprecated: value["deprecated"] == true,
        }
    }

    /// The item of its path, and its own value.
    pub(crate) fn values<'a>(&self, document: &'a Document) -> Result<(&'a Value, &'a Value)> {
        let item = document.root()["paths"]
            .get(&self.path)
            .ok_or(Error::NotFound)?;
        let item = document.resolve(item)?;
        Ok((item, document.resolve(&item[self.method.to_lowercase()])?))
    }

    /// The parameters and the body of the operation. The error says why a tool cannot call the operation.
    pub(crate) fn inputs(&self, document: &Document) -> Result<Inputs> {
        let (item, operation) = self.values(document)?;
        let body = body(document, &operation["requestBody"])?;
        let mut parameters: Vec<Parameter> = Vec::new();
        // A parameter of the operation replaces the parameter of its path with the same name.
        for list in [&operation["parameters"], &item["parameters"]] {
            for value in list.as_array().into_iter().flatten().take(MAX_PARAMETERS) {
                let Some(new) = parameter(document, value)? else {
                    continue;
                };
                if !parameters
                    .iter()
                    .any(|old| (old.place, &old.name) == (new.place, &new.name))
                {
                    parameters.push(new);
                }
            }
        }
        self.add_undeclared(&mut parameters)?;
        name_arguments(&mut parameters, body.as_ref());
        Ok(Inputs { parameters, body })
    }

    /// Variables of the path without a declaration are texts. Declared variables that the path does not have are
    /// removed.
    fn add_undeclared(&self, parameters: &mut Vec<Parameter>) -> Result<()> {
        let template = PathTemplate::parse(&self.path)?;
        parameters.retain(|one| {
            one.place != Place::Path || template.variables().any(|name| name == one.name)
        });
        for name in template.variables() {
            if !parameters
                .iter()
                .any(|one| one.place == Place::Path && one.name == name)
            {
                let schema = json!({ "type": "string" });
                parameters.push(Parameter::new(name, Place::Path, schema));
            }
        }
        Ok(())
    }
}

impl Parameter {
    fn new(name: &str, place: Place, schema: Value) -> Self {
        Self {
            name: name.to_owned(),
            argument: name.to_owned(),
            place,
            is_required: place == Place::Path,
            description: String::new(),
            schema,
            style: String::new(),
            is_exploded: false,
            is_json: false,
        }
    }
}

/// A parameter; `None` if calls do not need the parameter.
fn parameter(document: &Document, value: &Value) -> Result<Option<Parameter>> {
    let value = document.resolve(value)?;
    let name = value["name"].as_str().ok_or("a parameter has no name")?;
    let is_required = value["required"] == true;
    let place = match value["in"].as_str() {
        Some("path") => Place::Path,
        Some("query") => Place::Query,
        Some("header") if RESERVED_HEADERS.contains(&name.to_lowercase().as_str()) => {
            return Ok(None);
        }
        Some("header") => Place::Header,
        _ if is_required => {
            return Err(
                format!("the parameter `{name}` is in a cookie, which is not supported").into(),
            );
        }
        _ => return Ok(None),
    };
    let content = value["content"]
        .as_object()
        .and_then(|content| content.values().next());
    let schema = content.map_or(&value["schema"], |content| &content["schema"]);
    let default_style = if place == Place::Query {
        "form"
    } else {
        "simple"
    };
    let style = value["style"].as_str().unwrap_or(default_style);
    if place == Place::Path && style != "simple" {
        return Err(format!(
            "the parameter `{name}` has the style `{style}`, which is not supported"
        )
        .into());
    }
    // The schema of the value must be known.
    document.resolve(schema)?;
    let mut found = Parameter::new(name, place, schema.clone());
    found.is_required |= is_required;
    found.description = value["description"].as_str().unwrap_or_default().to_owned();
    found.is_exploded = value["explode"].as_bool().unwrap_or(style == "form");
    found.style = style.to_owned();
    found.is_json = content.is_some();
    Ok(Some(found))
}

/// The body with the media type that is the easiest one for models.
fn body(document: &Document, value: &Value) -> Result<Option<Body>> {
    let value = document.resolve(value)?;
    let Some(content) = value["content"]
        .as_object()
        .filter(|content| !content.is_empty())
    else {
        return Ok(None);
    };
    let is_required = value["required"] == true;
    let supported = |name: &&String| {
        let essence = name
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_lowercase();
        let rank = match essence.as_str() {
            "application/json" => 0,
            name if name.ends_with("+json") => 1,
            "application/x-www-form-urlencoded" => 2,
            name if name.starts_with("text/") => 3,
            _ => return None,
        };
        Some((rank, essence))
    };
    let best = content
        .iter()
        .filter_map(|(name, media)| Some((supported(&name)?, media)));
    match best.min_by(|(a, _), (b, _)| a.cmp(b)) {
        Some(((_, media_type), media)) => {
            let schema = &media["schema"];
            document.resolve(schema)?;
            Ok(Some(Body {
                argument: "body",
                media_type,
                is_required,
                description: value["description"].as_str().unwrap_or_default().to_owned(),
                schema: schema.clone(),
            }))
        }
        None if is_required => Err("its body has a media type that is not supported".into()),
        None => Ok(None),
    }
}

/// Parameters that have the same name, or the name of the body, get different arguments.
fn name_arguments(parameters: &mut [Parameter], body: Option<&Body>) {
    let names: Vec<String> = parameters.iter().map(|one| one.name.clone()).collect();
    for one in parameters {
        let is_body = body.is_some_and(|body| body.argument == one.name);
        if is_body || names.iter().filter(|name| **name == one.name).count() > 1 {
            let place = match one.place {
                Place::Path => "path",
                Place::Query => "query",
                Place::Header => "header",
            };
            one.argument = format!("{place}_{}", one.name);
        }
    }
}

/// The operation id, or the method and the path, with the characters that a tool may have.
fn tool_name(operation: &Value, method: &str, path: &str) -> String {
    let id = operation["operationId"]
        .as_str()
        .map(valid_name)
        .filter(|name| !name.is_empty());
    id.unwrap_or_else(|| valid_name(&format!("{method}_{path}")))
}

fn valid_name(text: &str) -> String {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let words = text.split(|c| !is_valid(c)).filter(|word| !word.is_empty());
    let mut name = words.collect::<Vec<_>>().join("_");
    name.truncate(MAX_NAME);
    name
}

fn unique(name: String, names: &BTreeSet<String>) -> String {
    let numbered = |number: usize| {
        let end = format!("_{number}");
        format!("{}{end}", &name[..name.len().min(MAX_NAME - end.len())])
    };
    let mut candidates = std::iter::once(name.clone()).chain((2..).map(numbered));
    candidates
        .find(|candidate| !names.contains(candidate))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(paths: &Value) -> Document {
        let text = json!({ "openapi": "3.0.0", "paths": paths, "components": { "parameters": {
            "Limit": { "name": "limit", "in": "query", "schema": { "type": "integer" } } } } });
        Document::parse(text.to_string().as_bytes()).expect("a document")
    }

    #[test]
    fn names_are_valid_for_tools_and_unique() {
        let operation = |id: &str| json!({ "operationId": id });
        let document = document(&json!({
            "/a": { "get": operation("list things!"), "post": operation("list things!"), "put": {} },
            "/b/{id}": { "get": operation("x".repeat(90).as_str()), "put": operation("x".repeat(90).as_str()), "delete": operation("…") },
            "/c": 3, "/d": { "get": 3, "trace": {} }, "/e": { "$ref": "#/gone" },
        }));
        let names: Vec<_> = Operation::all(&document)
            .into_iter()
            .map(|it| it.name)
            .collect();
        let (long, second) = ("x".repeat(64), format!("{}_2", "x".repeat(62)));
        let expected = [
            "put_a",
            "list_things",
            "list_things_2",
            &long,
            &second,
            "delete_b_id",
        ];
        let (mut names, mut expected) = (names, expected.map(str::to_owned).to_vec());
        names.sort();
        expected.sort();
        assert_eq!(names, expected);
    }

    fn inputs(path: &str, item: Value) -> Result<Inputs, String> {
        let document = document(&json!({ path: item }));
        let [operation] = Operation::all(&document).try_into().expect("one operation");
        operation
            .inputs(&document)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn parameters_are_merged_and_named() {
        let own = json!([{ "name": "id", "in": "query" }, { "$ref": "#/components/parameters/Limit" },
            { "name": "Accept", "in": "header" }, { "name": "c", "in": "cookie" }, { "name": "gone", "in": "path" }]);
        let shared = json!([{ "name": "limit", "in": "query", "required": true }, { "name": "body", "in": "query" }]);
        let body = json!({ "content": { "text/plain": {}, "application/json": { "schema": { "type": "object" } } } });
        let item =
            json!({ "parameters": shared, "post": { "parameters": own, "requestBody": body } });
        let found = inputs("/a/{id}", item).unwrap();
        let names: Vec<_> = found
            .parameters
            .iter()
            .map(|it| (it.argument.as_str(), it.is_required))
            .collect();
        let expected = [
            ("query_id", false),
            ("limit", false),
            ("query_body", false),
            ("path_id", true),
        ];
        assert_eq!(names, expected);
        assert_eq!(
            found.body.map(|body| (body.media_type, body.is_required)),
            Some(("application/json".into(), false))
        );
    }

    #[test]
    fn says_why_an_operation_cannot_be_called() {
        let check = |operation: Value, expected: &str| {
            let actual = inputs("/a", json!({ "post": operation })).unwrap_err();
            assert!(actual.contains(expected), "{actual}");
        };
        check(
            json!({ "parameters": [{ "name": "c", "in": "cookie", "required": true }] }),
            "in a cookie",
        );
        check(
            json!({ "parameters": [{ "$ref": "other.json#/x" }] }),
            "`other.json#/x`, which is not supported",
        );
        check(
            json!({ "requestBody": { "required": true, "content": { "image/png": {} } } }),
            "media type",
        );
        let matrix = json!([{ "name": "id", "in": "path", "style": "matrix" }]);
        assert!(inputs("/a/{id}", json!({ "get": { "parameters": matrix } })).is_err());
        assert!(inputs("/a/../b", json!({ "get": {} })).is_err());
    }
}
