//! One resource of each kind, and enough numbered resources for several pages.

use std::time::Duration;

use larder_provider::{
    Completion, CompletionRequest, Content, Details, Entry, EntryPage, Error, Freshness, Query,
    Reading, Request, Result, Template, TemplatePage, paginate,
};
use serde_json::json;

use crate::media::PIXEL;

/// Number of additional, numbered resources.
const EXTRA: usize = 120;
const DATA: &str = "test://template/{id}/data";
/// The version of all resources, which never change.
const VERSION: &str = "1";

pub(crate) fn list(query: &Query) -> EntryPage {
    paginate(entries(), query).freshness(freshness())
}

pub(crate) fn templates() -> TemplatePage {
    let data = Template::new(DATA, "data")
        .title("Data by id")
        .mime("application/json");
    TemplatePage::from(vec![data]).freshness(freshness())
}

pub(crate) fn read(request: &Request) -> Result<Reading> {
    request.unless_known(VERSION)?;
    Ok(Reading::from(content(request)?)
        .version(VERSION)
        .freshness(freshness()))
}

pub(crate) fn complete(request: &CompletionRequest) -> Result<Completion> {
    if request.uri_template != DATA || request.variable != "id" {
        return Err(Error::NotFound);
    }
    Ok(Completion::matching(
        (1..=EXTRA).map(|id| id.to_string()),
        &request.prefix,
    ))
}

pub(crate) fn versions(uris: &[String]) -> Vec<Option<String>> {
    let version = |uri: &String| {
        entries()
            .into_iter()
            .find(|entry| entry.uri == *uri)?
            .version
    };
    uris.iter().map(version).collect()
}

fn freshness() -> Freshness {
    Freshness::everyone(Duration::from_secs(1))
}

/// All entries, sorted by URI.
fn entries() -> Vec<Entry> {
    let extra =
        (1..=EXTRA).map(|n| text(&format!("test://extra/{n:03}"), &format!("extra-{n:03}")));
    let mut entries: Vec<Entry> = extra.collect();
    entries.push(
        Entry::new("test://static-binary", "static-binary")
            .title("A picture")
            .mime("image/png")
            .size(PIXEL.len() as u64)
            .version(VERSION)
            .details(Details::kind("fixture")),
    );
    entries.push(text("test://static-text", "static-text"));
    entries.push(text("test://watched-resource", "watched-resource"));
    entries
}

fn text(uri: &str, name: &str) -> Entry {
    Entry::new(uri, name)
        .mime("text/plain")
        .version(VERSION)
        .details(Details::kind("fixture"))
}

fn content(request: &Request) -> Result<Content> {
    let text = |text: String| Content::text(text).mime("text/plain");
    match request.uri.as_str() {
        "test://static-text" => Ok(text(
            "This is the content of the static text resource.".to_owned(),
        )),
        "test://static-binary" => Ok(Content::blob(PIXEL).mime("image/png")),
        "test://watched-resource" => Ok(text(
            "This is the content of the watched resource.".to_owned(),
        )),
        uri if entries().iter().any(|entry| entry.uri == uri) => {
            Ok(text(format!("This is {uri}.")))
        }
        _ if request.template() == Some(DATA) => Ok(data(&request.var("id")?)),
        _ => Err(Error::NotFound),
    }
}

fn data(id: &str) -> Content {
    let data = "the data of the one that was asked for";
    let json = json!({ "id": id, "templateTest": true, "data": data });
    Content::text(json.to_string()).mime("application/json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(request: Request, expected: &str) {
        let actual = match read(&request) {
            Ok(reading) => format!("{:?}", reading.contents[0].body),
            Err(error) => error.to_string(),
        };
        assert!(actual.contains(expected), "{request:?}: {actual}");
    }

    #[test]
    fn returns_the_contents_that_the_suite_expects() {
        check(Request::new("test://static-text"), "static text");
        check(
            Request::new("test://static-binary"),
            "Blob([137, 80, 78, 71",
        );
        check(Request::new("test://watched-resource"), "watched");
        check(
            Request::new("test://nonexistent-resource-for-conformance-testing"),
            "not found",
        );
        check(Request::new("test://extra/120"), "test://extra/120");
        check(Request::new("test://extra/121"), "not found");
        let known = Request {
            known_version: Some("1".into()),
            ..Request::new("test://static-text")
        };
        check(known, "not modified");
    }

    #[test]
    fn the_data_has_the_variable() {
        let of = |id: &str| Request::new("test://template/x/data").matched(DATA, &[("id", id)]);
        check(of("123"), r#"\"id\":\"123\""#);
    }

    #[test]
    fn the_list_is_sorted_and_all_entries_can_be_read() {
        let entries = entries();
        assert!(entries.is_sorted_by(|a, b| a.uri < b.uri));
        for entry in &entries {
            assert!(
                content(&Request::new(entry.uri.as_str())).is_ok(),
                "{}",
                entry.uri
            );
        }
        let page = list(&Query::new(100));
        assert_eq!(
            (page.entries.len(), page.next_cursor.is_some()),
            (100, true)
        );
    }
}
