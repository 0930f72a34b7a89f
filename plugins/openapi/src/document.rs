//! A parsed OpenAPI document, in JSON or YAML. Its author may be hostile: size, depth and references are bounded.

use std::collections::BTreeMap;

use larder_provider::{Error, Result};
use serde_json::{Map, Value};

use crate::files::FILES_POINTER;

/// The maximum number of references that lead to one value.
const MAX_REFERENCES: usize = 16;
/// The maximum depth of a YAML document. The maximum depth of a JSON document is 128.
const MAX_DEPTH: usize = 100;
/// The maximum number of YAML events, and of the events that come from aliases.
const MAX_EVENTS: usize = 500_000;
const MAX_ALIAS_EVENTS: usize = 100_000;

/// The content of an OpenAPI document, with the files that it refers to.
#[derive(Debug)]
pub(crate) struct Document {
    root: Value,
    /// The references that could not be followed, and why.
    unread: BTreeMap<String, String>,
}

impl Document {
    /// Parses a document that is in one piece.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        Self::new(parse(bytes)?, BTreeMap::new())
    }

    /// Checks the version of a document. The document already contains the files to which it refers.
    pub(crate) fn new(root: Value, unread: BTreeMap<String, String>) -> Result<Self> {
        let version = root["openapi"].as_str().unwrap_or_default();
        match (version.starts_with("3."), root["swagger"].as_str()) {
            (true, _) if root.is_object() => Ok(Self { root, unread }),
            (_, Some(old)) => Err(format!(
                "the document has version {old} of Swagger: convert it to OpenAPI 3"
            )
            .into()),
            _ => Err("the document is not one of OpenAPI 3: it has no `openapi: 3.…`".into()),
        }
    }

    /// The whole document.
    pub(crate) fn root(&self) -> &Value {
        &self.root
    }

    /// The value at a JSON pointer.
    pub(crate) fn pointer(&self, pointer: &str) -> Option<&Value> {
        self.root.pointer(pointer)
    }

    /// The objects of a map of the document, such as `/components/schemas`.
    pub(crate) fn map(&self, pointer: &str) -> impl Iterator<Item = (&String, &Value)> {
        self.root
            .pointer(pointer)
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::iter)
    }

    /// Follows references to the value itself.
    pub(crate) fn resolve<'a>(&'a self, mut value: &'a Value) -> Result<&'a Value> {
        for _ in 0..MAX_REFERENCES {
            let Some(reference) = value.get("$ref").and_then(Value::as_str) else {
                return Ok(value);
            };
            value = self.target(reference)?;
        }
        Err(Error::Failed(
            "a reference of the document leads to itself".to_owned(),
        ))
    }

    /// Why a reference to another document has no value.
    fn not_followed(&self, reference: &str) -> Error {
        let other = quote(reference);
        Error::Failed(match self.unread.get(reference) {
            Some(why) => format!("the document refers to {other}, which cannot be read: {why}"),
            None => format!(
                "the document refers to another one, {other}, which is not supported: bundle both into one file"
            ),
        })
    }

    /// The value that a reference names.
    fn target(&self, reference: &str) -> Result<&Value> {
        let pointer = local_pointer(reference).ok_or_else(|| self.not_followed(reference))?;
        let missing = || {
            Error::Failed(format!(
                "the document refers to {}, which it does not contain",
                quote(reference)
            ))
        };
        self.root.pointer(&pointer).ok_or_else(missing)
    }
}

/// Parses JSON or YAML.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value> {
    let text = str::from_utf8(bytes).map_err(|_| "the document is not UTF-8")?;
    let text = text.trim_start_matches('\u{feff}');
    match text.trim_start().starts_with('{') {
        true => serde_json::from_str(text)
            .map_err(|error| Error::Failed(format!("the document is not valid: {error}"))),
        false => yaml(text),
    }
}

/// The JSON pointer of a reference within the document; `None` if it refers to another document.
pub(crate) fn local_pointer(reference: &str) -> Option<String> {
    let pointer = reference.strip_prefix('#')?;
    let decoded = larder_web::decode(pointer)?;
    (decoded.is_empty() || decoded.starts_with('/')).then_some(decoded)
}

/// A text of the document in a message.
pub(crate) fn quote(text: &str) -> String {
    let short: String = text.chars().take(80).collect();
    format!("`{}`", short.escape_debug())
}

/// Parses YAML. In an enumeration, values such as `no` or `1.10` are only texts if they are in quotes, as in YAML 1.2.
fn yaml(text: &str) -> Result<Value> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            max_events: MAX_EVENTS,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_ALIAS_EVENTS,
        },
        strict_booleans: true,
        with_snippet: false,
    };
    let parsed: Result<Value, _> = serde_saphyr::from_str_with_options(text, options);
    parsed.map_err(|error| {
        Error::Failed(format!(
            "the document is not valid: {}",
            quote(&error.to_string())
        ))
    })
}

/// The texts of a list.
pub(crate) fn texts(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The components to which a value refers, directly or through other components, by their pointers. At most `max`.
pub(crate) fn components<'a>(
    document: &'a Document,
    value: &'a Value,
    max: usize,
) -> BTreeMap<String, &'a Value> {
    let (mut found, mut next) = (BTreeMap::new(), vec![value]);
    while let Some(value) = next.pop() {
        match value {
            Value::Array(items) => next.extend(items),
            Value::Object(map) => next.extend(map.values()),
            _ => continue,
        }
        let pointer = value
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(local_pointer);
        let Some(pointer) =
            pointer.filter(|pointer| !found.contains_key(pointer) && found.len() < max)
        else {
            continue;
        };
        if let Some(target) = document
            .pointer(&pointer)
            .filter(|_| is_component(&pointer))
        {
            found.insert(pointer, target);
            next.push(target);
        }
    }
    found
}

fn is_component(pointer: &str) -> bool {
    pointer.starts_with("/components/") || pointer.starts_with(FILES_POINTER)
}

/// The last name in a pointer; of a whole file, its name without extension.
pub(crate) fn name_of(pointer: &str) -> String {
    let last = pointer.rsplit('/').next().unwrap_or_default();
    let last = last.replace("~1", "/").replace("~0", "~");
    let is_file = pointer
        .strip_prefix(FILES_POINTER)
        .is_some_and(|rest| !rest.contains('/'));
    let name = last
        .rsplit('/')
        .next()
        .filter(|_| is_file)
        .and_then(|file| file.rsplit_once('.'));
    name.map_or(last.clone(), |(stem, _)| stem.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Document::parse(text.as_bytes())
            .map(|_| String::new())
            .unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn yaml_and_json_are_the_same() {
        let yaml = "openapi: 3.1.0\npaths:\n  /a:\n    get:\n      responses:\n        200: { description: no }\n        \
                    default: &x\n          description: 2020-01-01\n        4XX: *x\n";
        let json = r#"{ "openapi": "3.1.0", "paths": { "/a": { "get": { "responses": { "200": { "description": "no" },
            "default": { "description": "2020-01-01" }, "4XX": { "description": "2020-01-01" } } } } } }"#;
        let parse = |text: &str| Document::parse(text.as_bytes()).map(|document| document.root);
        assert_eq!(parse(yaml), parse(json));
        assert!(parse(json).is_ok());
    }

    #[test]
    fn says_what_is_not_supported() {
        let check = |text: &str, expected: &str| {
            assert!(error(text).contains(expected), "{text}: {}", error(text))
        };
        check("swagger: '2.0'", "version 2.0 of Swagger");
        check("hello", "not one of OpenAPI 3");
        check("[]", "not one of OpenAPI 3");
        check("{", "the document is not valid");
        check("a: [", "the document is not valid");
        check("{\"openapi\": \"3.0.0\"", "the document is not valid");
    }

    #[test]
    fn hostile_documents_are_refused() {
        let deep = format!(
            "openapi: 3.0.0\nx: {}{}",
            "[".repeat(5000),
            "]".repeat(5000)
        );
        assert!(error(&deep).contains("not valid"), "{}", error(&deep));
        let deep = format!("{{\"openapi\":\"3.0.0\",\"x\":{}", "[".repeat(100_000));
        assert!(error(&deep).contains("not valid"));
        // Each line is ten times as large as the line before it.
        let lines = (1..12).map(|n| {
            format!(
                "a{n}: &a{n} [{}]\n",
                vec![format!("*a{}", n - 1); 10].join(", ")
            )
        });
        let bomb = format!(
            "openapi: 3.0.0\na0: &a0 [x, x]\n{}",
            lines.collect::<String>()
        );
        assert!(error(&bomb).contains("not valid"), "{}", error(&bomb));
    }

    #[test]
    fn references_stay_in_the_document() {
        let root = serde_json::json!({ "openapi": "3.0.0",
            "a": { "$ref": "#/b~1c/0" }, "b/c": [1], "x": { "$ref": "#/y" }, "y": { "$ref": "#/x" },
            "e": { "$ref": "https://evil.example/x.json" }, "m": { "$ref": "#/gone" }, "p": { "$ref": "#/b~1c%2F0" },
        });
        let document = Document::new(root, BTreeMap::new()).expect("a document");
        let resolve = |name: &str| {
            document
                .resolve(&document.root[name])
                .map_err(|error| error.to_string())
        };
        assert_eq!((resolve("a"), resolve("p")), (Ok(&1.into()), Ok(&1.into())));
        assert_eq!(
            resolve("x"),
            Err("a reference of the document leads to itself".into())
        );
        assert!(resolve("e").is_err_and(|error| {
            error.contains("`https://evil.example/x.json`, which is not supported")
        }));
        assert!(
            resolve("m").is_err_and(|error| error.contains("`#/gone`, which it does not contain"))
        );
    }
}
