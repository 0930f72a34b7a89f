//! The document, its operations and its schemas as Markdown.

use std::fmt::Write as _;

use larder_web::encode_value;
use serde_json::{Map, Value};

use crate::document::{Document, local_pointer, name_of, quote, texts};
use crate::files::FILES_POINTER;
use crate::operation::{Inputs, Operation, Place};

/// The maximum depth of the outline of a schema, and its maximum number of lines.
const MAX_DEPTH: usize = 4;
const MAX_LINES: usize = 400;
/// The maximum number of operations in the overview.
const MAX_LISTED: usize = 1000;

/// Writes pages with links to each other.
pub(crate) struct Pages<'a> {
    pub(crate) document: &'a Document,
    /// `openapi://NAME/`.
    pub(crate) prefix: &'a str,
}

impl Pages<'_> {
    /// The title, the servers, and all operations by tag.
    pub(crate) fn overview(&self, operations: &[Operation]) -> String {
        let info = &self.document.root()["info"];
        let mut page = format!("# {}\n", line(info["title"].as_str().unwrap_or("API")));
        if let Some(version) = info["version"].as_str() {
            _ = writeln!(page, "\nVersion: {}", line(version));
        }
        if let Some(description) = info["description"].as_str() {
            _ = writeln!(page, "\n{}", description.trim());
        }
        let servers = self.document.root()["servers"]
            .as_array()
            .into_iter()
            .flatten();
        for server in servers.filter_map(|server| server["url"].as_str()).take(20) {
            _ = write!(page, "\nServer: {}\n", quote(server));
        }
        let mut by_tag: Vec<(&str, Vec<&Operation>)> = Vec::new();
        for operation in operations.iter().take(MAX_LISTED) {
            let tag = operation.tags.first().map_or("Operations", String::as_str);
            match by_tag.iter_mut().find(|(name, _)| *name == tag) {
                Some((_, list)) => list.push(operation),
                None => by_tag.push((tag, vec![operation])),
            }
        }
        for (tag, operations) in by_tag {
            _ = writeln!(page, "\n## {}\n", line(tag));
            for operation in operations {
                let (uri, method, path) = (
                    self.operation_uri(operation),
                    &operation.method,
                    line(&operation.path),
                );
                _ = writeln!(
                    page,
                    "- [{method} {path}]({uri}): {}",
                    line(&operation.summary)
                );
            }
        }
        if operations.len() > MAX_LISTED {
            _ = writeln!(
                page,
                "\n… and {} more operations",
                operations.len() - MAX_LISTED
            );
        }
        page
    }

    /// What an operation does, what it needs, and what it returns.
    pub(crate) fn operation(&self, operation: &Operation) -> String {
        // An operation in a file that cannot be read has a page too. The page says that the file cannot be read.
        let value = operation
            .values(self.document)
            .map_or(&Value::Null, |(_, value)| value);
        let mut page = format!("# {} {}\n", operation.method, line(&operation.path));
        if operation.is_deprecated {
            page.push_str("\nThis operation is deprecated.\n");
        }
        for text in [&operation.summary, &operation.description]
            .into_iter()
            .filter(|text| !text.is_empty())
        {
            _ = writeln!(page, "\n{text}");
        }
        match operation.inputs(self.document) {
            Ok(inputs) => {
                _ = writeln!(page, "\nTool: `{}`", operation.name);
                self.inputs(&mut page, &inputs);
            }
            Err(error) => _ = writeln!(page, "\nNo tool can call this operation: {error}."),
        }
        let responses = value["responses"].as_object();
        for (index, (status, response)) in responses.into_iter().flatten().take(50).enumerate() {
            if index == 0 {
                page.push_str("\n## Responses\n");
            }
            self.response(&mut page, status, response);
        }
        page
    }

    /// The outline of a schema.
    pub(crate) fn schema(&self, name: &str, schema: &Value) -> String {
        let mut page = format!("# {}\n", line(name));
        if let Some(description) = schema["description"].as_str() {
            _ = writeln!(page, "\n{}", description.trim());
        }
        _ = writeln!(page, "\nType: {}\n", self.type_name(schema));
        let mut lines = Vec::new();
        self.outline(schema, 0, &mut lines);
        page + &lines.join("\n") + "\n"
    }

    fn inputs(&self, page: &mut String, inputs: &Inputs) {
        if !inputs.parameters.is_empty() {
            page.push_str(
                "\n## Parameters\n\n| name | in | required | type | description |\n|---|---|---|---|---|\n",
            );
        }
        for one in &inputs.parameters {
            let place = match one.place {
                Place::Path => "path",
                Place::Query => "query",
                Place::Header => "header",
            };
            let (name, kind, text) = (
                cell(&one.name),
                self.type_name(&one.schema),
                cell(&one.description),
            );
            let required = if one.is_required { "yes" } else { "" };
            _ = writeln!(
                page,
                "| `{name}` | {place} | {required} | {kind} | {text} |"
            );
        }
        if let Some(body) = &inputs.body {
            let required = if body.is_required { ", required" } else { "" };
            _ = writeln!(
                page,
                "\n## Body\n\n{} ({}{required})",
                self.type_name(&body.schema),
                line(&body.media_type)
            );
            if !body.description.is_empty() {
                _ = writeln!(page, "\n{}", body.description.trim());
            }
            self.outline_into(page, &body.schema);
        }
    }

    fn response(&self, page: &mut String, status: &str, response: &Value) {
        let Ok(response) = self.document.resolve(response) else {
            return;
        };
        let description = line(response["description"].as_str().unwrap_or_default());
        _ = writeln!(page, "\n### {}\n\n{description}", line(status));
        for (media_type, media) in response["content"]
            .as_object()
            .into_iter()
            .flatten()
            .take(10)
        {
            _ = writeln!(
                page,
                "\n{} ({})",
                self.type_name(&media["schema"]),
                line(media_type)
            );
            self.outline_into(page, &media["schema"]);
        }
    }

    fn outline_into(&self, page: &mut String, schema: &Value) {
        let mut lines = Vec::new();
        self.outline(schema, 0, &mut lines);
        if !lines.is_empty() {
            _ = writeln!(page, "\n{}", lines.join("\n"));
        }
    }

    /// The properties of a schema as a nested list. References are links, so that the outline ends.
    fn outline(&self, schema: &Value, depth: usize, lines: &mut Vec<String>) {
        let inner = if schema["items"].is_object() {
            &schema["items"]
        } else {
            schema
        };
        let empty = Map::new();
        let required = texts(&inner["required"]);
        for (name, property) in inner["properties"].as_object().unwrap_or(&empty) {
            if lines.len() >= MAX_LINES || depth >= MAX_DEPTH {
                return;
            }
            let needed = if required.contains(name) {
                ", required"
            } else {
                ""
            };
            let description = property["description"]
                .as_str()
                .map(|text| format!(": {}", line(text)));
            let kind = self.type_name(property);
            let indent = "  ".repeat(depth);
            lines.push(format!(
                "{indent}- `{}` ({kind}{needed}){}",
                line(name),
                description.unwrap_or_default()
            ));
            self.outline(property, depth + 1, lines);
        }
        for part in ["allOf", "oneOf", "anyOf"]
            .iter()
            .filter_map(|key| inner[key].as_array())
            .flatten()
        {
            if depth < MAX_DEPTH {
                self.outline(part, depth + 1, lines);
            }
        }
    }

    /// The type of a schema in a few words. If the type has a page, the text has a link to the page.
    fn type_name(&self, schema: &Value) -> String {
        if let Some(reference) = schema["$ref"].as_str() {
            let pointer = local_pointer(reference);
            let pointer = pointer.as_deref().unwrap_or_default();
            if let Some(name) = pointer.strip_prefix("/components/schemas/") {
                return format!("[{}]({})", line(name), self.schema_uri(name));
            }
            let is_in_file = pointer.starts_with(FILES_POINTER);
            return if is_in_file {
                quote(&name_of(pointer))
            } else {
                quote(reference)
            };
        }
        if schema["items"].is_object() && schema["items"].get("items").is_none() {
            return format!("list of {}", self.type_name(&schema["items"]));
        }
        let several = ["allOf", "oneOf", "anyOf"]
            .iter()
            .find_map(|key| Some((key, schema[key].as_array()?)));
        if let Some((key, parts)) = several {
            let word = if *key == "allOf" { " and " } else { " or " };
            let names: Vec<_> = parts
                .iter()
                .take(8)
                .map(|part| self.plain_type(part))
                .collect();
            return names.join(word);
        }
        self.plain_type(schema)
    }

    /// The type of a schema without its parts.
    fn plain_type(&self, schema: &Value) -> String {
        if schema["$ref"].is_string() {
            return self.type_name(schema);
        }
        let kind = match &schema["type"] {
            Value::String(kind) => line(kind),
            Value::Array(_) => line(&texts(&schema["type"]).join(" or ")),
            _ => "any".to_owned(),
        };
        let format = schema["format"]
            .as_str()
            .map(|format| format!(" ({})", line(format)))
            .unwrap_or_default();
        let values: Vec<String> = schema["enum"]
            .as_array()
            .into_iter()
            .flatten()
            .take(20)
            .map(Value::to_string)
            .collect();
        match values.is_empty() {
            true => kind + &format,
            false => cell(&values.join(", ")),
        }
    }

    pub(crate) fn operation_uri(&self, operation: &Operation) -> String {
        format!("{}operations/{}", self.prefix, operation.name)
    }

    pub(crate) fn schema_uri(&self, name: &str) -> String {
        format!("{}schemas/{}", self.prefix, encode_value(name))
    }
}

/// A text of the document in one line. The text cannot begin a heading or a list.
pub(crate) fn line(text: &str) -> String {
    let short: String = text.chars().take(500).collect();
    short.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    line(text).replace('|', "\\|")
}
