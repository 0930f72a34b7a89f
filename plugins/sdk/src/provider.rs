//! The `Provider` trait.

use crate::{
    Completion, CompletionRequest, Description, DirectoryQuery, EntryPage, Error, Query, Reading,
    Request, Result, TemplateMatch, TemplatePage,
};

/// A provider of resources. Only [`new`](Self::new) and [`read`](Self::read) are required. Resources are
/// announced with [`list`](Self::list) or [`templates`](Self::templates). Export the provider with
/// [`export!`](crate::export!).
///
/// The value exists as long as its guest, which may be only one call. It can cache values that are expensive
/// to compute, but must not rely on them in a later call.
///
/// ```
/// use larder_provider::{Content, Entry, EntryPage, Error, Provider, Query, Reading, Request, Result, paginate};
///
/// struct Haiku;
///
/// impl Provider for Haiku {
///     fn new() -> Result<Self> {
///         Ok(Haiku)
///     }
///
///     fn list(&self, query: &Query) -> Result<EntryPage> {
///         Ok(paginate([Entry::new("haiku:pond", "The old pond").mime("text/plain")], query))
///     }
///
///     fn read(&self, request: &Request) -> Result<Reading> {
///         match request.uri.as_str() {
///             "haiku:pond" => Ok(Content::text("An old silent pond…").mime("text/plain").into()),
///             _ => Err(Error::NotFound),
///         }
///     }
/// }
///
/// larder_provider::export!(Haiku);
/// # fn main() {}
/// ```
pub trait Provider: Sized + 'static {
    /// Creates the provider before its first call. If this returns an error, every call returns the error.
    fn new() -> Result<Self>;

    /// Describes this provider for people and for the model.
    fn describe(&self) -> Description {
        Description::default()
    }

    /// Returns one page of the list of resources, sorted by URI. See [`paginate`](crate::paginate()).
    fn list(&self, query: &Query) -> Result<EntryPage> {
        let _ = query;
        Ok(EntryPage::default())
    }

    /// Returns the RFC 6570 templates of this provider. A short list needs no pages: `Ok(vec![…].into())`.
    fn templates(&self, cursor: Option<&str>) -> Result<TemplatePage> {
        let _ = cursor;
        Ok(TemplatePage::default())
    }

    /// Returns the templates whose last variable also matches slashes, so that `file:///{path}` matches
    /// `file:///a/b/c`. They need no claims and no [`match_uri`](Self::match_uri).
    ///
    /// ```
    /// # use larder_provider::{Content, Provider, Reading, Request, Result, Template, TemplatePage};
    /// # struct Files;
    /// # impl Provider for Files {
    /// #     fn new() -> Result<Self> { Ok(Self) }
    /// fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
    ///     Ok(vec![Template::new("file:///{path}", "a file")].into())
    /// }
    ///
    /// fn greedy(&self) -> Vec<&str> {
    ///     vec!["file:///{path}"]
    /// }
    ///
    /// fn read(&self, request: &Request) -> Result<Reading> {
    ///     Ok(Content::text(request.var("path")?).into())
    /// }
    /// # }
    /// ```
    fn greedy(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Matches a URI to a template. Called only for URIs within the claims of [`describe`](Self::describe)
    /// that no template matches by the rules of RFC 6570. The default matches the templates of
    /// [`greedy`](Self::greedy).
    fn match_uri(&self, uri: &str) -> Option<TemplateMatch> {
        self.greedy()
            .iter()
            .find_map(|template| TemplateMatch::greedy(template, uri))
    }

    /// Reads a resource. After [`Error::NotFound`](crate::Error::NotFound), the host tries other providers.
    fn read(&self, request: &Request) -> Result<Reading>;

    /// Returns one page of the children of a folder, sorted by URI. The URI of a child that is a folder ends with a slash,
    /// and its media type is `inode/directory`. Called only if exported: `export!(T: directories)`. Implement it if the
    /// provider has more resources than its [`list`](Self::list) should have; otherwise the host knows the folders from
    /// the list.
    fn list_directory(&self, query: &DirectoryQuery) -> Result<EntryPage> {
        let _ = query;
        Err(Error::NotFound)
    }

    /// Suggests values for a variable of a template. Called only if exported: `export!(T: completions)`.
    fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        let _ = request;
        Ok(Completion::default())
    }

    /// Returns the current version of each URI, in order; `None` if the resource does not exist or its
    /// version is known only after a [`read`](Self::read), which the host then makes. Called only if
    /// exported: `export!(T: versions)`. Implement it if versions are cheaper than reads. The default returns
    /// no versions.
    fn versions(&self, uris: &[String]) -> Result<Vec<Option<String>>> {
        Ok(vec![None; uris.len()])
    }

    /// Returns the functions that a model may call; see [`Tool`](crate::Tool). The tools are offered only if the
    /// operator grants them. Called only if exported: `export!(T: tools)`. Needs the feature `interactive`.
    #[cfg(feature = "interactive")]
    fn tools(&self) -> Result<crate::Tools<Self>> {
        Ok(crate::Tools::new())
    }

    /// Returns the prompts that a user may select; see [`Prompt`](crate::Prompt). The prompts are offered only if the
    /// operator grants them. Called only if exported: `export!(T: prompts)`. Needs the feature `interactive`.
    #[cfg(feature = "interactive")]
    fn prompts(&self) -> Result<crate::Prompts<Self>> {
        Ok(crate::Prompts::new())
    }

    /// Searches in the content of this provider, in any way. The host merges the hits of all providers by rank.
    /// Called only if exported: `export!(T: search)`. Needs the feature `interactive`.
    ///
    /// ```
    /// # use larder_provider::{Entry, Error, Hit, Hits, Provider, Reading, Request, Result, SearchQuery};
    /// # struct Notes { notes: Vec<(Entry, String)> }
    /// # impl Provider for Notes {
    /// #     fn new() -> Result<Self> { Ok(Self { notes: Vec::new() }) }
    /// #     fn read(&self, _: &Request) -> Result<Reading> { Err(Error::NotFound) }
    /// fn search(&self, query: &SearchQuery) -> Result<Hits> {
    ///     let found = self.notes.iter().filter_map(|(entry, text)| {
    ///         let line = text.lines().find(|line| line.contains(&query.text))?;
    ///         Some(Hit::new(entry.clone()).excerpt(line))
    ///     });
    ///     Ok(query.take(found))
    /// }
    /// # }
    /// ```
    #[cfg(feature = "interactive")]
    fn search(&self, query: &crate::SearchQuery) -> Result<crate::Hits> {
        let _ = query;
        Ok(crate::Hits::default())
    }

    /// Returns the settings that this provider supports; see [`Setting`](crate::Setting). The host checks the
    /// configuration with them, before it creates a provider. Called only if exported: `export!(T: settings)`. Needs
    /// the feature `interactive`.
    #[cfg(feature = "interactive")]
    fn settings() -> Vec<crate::Declaration> {
        Vec::new()
    }
}
