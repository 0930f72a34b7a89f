//! What a provider is: a trait of which only two functions have to be written.

use crate::{
    Completion, CompletionRequest, Description, EntryPage, Query, Reading, Request, Result, TemplateMatch,
    TemplatePage,
};

/// A provider of resources. Write [`new`](Self::new) and [`read`](Self::read), say what there is in
/// [`list`](Self::list) or [`templates`](Self::templates), and export it with [`export!`](crate::export!).
///
/// A value lives as long as its guest, which may be one call: keep what is costly to make, trust
/// nothing to be there later.
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
    /// Makes the provider, before its first call. An error here is the answer to every call.
    fn new() -> Result<Self>;

    /// What this provider is, for people and for the model.
    fn describe(&self) -> Description {
        Description::default()
    }

    /// One page of what there is, sorted by URI. [`paginate`](crate::paginate()) makes pages.
    fn list(&self, query: &Query) -> Result<EntryPage> {
        let _ = query;
        Ok(EntryPage::default())
    }

    /// Families of resources, by RFC 6570 template. A short list needs no pages: `Ok(vec![…].into())`.
    fn templates(&self, cursor: Option<&str>) -> Result<TemplatePage> {
        let _ = cursor;
        Ok(TemplatePage::default())
    }

    /// Those of the templates whose last variable takes slashes as well, so that `file:///{path}` reads
    /// `file:///a/b/c`. They need no claims, and no [`match_uri`](Self::match_uri).
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

    /// Whose template a URI belongs to that is inside the claims of
    /// [`describe`](Self::describe), where matching by RFC 6570 found nothing. Unless written, that of
    /// [`greedy`](Self::greedy).
    fn match_uri(&self, uri: &str) -> Option<TemplateMatch> {
        self.greedy().iter().find_map(|template| TemplateMatch::greedy(template, uri))
    }

    /// What a URI holds. [`Error::NotFound`](crate::Error::NotFound) lets another provider try.
    fn read(&self, request: &Request) -> Result<Reading>;

    /// Suggestions for a variable of a template. Asked only if exported: `export!(T: completions)`.
    fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        let _ = request;
        Ok(Completion::default())
    }

    /// The current version of each URI, in order; none where it names nothing, or where only
    /// [`read`](Self::read) can tell: the host reads those. Asked only if exported:
    /// `export!(T: versions)`. Write it where there is a cheaper way than reading; unless written, it
    /// knows none.
    fn versions(&self, uris: &[String]) -> Result<Vec<Option<String>>> {
        Ok(vec![None; uris.len()])
    }
}
