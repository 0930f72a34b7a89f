//! @NAME@: an example provider that serves greetings, with a tool, a prompt, a search and a setting. Replace them
//! with your own.

use larder_provider::{
    Argument, Call, Content, Declaration, Description, Entry, EntryPage, Error, Hit, Hits, Prompt,
    PromptRequest, PromptResult, Prompts, Provider, Query, Reading, Request, Result, SearchQuery,
    Setting, Template, TemplatePage, Tool, ToolResult, Tools, paginate,
};
use schemars::JsonSchema;
use serde::Deserialize;

// Choose any URIs. Clients see them unchanged.
const HELLO: &str = "@NAME@://hello";
const HELLO_WHO: &str = "@NAME@://hello/{who}";

/// In the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" }
const GREETING: Setting<String> =
    Setting::text("greeting", "The first word of a greeting.").default("Hello");

/// The arguments of the tool. The host checks them with the schema of this type, in which the comments are
/// descriptions.
#[derive(Deserialize, JsonSchema)]
struct GreetArguments {
    /// Who is greeted.
    who: String,
}

struct Greetings {
    greeting: String,
}

impl Provider for Greetings {
    fn new() -> Result<Self> {
        Ok(Self {
            greeting: GREETING.get()?,
        })
    }

    fn describe(&self) -> Description {
        // Shown to users in lists. The summary also tells a model when to use this provider.
        Description::new("Greetings").summary("Says hello.")
    }

    fn list(&self, query: &Query) -> Result<EntryPage> {
        // The resources, sorted by URI.
        Ok(paginate([entry()], query))
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
        Ok(Content::text(self.greet(&who) + "\n")
            .mime("text/plain")
            .into())
    }

    fn settings() -> Vec<Declaration> {
        vec![GREETING.declaration()]
    }

    fn search(&self, query: &SearchQuery) -> Result<Hits> {
        // The best hits first. The host merges those of all providers.
        let text = self.greet("world");
        let found = text.to_lowercase().contains(&query.text.to_lowercase());
        Ok(query.take(found.then(|| Hit::new(entry()).excerpt(text))))
    }

    fn tools(&self) -> Result<Tools<Self>> {
        // Functions that a model may call.
        let greet = Tool::new("greet", Self::greet_somebody)
            .title("Greet somebody")
            .description("Returns a greeting.")
            .read_only(true)
            .idempotent(true)
            .open_world(false);
        Ok(Tools::new().tool(greet))
    }

    fn prompts(&self) -> Result<Prompts<Self>> {
        // Prompts, which a user selects. Suggestions for an argument begin with the text that was typed.
        let who = Argument::new("who")
            .description("Who is welcomed.")
            .required()
            .values(["Ada", "Grace"]);
        let welcome = Prompt::new("welcome", Self::welcome)
            .title("Write a welcome")
            .description("Asks for a letter that welcomes somebody.")
            .argument(who);
        Ok(Prompts::new().prompt(welcome))
    }
}

impl Greetings {
    fn greet(&self, who: &str) -> String {
        format!("{}, {who}!", self.greeting)
    }

    fn greet_somebody(&self, call: &Call<GreetArguments>) -> Result<ToolResult> {
        Ok(ToolResult::text(self.greet(&call.arguments.who)))
    }

    fn welcome(&self, request: &PromptRequest) -> Result<PromptResult> {
        let who = request.argument("who")?;
        let text = format!(
            "Write a short letter that welcomes {who}. Begin with: {}",
            self.greet(&who)
        );
        Ok(PromptResult::new().user(text))
    }
}

fn entry() -> Entry {
    Entry::new(HELLO, "hello").mime("text/plain")
}

// The optional interfaces that are exported.
larder_provider::export!(Greetings: tools, prompts, search, settings);

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
