//! A resource of the API, or a set of resources: its address and its name.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use larder_provider::{Details, Entry, Error, Request, Result, Template, TemplateMatch};
use larder_uri_template::UriTemplate;
use larder_web::{BaseUrl, PathTemplate, query};

use crate::list::List;
use crate::settings;

/// A checked description of a resource.
pub(crate) struct Resource {
    pub(crate) uri: UriTemplate,
    path: PathTemplate,
    /// Names and values, in which `{name}` is a variable.
    query: BTreeMap<String, String>,
    raw: settings::Resource,
    pub(crate) list: Option<List>,
    pub(crate) search: Option<List>,
}

impl Resource {
    /// Checks a description. The error says why the description is invalid.
    pub(crate) fn new(mut raw: settings::Resource) -> Result<Self, String> {
        let uri = UriTemplate::parse(&raw.uri).map_err(|error| format!("`uri`: {error}"))?;
        let path = PathTemplate::parse(&raw.path).map_err(|error| format!("`path`: {error}"))?;
        let known: BTreeSet<&str> = uri.variables().collect();
        let in_query = raw.query.values().flat_map(|value| variables(value));
        if let Some(unknown) = path
            .variables()
            .chain(in_query)
            .find(|name| !known.contains(name))
        {
            return Err(format!("the variable `{unknown}` is not in `uri`"));
        }
        if raw
            .content
            .as_ref()
            .is_some_and(|pointer| !is_pointer(pointer))
        {
            return Err("`content` is not a JSON pointer such as \"/data\"".to_owned());
        }
        if raw
            .search
            .as_ref()
            .is_some_and(|search| search.parameter.is_none())
        {
            return Err("`search` has no `parameter`".to_owned());
        }
        let list = raw
            .list
            .take()
            .map(|list| List::new(list, &uri))
            .transpose();
        let list = list.map_err(|why| format!("`list`: {why}"))?;
        let search = raw
            .search
            .take()
            .map(|search| List::new(search, &uri))
            .transpose();
        let search = search.map_err(|why| format!("`search`: {why}"))?;
        let query = std::mem::take(&mut raw.query);
        Ok(Self {
            uri,
            path,
            query,
            raw,
            list,
            search,
        })
    }

    /// Whether this is one resource instead of a set.
    pub(crate) fn is_single(&self) -> bool {
        self.uri.variables().next().is_none()
    }

    fn name(&self) -> &str {
        self.raw.name.as_deref().unwrap_or(&self.raw.path)
    }

    /// The entry of a single resource.
    pub(crate) fn entry(&self) -> Entry {
        let mut entry =
            Entry::new(self.uri.as_str(), self.name()).details(Details::kind("api-resource"));
        entry.title.clone_from(&self.raw.title);
        entry.description.clone_from(&self.raw.description);
        entry.mime_type.clone_from(&self.raw.mime_type);
        entry
    }

    pub(crate) fn template(&self) -> Template {
        let mut template = Template::new(self.uri.as_str(), self.name());
        template.title.clone_from(&self.raw.title);
        template.description.clone_from(&self.raw.description);
        template.mime_type.clone_from(&self.raw.mime_type);
        template
    }

    pub(crate) fn mime_type(&self) -> Option<&str> {
        self.raw.mime_type.as_deref()
    }

    pub(crate) fn content_pointer(&self) -> Option<&str> {
        self.raw.content.as_deref()
    }

    /// A request for a URI of this resource, as the host would make it; `None` if the URI does not belong to this
    /// resource.
    pub(crate) fn request(&self, uri: &str) -> Option<Request> {
        let found = self.uri.matches(uri)?;
        found.check_safety().ok()?;
        let variables = found
            .variables
            .into_iter()
            .map(|it| larder_provider::Variable {
                name: it.name,
                key: it.key,
                value: it.value,
            });
        let uri_template = self.uri.as_str().to_owned();
        let matched = TemplateMatch {
            uri_template,
            variables: variables.collect(),
        };
        Some(Request {
            matched: Some(matched),
            ..Request::new(uri)
        })
    }

    /// The URL of a resource. Values are encoded, so that they cannot lead to another path.
    pub(crate) fn url(&self, request: &Request, base: &BaseUrl) -> Result<String> {
        let path = self.path.expand(|name| request.var(name))?;
        let mut pairs = Vec::new();
        for (name, value) in &self.query {
            // An optional variable without a value has no parameter.
            if variables(value).all(|name| request.vars(name).next().is_some()) {
                pairs.push((name.as_str(), fill(value, request)?));
            }
        }
        let query = query(pairs.iter().map(|(name, value)| (*name, value.as_ref())));
        base.join(&path, &query)
            .ok_or_else(|| Error::invalid("the URI is too long"))
    }
}

/// The names in `{…}`.
fn variables(text: &str) -> impl Iterator<Item = &str> {
    text.split('{')
        .skip(1)
        .filter_map(|piece| Some(piece.split_once('}')?.0))
}

/// Replaces `{name}` by values.
fn fill<'a>(text: &'a str, request: &Request) -> Result<Cow<'a, str>> {
    if !text.contains('{') {
        return Ok(text.into());
    }
    let mut pieces = text.split('{');
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once('}') {
            Some((name, literal)) => filled += &(request.var(name)?.into_owned() + literal),
            None => filled += &format!("{{{piece}"),
        }
    }
    Ok(filled.into())
}

pub(crate) fn is_pointer(text: &str) -> bool {
    text.is_empty() || text.starts_with('/')
}

/// The URI of an item of a list.
pub(crate) fn item_uri(template: &UriTemplate, values: &[(String, String)]) -> Option<String> {
    let variables: Vec<_> = values
        .iter()
        .map(|(name, value)| larder_uri_template::Variable::new(name, value))
        .collect();
    let uri = template.expand(&variables);
    // A value that cannot be read back has no URI, for example a value with `..`.
    template
        .matches(&uri)
        .filter(|found| found.check_safety().is_ok())?;
    Some(uri)
}

/// A title for an item that has no name.
pub(crate) fn name_of(values: &[(String, String)]) -> String {
    values
        .iter()
        .map(|(_, value)| value.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_of_a_query_are_filled() {
        let request = Request::new("x:").matched("x:{a}", &[("a", "1 {b}")]);
        let check =
            |text: &str, expected: &str| assert_eq!(fill(text, &request).as_deref(), Ok(expected));
        check("plain", "plain");
        check("from {a} to {a}", "from 1 {b} to 1 {b}");
        check("a { b", "a { b");
    }
}
