//! Provides the fixtures of the official MCP conformance suites: resources, tools and prompts.

mod media;
mod prompts;
mod questions;
mod resources;
mod tools;

use larder_provider::{
    Completion, CompletionRequest, Description, EntryPage, Prompts, Provider, Query, Reading,
    Request, Result, TemplatePage, Tools,
};

struct Conformance;

larder_provider::export!(Conformance: completions, versions, tools, prompts);

impl Provider for Conformance {
    fn new() -> Result<Self> {
        Ok(Self)
    }

    fn describe(&self) -> Description {
        Description::new("Conformance fixtures")
            .version(env!("CARGO_PKG_VERSION"))
            .summary("fixtures of the MCP conformance suite")
            .instructions(
                "The test:// resources are fixtures of a test suite and have no useful content.",
            )
            .claim("test://")
    }

    fn list(&self, query: &Query) -> Result<EntryPage> {
        Ok(resources::list(query))
    }

    fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
        Ok(resources::templates())
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        resources::read(request)
    }

    fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        resources::complete(request)
    }

    fn versions(&self, uris: &[String]) -> Result<Vec<Option<String>>> {
        Ok(resources::versions(uris))
    }

    fn tools(&self) -> Result<Tools<Self>> {
        Ok(tools::all())
    }

    fn prompts(&self) -> Result<Prompts<Self>> {
        Ok(prompts::all())
    }
}
