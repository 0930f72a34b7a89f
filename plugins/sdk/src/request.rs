//! Requests to a provider: reads, list queries and completions.

use std::borrow::Cow;

pub use crate::bindings::completions::exports::larder::provider::completion_provider::CompletionRequest;
pub use crate::bindings::directories::exports::larder::provider::directory_provider::DirectoryQuery;
pub use crate::bindings::exports::larder::provider::resource_provider::{
    ListQuery as Query, ReadRequest as Request, TemplateMatch, Variable,
};
use crate::{Entry, Error, Result};

impl Request {
    /// Creates a request for tests, without a matching template.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            matched: None,
            known_version: None,
        }
    }

    /// Sets the matching template and its variables.
    pub fn matched(mut self, template: impl Into<String>, variables: &[(&str, &str)]) -> Self {
        let variables = variables
            .iter()
            .map(|(name, value)| Variable::new(*name, *value));
        self.matched = Some(TemplateMatch {
            uri_template: template.into(),
            variables: variables.collect(),
        });
        self
    }

    /// The template that matches the URI, if any.
    pub fn template(&self) -> Option<&str> {
        self.matched
            .as_ref()
            .map(|matched| matched.uri_template.as_str())
    }

    /// The decoded value of a variable of the matched template. The items of a list are joined with commas, as in the
    /// URI. For the single items, see [`vars`](Self::vars).
    ///
    /// Returns [`Error::NotFound`] if no template matched, and [`Error::Invalid`] if the URI has no value for
    /// an optional variable.
    ///
    /// ```
    /// # use larder_provider::{Error, Request};
    /// let request = Request::new("note:7").matched("note:{id}", &[("id", "7")]);
    /// assert_eq!(request.var("id").as_deref(), Ok("7"));
    /// assert_eq!(Request::new("note:7").var("id"), Err(Error::NotFound));
    /// let request = Request::new("note:7,8").matched("note:{id}", &[("id", "7"), ("id", "8")]);
    /// assert_eq!(request.var("id").as_deref(), Ok("7,8"));
    /// ```
    pub fn var(&self, name: &str) -> Result<Cow<'_, str>> {
        if self.matched.is_none() {
            return Err(Error::NotFound);
        }
        let mut values = self.vars(name);
        match (values.next(), values.next()) {
            (None, _) => Err(Error::Invalid(format!("the URI has no value for `{name}`"))),
            (Some(only), None) => Ok(only.into()),
            _ => Ok(self.vars(name).collect::<Vec<_>>().join(",").into()),
        }
    }

    /// The decoded value of a variable that the URI may omit, such as `page` of `{?page}`. The items of a list are joined
    /// as by [`var`](Self::var).
    ///
    /// ```
    /// # use larder_provider::Request;
    /// let request = Request::new("note:7").matched("note:{id}{?page}", &[("id", "7")]);
    /// assert_eq!(request.optional_var("id").as_deref(), Some("7"));
    /// assert_eq!(request.optional_var("page"), None);
    /// ```
    pub fn optional_var(&self, name: &str) -> Option<Cow<'_, str>> {
        self.var(name).ok()
    }

    /// All values of a variable: none if the URI omits it, several if it is a list, as in `red,green` or
    /// `?tag=a&tag=b` (a comma in a value is written as `%2C`).
    pub fn vars<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let variables = self.matched.iter().flat_map(|matched| &matched.variables);
        variables
            .filter(move |variable| variable.name == name)
            .map(|variable| variable.value.as_str())
    }

    /// The keys and values of a map, from a template such as `{?filter*}`.
    ///
    /// ```
    /// # use larder_provider::{Request, Variable};
    /// let mut request = Request::new("note:?tag=a").matched("note:{?filter*}", &[]);
    /// if let Some(matched) = &mut request.matched {
    ///     matched.variables.push(Variable::new("filter", "a").key("tag"));
    /// }
    /// assert_eq!(request.map("filter").collect::<Vec<_>>(), [("tag", "a")]);
    /// ```
    pub fn map<'a>(&'a self, name: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let variables = self.matched.iter().flat_map(|matched| &matched.variables);
        let named = variables.filter(move |variable| variable.name == name);
        named.filter_map(|variable| Some((variable.key.as_deref()?, variable.value.as_str())))
    }

    /// Returns [`Error::NotModified`] if the caller already has this version.
    ///
    /// ```
    /// # use larder_provider::{Error, Request};
    /// let mut request = Request::new("note:7");
    /// assert_eq!(request.unless_known("3"), Ok(()));
    /// request.known_version = Some("3".into());
    /// assert_eq!(request.unless_known("3"), Err(Error::NotModified));
    /// ```
    pub fn unless_known(&self, version: &str) -> Result<()> {
        if self.known_version.as_deref() == Some(version) {
            Err(Error::NotModified)
        } else {
            Ok(())
        }
    }
}

impl Variable {
    /// Creates a variable without a key.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            key: None,
            value: value.into(),
        }
    }

    /// Sets the key within a map.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}

impl Query {
    /// Creates a query for tests: the first page with at most `limit` entries.
    pub fn new(limit: u32) -> Self {
        Self {
            cursor: None,
            limit,
            uri_prefix: None,
            kind: None,
        }
    }

    /// Whether an entry matches the hints of this query.
    pub fn wants(&self, entry: &Entry) -> bool {
        let kind = || {
            entry
                .details
                .as_ref()
                .and_then(|details| details.kind.as_deref())
        };
        self.uri_prefix
            .as_ref()
            .is_none_or(|prefix| entry.uri.starts_with(prefix))
            && self
                .kind
                .as_deref()
                .is_none_or(|expected| kind() == Some(expected))
    }
}

impl CompletionRequest {
    /// The value of another variable that is already filled in.
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.filled
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}
