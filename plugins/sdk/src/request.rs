//! What is asked: reads with their variables, queries with their hints.

pub use crate::bindings::completions::exports::larder::provider::completion_provider::CompletionRequest;
pub use crate::bindings::exports::larder::provider::resource_provider::{
    ListQuery as Query, ReadRequest as Request, TemplateMatch,
};
use crate::{Entry, Error, Result};

impl Request {
    /// A request as a test would make it: for this URI, matched by nothing.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), matched: None, known_version: None }
    }

    /// The same request, matched by a template.
    pub fn matched(mut self, template: impl Into<String>, variables: &[(&str, &str)]) -> Self {
        let variables = variables.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        self.matched = Some(TemplateMatch { uri_template: template.into(), variables: variables.collect() });
        self
    }

    /// The template that the URI belongs to, if any.
    pub fn template(&self) -> Option<&str> {
        self.matched.as_ref().map(|matched| matched.uri_template.as_str())
    }

    /// The decoded value of a variable of the matched template.
    ///
    /// A URI that no template matched is not found; a variable that the template may leave out, and
    /// the URI does, is an invalid request.
    ///
    /// ```
    /// # use larder_provider::{Error, Request};
    /// let request = Request::new("note:7").matched("note:{id}", &[("id", "7")]);
    /// assert_eq!(request.var("id"), Ok("7"));
    /// assert_eq!(Request::new("note:7").var("id"), Err(Error::NotFound));
    /// ```
    pub fn var(&self, name: &str) -> Result<&str> {
        if self.matched.is_none() {
            return Err(Error::NotFound);
        }
        let missing = || Error::Invalid(format!("the URI has no value for `{name}`"));
        self.vars(name).next().ok_or_else(missing)
    }

    /// All values of a variable: none where the URI leaves it out, several where the template has
    /// `{name*}`.
    pub fn vars<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let variables = self.matched.iter().flat_map(|matched| &matched.variables);
        variables.filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Ends the read with [`Error::NotModified`] where the caller already holds this version.
    ///
    /// ```
    /// # use larder_provider::{Error, Request};
    /// let mut request = Request::new("note:7");
    /// assert_eq!(request.unless_known("3"), Ok(()));
    /// request.known_version = Some("3".into());
    /// assert_eq!(request.unless_known("3"), Err(Error::NotModified));
    /// ```
    pub fn unless_known(&self, version: &str) -> Result<()> {
        if self.known_version.as_deref() == Some(version) { Err(Error::NotModified) } else { Ok(()) }
    }
}

impl Query {
    /// A query as a test would make it: the first page, of at most `limit`.
    pub fn new(limit: u32) -> Self {
        Self { cursor: None, limit, uri_prefix: None, kind: None }
    }

    /// Whether the hints of this query want such an entry.
    pub fn wants(&self, entry: &Entry) -> bool {
        let kind = || entry.details.as_ref().and_then(|details| details.kind.as_deref());
        self.uri_prefix.as_ref().is_none_or(|prefix| entry.uri.starts_with(prefix))
            && self.kind.as_deref().is_none_or(|wanted| kind() == Some(wanted))
    }
}

impl CompletionRequest {
    /// The value of a variable that is already filled in.
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.filled.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}
