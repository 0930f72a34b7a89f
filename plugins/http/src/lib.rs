//! Provides the resources of a web API that settings describe. Values of clients cannot lead to another host or path,
//! and credentials are sent only to the host of the API.

mod link_header;
mod list;
mod position;
mod resource;
mod search;
mod settings;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use larder_provider::{
    Completion, CompletionRequest, Content, Declaration, Description, Entry, EntryPage, Error,
    Freshness, Hits, Provider, Query, Reading, Request, Result, Scope, SearchQuery, TemplatePage,
    time_left, warn,
};
use larder_web::caching;
use serde_json::Value;

use list::{List, Page};
use position::Position;
use resource::Resource;
use settings::Settings;

/// The maximum number of requests for one page of a list.
const MAX_REQUESTS: usize = 4;
/// The maximum number of values of a completion.
const MAX_SUGGESTIONS: usize = 100;

struct Api {
    settings: Settings,
    resources: Vec<Resource>,
}

larder_provider::export!(Api: completions, versions, search, settings);

impl Provider for Api {
    fn settings() -> Vec<Declaration> {
        Settings::declarations()
    }

    fn new() -> Result<Self> {
        let mut settings = Settings::read()?;
        let mut resources: Vec<Resource> = Vec::new();
        for raw in std::mem::take(&mut settings.resources) {
            let uri = raw.uri.clone();
            let invalid = |why| Error::Failed(format!("the setting `resources`: `{uri}`: {why}"));
            let resource = Resource::new(raw).map_err(invalid)?;
            if resources.iter().any(|other| other.uri == resource.uri) {
                return Err(invalid("it is there twice".to_owned()));
            }
            resources.push(resource);
        }
        resources.sort_by(|a, b| a.uri.as_str().cmp(b.uri.as_str()));
        Ok(Self {
            settings,
            resources,
        })
    }

    fn describe(&self) -> Description {
        let mut about = Description::new(&self.settings.title).version(env!("CARGO_PKG_VERSION"));
        about.summary.clone_from(&self.settings.summary);
        about.instructions.clone_from(&self.settings.instructions);
        about
    }

    fn list(&self, query: &Query) -> Result<EntryPage> {
        let mut position = Position::parse(query.cursor.as_deref())?;
        let limit = usize::try_from(query.limit).unwrap_or(usize::MAX).max(1);
        let mut page = self.single_page(query, &mut position, limit);
        if page.next_cursor.is_some() {
            return Ok(page);
        }
        let lists: Vec<_> = self.lists().collect();
        let mut failure = None;
        for _ in 0..MAX_REQUESTS {
            let Some((resource, list)) = lists.get(position.list - 1) else {
                break;
            };
            if page.entries.len() >= limit
                || (time_left() < self.settings.client.timeout && !page.entries.is_empty())
            {
                break;
            }
            let found = match list.page(position.token.as_deref(), "", &self.settings) {
                Ok(found) => found,
                // The cursor of a client may have been changed.
                Err(error @ Error::Invalid(_)) if position.token.is_some() => return Err(error),
                // A list that fails takes away only itself.
                Err(error) => {
                    warn!(
                        "the list of `{}` is omitted: {error}",
                        resource.uri.as_str()
                    );
                    failure.get_or_insert(error);
                    position = position.next_list();
                    continue;
                }
            };
            page.freshness = earlier(page.freshness, found.freshness, page.entries.is_empty());
            let (entries, next) = take(resource, list, found, position, limit - page.entries.len());
            page.entries
                .extend(entries.into_iter().filter(|entry| query.wants(entry)));
            position = next;
        }
        page.next_cursor = lists.get(position.list - 1).map(|_| position.cursor());
        let is_empty =
            page.entries.is_empty() && page.next_cursor.is_none() && query.cursor.is_none();
        failure.filter(|_| is_empty).map_or(Ok(page), Err)
    }

    fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
        let sets = self
            .resources
            .iter()
            .filter(|resource| !resource.is_single());
        Ok(sets.map(Resource::template).collect::<Vec<_>>().into())
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        let template = request.template().unwrap_or(&request.uri);
        let resource = self.find(template).ok_or(Error::NotFound)?;
        let single = Request::new(&request.uri).matched(template, &[]);
        let url = resource.url(
            if resource.is_single() {
                &single
            } else {
                request
            },
            &self.settings.client.base,
        )?;
        let response = self
            .settings
            .client
            .get_kept(&url, request.known_version.as_deref())?;
        let (version, freshness) = (
            caching::version(&response),
            caching::freshness(&response, self.settings.ttl),
        );
        if let Some(version) = &version {
            request.unless_known(version)?;
        }
        let content = match resource.content_pointer() {
            Some(pointer) => json_part(&response.body, pointer, resource.mime_type())?,
            None => larder_web::content(response, resource.mime_type()),
        };
        Ok(Reading {
            version,
            freshness,
            ..Reading::from(content)
        })
    }

    fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        let resource = self.find(&request.uri_template).ok_or(Error::NotFound)?;
        let Some(list) = &resource.list else {
            return Ok(Completion::default());
        };
        let (mut token, mut values, mut more) = (None, BTreeSet::new(), true);
        for _ in 0..MAX_REQUESTS {
            let page = list.page(token.as_deref(), "", &self.settings)?;
            values.extend(
                page.items
                    .iter()
                    .filter_map(|item| suggestion(list, item, request)),
            );
            token = page.next;
            more = token.is_some();
            if !more || values.len() > MAX_SUGGESTIONS {
                break;
            }
        }
        let mut completion = Completion::matching(values, &request.prefix);
        if more {
            (completion.total, completion.more) = (None, true);
        }
        Ok(completion)
    }

    fn versions(&self, uris: &[String]) -> Result<Vec<Option<String>>> {
        let base = &self.settings.client.base;
        let url = |uri: &String| {
            let requests = self
                .resources
                .iter()
                .filter_map(|resource| Some((resource, resource.request(uri)?)));
            let (resource, request) =
                requests.max_by_key(|(resource, _)| resource.uri.specificity())?;
            resource.url(&request, base).ok()
        };
        let urls: Vec<Option<String>> = uris.iter().map(url).collect();
        let known: Vec<String> = urls.iter().flatten().cloned().collect();
        let mut responses = self.settings.client.heads(&known).into_iter();
        let version = |url: Option<String>| caching::version(&url.and_then(|_| responses.next()?)?);
        Ok(urls.into_iter().map(version).collect())
    }

    fn search(&self, query: &SearchQuery) -> Result<Hits> {
        self.hits(query)
    }
}

impl Api {
    fn find(&self, template: &str) -> Option<&Resource> {
        self.resources
            .iter()
            .find(|resource| resource.uri.as_str() == template)
    }

    fn lists(&self) -> impl Iterator<Item = (&Resource, &List)> {
        self.resources
            .iter()
            .filter_map(|resource| Some((resource, resource.list.as_ref()?)))
    }

    /// The page with the single resources from a position on. If there are more of them, the page has a cursor.
    /// Otherwise the position becomes the position of the first list.
    fn single_page(&self, query: &Query, position: &mut Position, limit: usize) -> EntryPage {
        let mut page = EntryPage::default();
        if position.list > 0 {
            return page;
        }
        let mut rest = self.single_entries(query).into_iter().skip(position.offset);
        page.entries = rest.by_ref().take(limit).collect();
        page.freshness = Some(Freshness::everyone(self.settings.ttl));
        if rest.next().is_some() {
            page.next_cursor = Some(
                Position {
                    offset: position.offset + limit,
                    ..position.clone()
                }
                .cursor(),
            );
        } else {
            *position = position.next_list();
        }
        page
    }

    fn single_entries(&self, query: &Query) -> Vec<Entry> {
        let single = self
            .resources
            .iter()
            .filter(|resource| resource.is_single())
            .map(Resource::entry);
        single.filter(|entry| query.wants(entry)).collect()
    }
}

/// The freshness of a page with entries of two responses. `None` means that one of them must not be cached.
fn earlier(one: Option<Freshness>, other: Option<Freshness>, is_first: bool) -> Option<Freshness> {
    if is_first {
        return other;
    }
    let (one, other) = (one?, other?);
    let scope = if one.scope == Scope::Caller {
        one.scope
    } else {
        other.scope
    };
    Some(Freshness {
        ttl_ms: one.ttl_ms.min(other.ttl_ms),
        scope,
    })
}

/// The entries of a page of the API, up to a limit, and the position after them.
fn take(
    resource: &Resource,
    list: &List,
    page: Page,
    position: Position,
    limit: usize,
) -> (Vec<Entry>, Position) {
    let rest = page.items.get(position.offset..).unwrap_or_default();
    let taken = &rest[..rest.len().min(limit)];
    let entries: Vec<_> = taken
        .iter()
        .filter_map(|item| list.entry(item, resource.mime_type()))
        .collect();
    if entries.len() < taken.len() {
        let count = taken.len() - entries.len();
        let uri = resource.uri.as_str();
        warn!(
            "{uri}: {count} items of the list were omitted: a value is missing, or cannot be in a path \
             (write `{{+name}}` or `{{?name}}` for values with a slash)"
        );
    }
    let next = if taken.len() < rest.len() {
        Position {
            offset: position.offset + taken.len(),
            ..position
        }
    } else if page.next.is_some() {
        Position {
            offset: 0,
            token: page.next,
            ..position
        }
    } else {
        position.next_list()
    };
    (entries, next)
}

/// The value of the completed variable in an item that matches the variables that are already filled in.
fn suggestion(list: &List, item: &Value, request: &CompletionRequest) -> Option<String> {
    let values = list.values(item)?;
    let fits = values
        .iter()
        .all(|(name, value)| request.filled(name).is_none_or(|filled| filled == value));
    // A value that cannot be in the URI is not suggested.
    list.item_uri(&values)?;
    let value = values
        .into_iter()
        .find(|(name, _)| *name == request.variable)?
        .1;
    (fits && value.starts_with(&request.prefix)).then_some(value)
}

/// A part of a JSON response. If the operator gave a text a media type, the text is returned without quotes.
fn json_part(body: &[u8], pointer: &str, mime_type: Option<&str>) -> Result<Content> {
    let body: Value = serde_json::from_slice(body)
        .map_err(|error| format!("the response is not JSON: {error}"))?;
    let part = body
        .pointer(pointer)
        .ok_or_else(|| format!("the response has nothing at `{pointer}`"))?;
    Ok(match (part, mime_type) {
        (Value::String(text), Some(mime)) if mime != "application/json" => {
            Content::text(text).mime(mime)
        }
        (part, mime) => Content::text(format!("{part:#}")).mime(mime.unwrap_or("application/json")),
    })
}
