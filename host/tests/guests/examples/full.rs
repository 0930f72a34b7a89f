//! Exports every optional interface, and sets every field of the contract.

use exports::larder::provider::completion_provider::{self, Completion, CompletionRequest};
use exports::larder::provider::version_provider;
use guests::*;

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package guests:full;
        world optional {
            export larder:provider/completion-provider@0.1.0;
            export larder:provider/version-provider@0.1.0;
        }
    ",
    export_macro_name: "export_optional",
    with: { "larder:provider/provider-types@0.1.0": guests::bindings::larder::provider::provider_types },
});

struct Full;

impl Behaviour for Full {
    fn describe() -> Description {
        Description {
            title: Some("Full".to_owned()),
            version: Some("1.2.3".to_owned()),
            summary: Some("everything a provider can be".to_owned()),
            instructions: Some("Read full://one first.".to_owned()),
            claims: vec!["full-claim:".to_owned()],
        }
    }

    fn list(_query: ListQuery) -> Result<EntryPage, Error> {
        let details = Details {
            kind: Some("file".to_owned()),
            audience: vec![Role::User, Role::Assistant],
            priority: Some(0.5),
            last_modified: Some("2026-01-02T03:04:05Z".to_owned()),
            icons: vec![Icon {
                src: "https://example.com/icon.png".to_owned(),
                mime_type: Some("image/png".to_owned()),
                sizes: vec!["48x48".to_owned()],
                theme: Some(Theme::Dark),
            }],
            metadata: vec![(
                "example.com/colour".to_owned(),
                "{\"name\":\"blue\"}".to_owned(),
            )],
        };
        let one = Entry {
            uri: "full://one".to_owned(),
            name: "one".to_owned(),
            title: Some("One".to_owned()),
            description: Some("the first".to_owned()),
            mime_type: Some("text/plain".to_owned()),
            size: Some(3),
            version: Some(version()),
            details: Some(details),
        };
        Ok(EntryPage {
            entries: vec![one],
            next_cursor: None,
            freshness: Some(fresh(60_000)),
        })
    }

    fn templates() -> Vec<&'static str> {
        vec!["full://word/{word}{?style}"]
    }

    fn match_uri(uri: String) -> Option<TemplateMatch> {
        let rest = uri.strip_prefix("full-claim:mine/")?;
        let variables = vec![variable("rest", rest)];
        Some(TemplateMatch {
            uri_template: "full-claim:mine/{+rest}".to_owned(),
            variables,
        })
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        if request.known_version == Some(version()) {
            return Err(Error::NotModified);
        }
        let contents = vec![content(Body::Text("one".to_owned()), "text/plain")];
        Ok(Reading {
            contents,
            version: Some(version()),
            freshness: Some(fresh(5_000)),
        })
    }
}

impl completion_provider::Guest for Full {
    fn complete(request: CompletionRequest) -> Result<Completion, Error> {
        let offered = ["plain", "pretty", "proud"];
        let values = offered
            .iter()
            .filter(|value| value.starts_with(&request.prefix));
        Ok(Completion {
            values: values.map(ToString::to_string).collect(),
            total: None,
            more: false,
        })
    }
}

impl version_provider::Guest for Full {
    fn versions(uris: Vec<String>) -> Result<Vec<Option<String>>, Error> {
        Ok(uris
            .iter()
            .map(|uri| uri.starts_with("full://").then(version))
            .collect())
    }
}

/// The setting `version`, which a test can change.
fn version() -> String {
    host::setting("version").unwrap_or_else(|| "1".to_owned())
}

fn fresh(ttl_ms: u64) -> Freshness {
    Freshness {
        ttl_ms,
        scope: Scope::Caller,
    }
}

guests::export!(Full);
export_optional!(Full);
