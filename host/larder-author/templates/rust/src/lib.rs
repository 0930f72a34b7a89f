//! @NAME@: an example provider that serves greetings. Replace them with your own resources.

use larder_provider::{
    Content, Description, Entry, EntryPage, Error, Provider, Query, Reading, Request, Result, Template,
    TemplatePage, paginate, setting,
};

// Choose any URIs. Clients see them unchanged.
const HELLO: &str = "@NAME@://hello";
const HELLO_WHO: &str = "@NAME@://hello/{who}";

struct Greetings {
    greeting: String,
}

impl Provider for Greetings {
    fn new() -> Result<Self> {
        // Settings come from the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" }
        Ok(Self { greeting: setting("greeting").unwrap_or_else(|| "Hello".into()) })
    }

    fn describe(&self) -> Description {
        // Shown to users in lists. The summary also tells a model when to use this provider.
        Description::new("Greetings").summary("Says hello.")
    }

    fn list(&self, query: &Query) -> Result<EntryPage> {
        // The resources, sorted by URI.
        Ok(paginate([Entry::new(HELLO, "hello").mime("text/plain")], query))
    }

    fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
        // URI templates, for resources that are too many to list.
        Ok(vec![Template::new(HELLO_WHO, "a greeting").mime("text/plain")].into())
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        let who = match (request.uri.as_str(), request.template()) {
            (HELLO, _) => "world".into(),
            // The decoded value of the variable.
            (_, Some(HELLO_WHO)) => request.var("who")?,
            _ => return Err(Error::NotFound),
        };
        Ok(Content::text(format!("{}, {who}!\n", self.greeting)).mime("text/plain").into())
    }
}

larder_provider::export!(Greetings);

/// Native tests: `cargo test --lib` needs neither a component nor `larder`.
#[cfg(test)]
mod tests {
    use larder_provider::Body;

    use super::*;

    /// Calls the function as a server does, which also finds the template and the values of its variables.
    fn read(request: Request) -> Result<Body> {
        let reading = Greetings::new()?.read(&request)?;
        Ok(reading.contents[0].body.clone())
    }

    #[test]
    fn returns_greetings() {
        let text = |text: &str| Ok(Body::Text(text.into()));
        let ada = Request::new("@NAME@://hello/Ada").matched(HELLO_WHO, &[("who", "Ada")]);
        assert_eq!(read(Request::new(HELLO)), text("Hello, world!\n"));
        assert_eq!(read(ada), text("Hello, Ada!\n"));
        assert_eq!(read(Request::new("@NAME@://nothing")), Err(Error::NotFound));
    }
}
