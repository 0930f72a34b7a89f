//! @NAME@: a provider of greetings. Put your own resources in their place.

use larder_provider::{
    Content, Description, Entry, EntryPage, Error, Provider, Query, Reading, Request, Result, Template,
    TemplatePage, paginate, setting,
};

// The URIs are yours to choose; clients see them as they are written here.
const HELLO: &str = "@NAME@://hello";
const HELLO_WHO: &str = "@NAME@://hello/{who}";

struct Greetings {
    greeting: String,
}

impl Provider for Greetings {
    fn new() -> Result<Self> {
        // Settings stand in the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" }
        Ok(Self { greeting: setting("greeting").unwrap_or_else(|| "Hello".into()) })
    }

    fn describe(&self) -> Description {
        // What people read in lists, and what a model is told about when to use this.
        Description::new("Greetings").summary("Says hello.")
    }

    fn list(&self, query: &Query) -> Result<EntryPage> {
        // What there is, sorted by URI.
        Ok(paginate([Entry::new(HELLO, "hello").mime("text/plain")], query))
    }

    fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
        // Families of resources that are too many to list.
        Ok(vec![Template::new(HELLO_WHO, "a greeting").mime("text/plain")].into())
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        let who = match (request.uri.as_str(), request.template()) {
            (HELLO, _) => "world",
            // The value of the variable, decoded.
            (_, Some(HELLO_WHO)) => request.var("who")?,
            _ => return Err(Error::NotFound),
        };
        Ok(Content::text(format!("{}, {who}!\n", self.greeting)).mime("text/plain").into())
    }
}

larder_provider::export!(Greetings);
