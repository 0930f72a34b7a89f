//! Provides an OpenAPI document: an overview, operations and schemas as Markdown and as JSON, and, where tools are
//! granted, each operation as a tool. The author of the document may be hostile.

mod call;
mod document;
mod files;
mod markdown;
mod operation;
mod schema;
mod settings;
mod source;
#[cfg(test)]
mod tests;
mod tools;

use std::cell::OnceCell;
use std::rc::Rc;

use larder_provider::{
    Completion, CompletionRequest, Content, Declaration, Description, Details, Entry, EntryPage,
    Error, Freshness, Hit, Hits, Provider, Query, Reading, Request, Result, SearchQuery, Template,
    TemplatePage, Tools, paginate,
};
use larder_web::Credentials;
use serde_json::{Value, json};

use document::{Document, components};
use markdown::{Pages, line};
use operation::Operation;
use settings::Settings;
use source::Source;

/// The maximum number of components in a resource.
const MAX_COMPONENTS: usize = 300;

struct OpenApi {
    settings: Settings,
    api: OnceCell<Result<Rc<Api>>>,
}

/// A loaded document.
pub(crate) struct Api {
    pub(crate) document: Document,
    pub(crate) operations: Vec<Operation>,
    version: String,
    freshness: Option<Freshness>,
}

larder_provider::export!(OpenApi: completions, versions, tools, search, settings);

impl Provider for OpenApi {
    fn settings() -> Vec<Declaration> {
        Settings::declarations()
            .into_iter()
            .chain(Credentials::declarations())
            .collect()
    }

    fn new() -> Result<Self> {
        Ok(Self {
            settings: Settings::read()?,
            api: OnceCell::new(),
        })
    }

    fn describe(&self) -> Description {
        let about = Description::new("OpenAPI")
            .version(env!("CARGO_PKG_VERSION"))
            .claim(&self.settings.prefix);
        let prefix = &self.settings.prefix;
        about.summary("The operations and schemas of a web API.").instructions(format!(
            "Read {prefix} for an overview of the API, and the page of an operation before you use it."
        ))
    }

    fn list(&self, query: &Query) -> Result<EntryPage> {
        let api = self.api()?;
        let mut entries = self.entries(&api);
        entries.sort_unstable_by(|a, b| a.uri.cmp(&b.uri));
        let page = paginate(entries, query);
        Ok(EntryPage {
            freshness: api.freshness,
            ..page
        })
    }

    fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
        let template = |path: &str, name: &str, mime: &str| {
            Template::new(format!("{}{path}", self.settings.prefix), name).mime(mime)
        };
        Ok(vec![
            template("operations/{operation}", "an operation", "text/markdown"),
            template(
                "operations/{operation}/json",
                "an operation with its components",
                "application/json",
            ),
            template("schemas/{schema}", "a schema", "text/markdown"),
            template(
                "schemas/{schema}/json",
                "a schema with its components",
                "application/json",
            ),
        ]
        .into())
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        let path = request.template().unwrap_or(&request.uri);
        let path = path
            .strip_prefix(&self.settings.prefix)
            .ok_or(Error::NotFound)?;
        let api = self.api()?;
        let content = self.content(&api, path, request)?;
        request.unless_known(&api.version)?;
        let freshness = api.freshness;
        Ok(Reading {
            freshness,
            ..Reading::from(content).version(&api.version)
        })
    }

    fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        let api = self.api()?;
        let mut names: Vec<&str> = match request.variable.as_str() {
            "operation" => api
                .operations
                .iter()
                .map(|operation| operation.name.as_str())
                .collect(),
            "schema" => api
                .document
                .map("/components/schemas")
                .map(|(name, _)| name.as_str())
                .collect(),
            _ => return Err(Error::NotFound),
        };
        names.sort_unstable();
        Ok(Completion::matching(names, &request.prefix))
    }

    fn versions(&self, uris: &[String]) -> Result<Vec<Option<String>>> {
        let version = source::version(&self.settings);
        let is_ours = |uri: &String| uri.starts_with(&self.settings.prefix);
        Ok(uris
            .iter()
            .map(|uri| version.clone().filter(|_| is_ours(uri)))
            .collect())
    }

    fn tools(&self) -> Result<Tools<Self>> {
        let api = self.api()?;
        let tools = tools::all(&api, &self.settings);
        let tools = tools.into_iter().fold(Tools::new(), Tools::tool);
        Ok(match api.freshness {
            Some(freshness) => tools.freshness(freshness),
            None => tools,
        })
    }

    fn search(&self, query: &SearchQuery) -> Result<Hits> {
        let api = self.api()?;
        let words: Vec<String> = query
            .text
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        let mut found: Vec<(usize, Entry)> = Vec::new();
        for entry in self.entries(&api) {
            let (name, title) = (
                entry.name.to_lowercase(),
                entry.title.as_deref().unwrap_or_default().to_lowercase(),
            );
            let text = entry
                .description
                .as_deref()
                .unwrap_or_default()
                .to_lowercase();
            let rank = |word: &String| {
                // A name says more than a title, and a title more than a description.
                4 * usize::from(name.contains(word))
                    + 2 * usize::from(title.contains(word))
                    + usize::from(text.contains(word))
            };
            let ranks: Vec<usize> = words.iter().map(rank).collect();
            if !ranks.is_empty() && ranks.iter().all(|rank| *rank > 0) {
                found.push((ranks.iter().sum(), entry));
            }
        }
        found.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
        let hits = found.into_iter().map(|(_, entry)| {
            let excerpt = entry.description.clone();
            Hit {
                excerpt,
                ..Hit::new(entry)
            }
        });
        let hits = query.take(hits);
        Ok(Hits {
            freshness: api.freshness,
            ..hits
        })
    }
}

impl OpenApi {
    /// The document. The first method that needs it loads it.
    fn api(&self) -> Result<Rc<Api>> {
        let load = || {
            let source = source::load(&self.settings)?;
            let operations = Operation::all(&source.document);
            let Source {
                document,
                version,
                freshness,
            } = source;
            Ok(Rc::new(Api {
                document,
                operations,
                version,
                freshness,
            }))
        };
        self.api.get_or_init(load).clone()
    }

    fn pages<'a>(&'a self, api: &'a Api) -> Pages<'a> {
        Pages {
            document: &api.document,
            prefix: &self.settings.prefix,
        }
    }

    fn entries(&self, api: &Api) -> Vec<Entry> {
        let pages = self.pages(api);
        let title = api.document.root()["info"]["title"]
            .as_str()
            .map_or("API".to_owned(), line);
        let prefix = &self.settings.prefix;
        let mut entries = vec![
            Entry::new(prefix, "overview")
                .title(title)
                .mime("text/markdown")
                .details(Details::kind("openapi-overview")),
            Entry::new(format!("{prefix}document.json"), "document")
                .mime("application/json")
                .details(Details::kind("openapi-document")),
        ];
        entries.extend(api.operations.iter().map(|operation| {
            let title = format!("{} {}", operation.method, line(&operation.path));
            let text = format!("{} {}", operation.summary, operation.description);
            let entry = Entry::new(pages.operation_uri(operation), &operation.name).title(title);
            entry
                .description(line(&text))
                .mime("text/markdown")
                .details(Details::kind("openapi-operation"))
        }));
        entries.extend(
            api.document
                .map("/components/schemas")
                .map(|(name, schema)| {
                    let entry =
                        Entry::new(pages.schema_uri(name), line(name)).mime("text/markdown");
                    let entry =
                        entry.description(line(schema["description"].as_str().unwrap_or_default()));
                    entry.details(Details::kind("openapi-schema"))
                }),
        );
        entries
            .into_iter()
            .map(|entry| entry.version(&api.version))
            .collect()
    }

    fn content(&self, api: &Api, path: &str, request: &Request) -> Result<Content> {
        let operation = || {
            let name = request.var("operation")?;
            api.operations
                .iter()
                .find(|operation| operation.name == name)
                .ok_or(Error::NotFound)
        };
        let schema = || {
            let name = request.var("schema")?.into_owned();
            let mut schemas = api.document.map("/components/schemas");
            schemas
                .find(|(other, _)| **other == name)
                .ok_or(Error::NotFound)
        };
        let pages = self.pages(api);
        let markdown = |text: String| Content::text(text).mime("text/markdown");
        Ok(match path {
            "" => markdown(pages.overview(&api.operations)),
            "document.json" => json_content(api.document.root()),
            "operations/{operation}" => markdown(pages.operation(operation()?)),
            "operations/{operation}/json" => json_content(&self_contained(api, operation()?)?),
            "schemas/{schema}" => {
                schema().map(|(name, schema)| markdown(pages.schema(name, schema)))?
            }
            "schemas/{schema}/json" => {
                let (name, schema) = schema()?;
                let used = components(&api.document, schema, MAX_COMPONENTS);
                json_content(&json!({ "name": name, "schema": schema, "components": used }))
            }
            _ => return Err(Error::NotFound),
        })
    }
}

/// An operation together with all components to which it refers.
fn self_contained(api: &Api, operation: &Operation) -> Result<Value> {
    let (item, value) = operation.values(&api.document)?;
    let shared = json!({ "shared": item["parameters"], "own": value });
    let used: serde_json::Map<String, Value> = components(&api.document, &shared, MAX_COMPONENTS)
        .into_iter()
        .map(|(name, it)| (name, it.clone()))
        .collect();
    Ok(json!({
        "method": operation.method, "path": operation.path, "operation": value,
        "parameters": item["parameters"], "components": used,
    }))
}

fn json_content(value: &Value) -> Content {
    Content::text(format!("{value:#}")).mime("application/json")
}
