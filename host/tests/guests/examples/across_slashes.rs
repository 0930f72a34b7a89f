//! Two templates: the last variable of one template matches across slashes (`greedy` of the SDK), the last variable of
//! the other one does not. It returns the template and the value. Under `clock/` the text is different in each read. A
//! third template has a list and a map.

use larder_provider::{
    Completion, CompletionRequest, Content, Provider, Reading, Request, Result, Template,
    TemplatePage,
};

struct AcrossSlashes;

const FILE: &str = "across-slashes:///{path}";
const PAGE: &str = "across-slashes://wiki/{page}";
const SEARCH: &str = "across-slashes:search{/tags}{?page,filter*}";

impl Provider for AcrossSlashes {
    fn new() -> Result<Self> {
        Ok(Self)
    }

    fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
        let templates = [(FILE, "a file"), (PAGE, "a page"), (SEARCH, "a search")];
        Ok(templates
            .map(|(uri_template, name)| Template::new(uri_template, name))
            .to_vec()
            .into())
    }

    fn greedy(&self) -> Vec<&str> {
        vec![FILE]
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        if request.template() == Some(SEARCH) {
            return search(request);
        }
        let path = request.var("path").or_else(|_| request.var("page"))?;
        let mut text = format!("{}: {path}", request.template().unwrap_or("none"));
        if path.starts_with("clock/") {
            text += &format!(" at {:?}", std::time::SystemTime::now());
        }
        Ok(Content::text(text).mime("text/plain").into())
    }

    fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        Ok(Completion::matching(
            ["docs/a.md", "docs/b.md", "src/lib.rs"],
            &request.prefix,
        ))
    }
}

fn search(request: &Request) -> Result<Reading> {
    let tags: Vec<_> = request.vars("tags").collect();
    let filter: Vec<_> = request.map("filter").collect();
    Ok(Content::text(format!("{tags:?} {filter:?} {:?}", request.var("page"))).into())
}

larder_provider::export!(AcrossSlashes: completions);
