//! Search: by the method of Larder, by a tool that the operator names, or else in the list of the server.

use std::time::Instant;

use larder_provider::{Entry, Freshness, Hit, Hits, Result, Scope, SearchQuery};
use provider_support::ranking::Ranking;
use serde_json::{Value, json};

use crate::{Remote, items, next_cursor, resources};

/// The method of Larder that searches, and its largest page.
const METHOD: &str = "dev.larder/search";
const MAX_RESULTS: u32 = 100;
/// The key in the metadata of the server's results with the names of missing providers, and the maximum length of the
/// text about it.
const INCOMPLETE: &str = "dev.larder/incomplete";
const MAX_REASON: usize = 500;
/// The most pages and entries of the list that are compared for one search.
const MAX_PAGES: usize = 10;
const MAX_ENTRIES: usize = 5_000;

impl Remote {
    pub(crate) fn hits(&self, query: &SearchQuery) -> Result<Hits> {
        if let Some(hits) = self.by_method(query)? {
            return Ok(hits);
        }
        match self.session.settings.search_tool.as_deref() {
            Some(tool) => self.by_tool(tool, query),
            None => self.by_list(query),
        }
    }

    /// Uses the search of another Larder; `None` if the server is not a Larder.
    fn by_method(&self, query: &SearchQuery) -> Result<Option<Hits>> {
        let mut params = json!({ "query": query.text, "limit": query.limit.clamp(1, MAX_RESULTS) });
        for (key, value) in [("uriPrefix", &query.uri_prefix), ("kind", &query.kind)] {
            if let Some(value) = value {
                params[key] = json!(value);
            }
        }
        let Some(result) = self.session.request_if_known(METHOD, &params)? else {
            return Ok(None);
        };
        let hits = items(&result, "results")
            .iter()
            .filter_map(|value| hit(value, resources::entry(value)?));
        let freshness = resources::freshness(&result, self.session.settings.ttl);
        marked(query.take(hits).freshness(freshness), missing(&result)).map(Some)
    }

    /// Calls a tool with the text, and uses the resources in its result. The host omits resources that this provider
    /// does not offer.
    fn by_tool(&self, tool: &str, query: &SearchQuery) -> Result<Hits> {
        let params = json!({ "name": tool, "arguments": { "query": query.text } });
        let result = self.session.request("tools/call", &params, Some(tool))?;
        let content = items(&result, "content");
        let texts = content.iter().filter_map(|block| block["text"].as_str());
        if result["isError"] == true {
            let message: String = texts
                .collect::<Vec<_>>()
                .join(" ")
                .chars()
                .take(500)
                .collect();
            return Err(format!("the tool `{tool}` fails: {message}").into());
        }
        // Older servers have the structured result only as text.
        let structured = result
            .get("structuredContent")
            .cloned()
            .or_else(|| texts.clone().find_map(parse));
        let results = structured.iter().flat_map(|value| items(value, "results"));
        let found = results.filter_map(|value| hit(value, found(value)?));
        let links = content
            .iter()
            .filter(|block| block["type"] == "resource_link");
        let links = links.filter_map(resources::entry).map(Hit::new);
        marked(query.take(found.chain(links)), missing(&result))
    }

    /// Ranks the entries of the list until the time is over.
    fn by_list(&self, query: &SearchQuery) -> Result<Hits> {
        let (mut ranking, mut found, mut seen) = (Ranking::new(&query.text), Vec::new(), 0);
        let (end, mut cursor, mut scope) = (query.end(), None, Scope::Everyone);
        let mut why = None;
        for number in 1.. {
            let result = match self.page("resources/list", cursor.as_deref()) {
                Err(error) if !found.is_empty() => {
                    why = Some(error.to_string());
                    break;
                }
                result => result?,
            };
            if resources::freshness(&result, self.session.settings.ttl).scope == Scope::Caller {
                scope = Scope::Caller;
            }
            for entry in items(&result, "resources")
                .iter()
                .filter_map(resources::entry)
            {
                seen += 1;
                if query.wants(&entry) && rank(&mut ranking, found.len(), &entry) {
                    found.push(entry);
                }
            }
            cursor = next_cursor(&result);
            if cursor.is_none() {
                break;
            }
            if number == MAX_PAGES || seen >= MAX_ENTRIES || Instant::now() >= end {
                why = Some("only the beginning of the list was compared".to_owned());
                break;
            }
        }
        let best = ranking.best().into_iter().filter_map(|number| {
            let entry = found.get(number)?.clone();
            let excerpt = entry
                .description
                .as_deref()
                .and_then(|text| ranking.excerpt(text));
            Some(Hit {
                excerpt,
                ..Hit::new(entry)
            })
        });
        let freshness = Freshness {
            scope,
            ..Freshness::everyone(self.session.settings.ttl)
        };
        marked(query.take(best).freshness(freshness), why)
    }
}

/// Notes that hits are missing, if there is a reason.
fn marked(hits: Hits, why: Option<String>) -> Result<Hits> {
    match why {
        Some(why) => hits.incomplete(&why),
        None => Ok(hits),
    }
}

/// Why another Larder says that results are missing.
fn missing(result: &Value) -> Option<String> {
    let names: Vec<_> = items(&result["_meta"], INCOMPLETE)
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let why = format!(
        "the other server does not have all results of {}",
        names.join(", ")
    );
    (!names.is_empty()).then(|| why.chars().take(MAX_REASON).collect())
}

fn rank(ranking: &mut Ranking, number: usize, entry: &Entry) -> bool {
    let title = entry.title.as_deref().unwrap_or_default();
    let heading = format!("{} {title} {}", entry.name, entry.uri);
    ranking.add(
        number,
        &heading,
        entry.description.as_deref().unwrap_or_default(),
    )
}

fn parse(text: &str) -> Option<Value> {
    serde_json::from_str::<Value>(text)
        .ok()
        .filter(Value::is_object)
}

fn hit(value: &Value, entry: Entry) -> Option<Hit> {
    let excerpt = ["excerpt", "snippet", "text"]
        .iter()
        .find_map(|key| value[key].as_str());
    Some(Hit {
        excerpt: excerpt.map(str::to_owned),
        ..Hit::new(entry)
    })
}

/// The entry of a result of a tool: a resource, or an item in the form of research connectors.
fn found(value: &Value) -> Option<Entry> {
    resources::entry(value).or_else(|| {
        let mut uris = ["uri", "id", "url"]
            .iter()
            .filter_map(|key| value[key].as_str());
        let uri = uris.find(|uri| uri.contains(':'))?;
        let name = ["name", "title"].iter().find_map(|key| value[key].as_str());
        Some(Entry::new(uri, name.unwrap_or(uri)))
    })
}
