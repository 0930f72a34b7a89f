//! Lists of the API: their pages, and entries from their items.

use std::collections::BTreeMap;

use larder_provider::http::Response;
use larder_provider::{Details, Entry, Error, Freshness, Result};
use larder_uri_template::UriTemplate;
use larder_web::{Client, PathTemplate, caching, query};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::link_header;
use crate::resource::{is_pointer, item_uri, name_of};
use crate::settings::{self, Paging, Settings};

/// The longest token of a next page.
const MAX_TOKEN: usize = 2000;
/// The maximum length of a description in bytes.
const MAX_DESCRIPTION: usize = 1000;

/// A list of resources of one template.
pub(crate) struct List {
    uri: UriTemplate,
    path: String,
    raw: settings::List,
}

/// A page of a list.
pub(crate) struct Page {
    pub(crate) items: Vec<Value>,
    /// The value that requests the next page.
    pub(crate) next: Option<String>,
    pub(crate) freshness: Option<Freshness>,
}

impl List {
    /// Checks the description of a list of this template.
    pub(crate) fn new(raw: settings::List, uri: &UriTemplate) -> Result<Self, String> {
        let path = PathTemplate::parse(&raw.path).map_err(|error| format!("`path`: {error}"))?;
        let path =
            path.expand(|name| Err(Error::invalid(format!("`path` has the variable `{name}`"))));
        let path = path.map_err(|error| error.to_string())?;
        if let Some(missing) = uri
            .variables()
            .find(|name| !raw.variables.contains_key(*name))
        {
            return Err(format!("`variables` has no `{missing}`"));
        }
        if let Some(unknown) = raw
            .variables
            .keys()
            .find(|name| uri.variables().all(|known| known != *name))
        {
            return Err(format!(
                "`variables` has `{unknown}`, which is not in `uri`"
            ));
        }
        if let Some(wrong) = pointers(&raw).find(|pointer| !is_pointer(pointer)) {
            return Err(format!("`{wrong}` is not a JSON pointer such as \"/data\""));
        }
        Ok(Self {
            uri: uri.clone(),
            path,
            raw,
        })
    }

    /// Gets a page: the first page, or the page after a token. `text` is the text of a search.
    pub(crate) fn page(
        &self,
        token: Option<&str>,
        text: &str,
        settings: &Settings,
    ) -> Result<Page> {
        let url = self.url(token, text, &settings.client)?;
        let response = settings.client.get_kept(&url, None)?;
        let freshness = caching::freshness(&response, settings.ttl);
        let link = response
            .header("link")
            .and_then(link_header::next)
            .map(str::to_owned);
        let mut body = parse(response)?;
        let number = token.and_then(|token| token.parse::<u64>().ok());
        let next = self
            .next(&body, link.as_deref(), number)?
            .filter(|next| Some(next.as_str()) != token);
        let Some(Value::Array(items)) = body.pointer_mut(&self.raw.items).map(Value::take) else {
            let pointer = &self.raw.items;
            return Err(Error::Failed(format!(
                "the response of `{}` has no list at `{pointer}`",
                self.path
            )));
        };
        Ok(Page {
            items,
            next,
            freshness,
        })
    }

    fn url(&self, token: Option<&str>, text: &str, client: &Client) -> Result<String> {
        let mut pairs: BTreeMap<String, String> = BTreeMap::new();
        match (&self.raw.paging, token) {
            (Paging::Link, Some(token)) => pairs.extend(decode_query(token)),
            (Paging::Page { parameter, .. }, Some(number)) if number.parse::<u64>().is_ok() => {
                pairs.insert(parameter.clone(), number.to_owned());
            }
            (
                Paging::Page {
                    parameter, first, ..
                },
                None,
            ) => {
                pairs.insert(parameter.clone(), first.to_string());
            }
            (Paging::Cursor { parameter, .. }, Some(token)) => {
                pairs.insert(parameter.clone(), token.to_owned());
            }
            (_, None) => {}
            _ => return Err(Error::invalid("the cursor is invalid")),
        }
        // The values that the operator configured take precedence over values that the API, or a client, put into a
        // token.
        pairs.extend(self.raw.query.clone());
        if let Some(parameter) = &self.raw.parameter {
            pairs.insert(parameter.clone(), text.to_owned());
        }
        if let Some((name, _)) = &client.credentials.query {
            pairs.remove(name);
        }
        let query = query(
            pairs
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        );
        client
            .base
            .join(&self.path, &query)
            .ok_or_else(|| Error::invalid("the cursor is too long"))
    }

    /// The value that requests the page after this page.
    fn next(
        &self,
        body: &Value,
        link: Option<&str>,
        number: Option<u64>,
    ) -> Result<Option<String>> {
        let next = match &self.raw.paging {
            Paging::None => None,
            // Only the query counts: a cursor comes back from clients, and must not lead to another path.
            Paging::Link => {
                link.and_then(|link| Some(link.split_once('?')?.1.split('#').next()?.to_owned()))
            }
            Paging::Page { first, size, .. } => {
                let items = body
                    .pointer(&self.raw.items)
                    .and_then(Value::as_array)
                    .map_or(0, Vec::len);
                let is_last = items == 0 || size.is_some_and(|size| items < size);
                (!is_last).then(|| number.unwrap_or(*first).saturating_add(1).to_string())
            }
            Paging::Cursor { next, .. } => body
                .pointer(next)
                .and_then(text)
                .filter(|next| !next.is_empty()),
        };
        match next {
            Some(next) if next.len() > MAX_TOKEN => {
                Err("the address of the next page is too long".into())
            }
            next => Ok(next),
        }
    }

    /// The entry of an item; `None` if a variable has no value.
    pub(crate) fn entry(&self, item: &Value, mime_type: Option<&str>) -> Option<Entry> {
        let values = self.values(item)?;
        let find = |pointer: &Option<String>| {
            pointer
                .as_ref()
                .and_then(|pointer| text(item.pointer(pointer)?))
        };
        let name = find(&self.raw.name).unwrap_or_else(|| name_of(&values));
        let mut details = Details::kind("api-resource");
        details.last_modified = find(&self.raw.last_modified);
        let mut entry = Entry::new(self.item_uri(&values)?, name).details(details);
        entry.title = find(&self.raw.title);
        entry.description = find(&self.raw.description).map(shorten);
        entry.mime_type = mime_type.map(str::to_owned);
        Some(entry)
    }

    /// The URI of an item with these values; `None` if the host would refuse the URI.
    pub(crate) fn item_uri(&self, values: &[(String, String)]) -> Option<String> {
        item_uri(&self.uri, values)
    }

    /// The values of the variables, in the order of their names.
    pub(crate) fn values(&self, item: &Value) -> Option<Vec<(String, String)>> {
        let value = |(name, source): (&String, &String)| {
            let value = match source.starts_with('/') {
                true => text(item.pointer(source)?)?,
                false => source.clone(),
            };
            (!value.is_empty()).then(|| (name.clone(), value))
        };
        self.raw.variables.iter().map(value).collect()
    }
}

fn pointers(list: &settings::List) -> impl Iterator<Item = &String> {
    let cursor = match &list.paging {
        Paging::Cursor { next, .. } => Some(next),
        _ => None,
    };
    let optional = [
        &list.name,
        &list.title,
        &list.description,
        &list.last_modified,
    ];
    optional
        .into_iter()
        .flatten()
        .chain([&list.items])
        .chain(cursor)
}

fn parse(response: Response) -> Result<Value> {
    let invalid = |error| Error::Failed(format!("the response is not JSON: {error}"));
    serde_json::from_slice(&response.body).map_err(invalid)
}

/// A scalar as text.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(yes) => Some(yes.to_string()),
        _ => None,
    }
}

fn shorten(mut text: String) -> String {
    if text.len() > MAX_DESCRIPTION {
        text.truncate(text.floor_char_boundary(MAX_DESCRIPTION));
        text.push('…');
    }
    text
}

/// The decoded pairs of a query.
fn decode_query(query: &str) -> impl Iterator<Item = (String, String)> + '_ {
    let decode = |text: &str| {
        percent_decode_str(&text.replace('+', " "))
            .decode_utf8_lossy()
            .into_owned()
    };
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(move |pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        })
}
