//! Provides the resources of another MCP server, in either era of the protocol. If the operator grants it, also
//! provides the tools and prompts of that server.

mod exchange;
mod interaction;
mod resources;
mod search;
mod session;
mod settings;

#[cfg(test)]
mod tests;

use larder_provider::{
    Completion, CompletionRequest, Declaration, Description, EntryPage, Error, Hits, Prompts,
    Provider, Query, Reading, Request, Result, SearchQuery, TemplatePage, Tools, warn,
};
use serde_json::{Map, Value, json};

use session::Session;
use settings::Settings;

/// The maximum number of pages of tools and prompts.
const MAX_PAGES: usize = 20;

struct Remote {
    session: Session,
}

larder_provider::export!(Remote: completions, search, settings, tools, prompts);

impl Provider for Remote {
    fn settings() -> Vec<Declaration> {
        Settings::declarations()
    }

    fn new() -> Result<Self> {
        Ok(Self {
            session: Session::new(Settings::read()?),
        })
    }

    fn describe(&self) -> Description {
        let title = self
            .session
            .settings
            .title
            .as_deref()
            .unwrap_or("Remote MCP server");
        Description::new(title)
            .version(env!("CARGO_PKG_VERSION"))
            .summary("the resources of another MCP server")
    }

    fn list(&self, query: &Query) -> Result<EntryPage> {
        let limit = usize::try_from(query.limit).unwrap_or(usize::MAX).max(1);
        let position = Position::parse(query.cursor.as_deref())?;
        let result = self.page("resources/list", position.cursor.as_deref())?;
        let all = items(&result, "resources");
        let rest = all.get(position.offset..).unwrap_or_default();
        let taken = &rest[..rest.len().min(limit)];
        let found: Vec<_> = taken.iter().filter_map(resources::entry).collect();
        if found.len() < taken.len() {
            warn!(
                "{} resources of the list are not valid and were omitted",
                taken.len() - found.len()
            );
        }
        let entries = found
            .into_iter()
            .filter(|entry| query.wants(entry))
            .collect();
        let next = match (taken.len() < rest.len(), next_cursor(&result)) {
            (true, _) => Some(Position {
                offset: position.offset + limit,
                ..position
            }),
            (false, Some(cursor)) => Some(Position {
                cursor: Some(cursor),
                offset: 0,
            }),
            (false, None) => None,
        };
        let freshness = Some(resources::list_freshness(
            &result,
            self.session.settings.ttl,
        ));
        Ok(EntryPage {
            entries,
            next_cursor: next.map(|next| next.text()),
            freshness,
        })
    }

    fn templates(&self, cursor: Option<&str>) -> Result<TemplatePage> {
        let result = self.page("resources/templates/list", cursor)?;
        let templates = items(&result, "resourceTemplates")
            .iter()
            .filter_map(resources::template)
            .collect();
        let freshness = Some(resources::list_freshness(
            &result,
            self.session.settings.ttl,
        ));
        Ok(TemplatePage {
            templates,
            next_cursor: next_cursor(&result),
            freshness,
        })
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        let uri = request.uri.as_str();
        let result = self
            .session
            .request("resources/read", &json!({ "uri": uri }), Some(uri))?;
        let contents = items(&result, "contents");
        if contents.is_empty() {
            return Err(Error::NotFound);
        }
        // The protocol has no versions, so a change is found by comparison, unless the server is another Larder. Its
        // versions are also those of its list.
        let version = resources::version(&result["_meta"])
            .unwrap_or_else(|| provider_support::digest(&result["contents"].to_string()));
        request.unless_known(&version)?;
        let contents: Vec<_> = contents
            .iter()
            .map(resources::content)
            .collect::<Result<_>>()?;
        let freshness = resources::freshness(&result, self.session.settings.ttl);
        Ok(Reading::from(contents)
            .version(version)
            .freshness(freshness))
    }

    fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        let reference = json!({ "type": "ref/resource", "uri": request.uri_template });
        let filled = request
            .filled
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        completion(
            &self.session,
            &reference,
            (&request.variable, &request.prefix),
            filled,
        )
    }

    fn search(&self, query: &SearchQuery) -> Result<Hits> {
        self.hits(query)
    }

    fn tools(&self) -> Result<Tools<Self>> {
        let all = self.all_pages("tools/list", "tools")?;
        Ok(all
            .iter()
            .filter_map(interaction::tool)
            .fold(Tools::new(), Tools::tool))
    }

    fn prompts(&self) -> Result<Prompts<Self>> {
        let all = self.all_pages("prompts/list", "prompts")?;
        Ok(all
            .iter()
            .filter_map(interaction::prompt)
            .fold(Prompts::new(), Prompts::prompt))
    }
}

impl Remote {
    fn page(&self, method: &str, cursor: Option<&str>) -> Result<Value> {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        // A server need not offer resources, tools or prompts.
        Ok(self
            .session
            .request_if_supported(method, &params)?
            .unwrap_or_default())
    }

    fn all_pages(&self, method: &str, key: &str) -> Result<Vec<Value>> {
        let (mut all, mut cursor) = (Vec::new(), None);
        for _ in 0..MAX_PAGES {
            let result = self.page(method, cursor.as_deref())?;
            all.extend_from_slice(items(&result, key));
            cursor = next_cursor(&result);
            if cursor.is_none() {
                return Ok(all);
            }
        }
        Err(Error::Failed(format!(
            "the server has more than {MAX_PAGES} pages of {key}"
        )))
    }
}

/// Requests the values of a variable or of an argument from the server.
fn completion(
    session: &Session,
    reference: &Value,
    (name, prefix): (&str, &str),
    filled: Map<String, Value>,
) -> Result<Completion> {
    let mut params = json!({ "ref": reference, "argument": { "name": name, "value": prefix } });
    if !filled.is_empty() {
        params["context"] = json!({ "arguments": filled });
    }
    let result = session
        .request_if_supported("completion/complete", &params)?
        .unwrap_or_default();
    let found = &result["completion"];
    let values = items(found, "values")
        .iter()
        .filter_map(|value| value.as_str().map(str::to_owned))
        .collect();
    Ok(Completion {
        values,
        total: found["total"].as_u64(),
        more: found["hasMore"] == true,
    })
}

fn items<'a>(result: &'a Value, key: &str) -> &'a [Value] {
    result[key]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn next_cursor(result: &Value) -> Option<String> {
    result["nextCursor"].as_str().map(str::to_owned)
}

/// A position in the list: a page of the server, of which some entries were returned.
#[derive(Debug, Default, PartialEq)]
struct Position {
    cursor: Option<String>,
    offset: usize,
}

impl Position {
    fn parse(text: Option<&str>) -> Result<Self> {
        let Some(text) = text else {
            return Ok(Self::default());
        };
        let parsed = text.split_once(' ').and_then(|(offset, rest)| {
            let cursor = rest.strip_prefix('=').map(str::to_owned);
            (cursor.is_some() || rest.is_empty()).then_some(Self {
                cursor,
                offset: offset.parse().ok()?,
            })
        });
        parsed.ok_or_else(|| Error::invalid("the cursor is not one of this list"))
    }

    fn text(&self) -> String {
        match &self.cursor {
            Some(cursor) => format!("{} ={cursor}", self.offset),
            None => format!("{} ", self.offset),
        }
    }
}
