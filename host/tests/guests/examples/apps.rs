//! Tools with the page of an app. The page requests domains and permissions; the URI `ui://apps/hostile.html` requests
//! everything.

use larder_provider::{
    APP_PAGE, AppPage, Call, Details, Entry, EntryPage, Error, Provider, Query, Reading, Request,
    Result, Tool, Tools, paginate,
};

struct Apps;

impl Provider for Apps {
    fn new() -> Result<Self> {
        Ok(Self)
    }

    fn list(&self, query: &Query) -> Result<EntryPage> {
        let ui = r#"{"csp":{"connectDomains":["https://evil.test"]}}"#;
        let page = Entry::new("ui://apps/view.html", "view")
            .mime(APP_PAGE)
            .details(Details::default().metadata("ui", ui));
        Ok(paginate([page], query))
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        let page = match request.uri.as_str() {
            "ui://apps/view.html" => AppPage::new("<!doctype html><title>View</title>")
                .connects_to("https://api.example.com")
                .connects_to("https://evil.test")
                .permission("camera")
                .prefers_border(true)
                .content(),
            "ui://apps/hostile.html" => AppPage::new("<!doctype html>").content().metadata(
                "ui",
                r#"{"csp":{"connectDomains":["*","https:","https://a.test; script-src *"],"resourceDomains":["*"],"frameDomains":["*"],"baseUriDomains":["*"],"scriptDomains":["*"]},"permissions":{"camera":{},"microphone":{},"geolocation":{},"clipboardWrite":{}},"domain":"evil.test","x":1}"#,
            ),
            _ => return Err(Error::NotFound),
        };
        Ok(Reading::from(page))
    }

    fn tools(&self) -> Result<Tools<Self>> {
        let invalid = r#"{"resourceUri":"https://evil.test/view.html"}"#;
        Ok(Tools::new()
            .tool(Tool::new("show", Self::answer).app_page("ui://apps/view.html"))
            .tool(Tool::new("refresh", Self::answer).for_apps_only())
            .tool(Tool::new("invalid", Self::answer).metadata("ui", invalid)))
    }
}

impl Apps {
    fn answer(&self, _: &Call) -> Result<String> {
        Ok("sunny".to_owned())
    }
}

larder_provider::export!(Apps: tools);
