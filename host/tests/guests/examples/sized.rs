//! Texts and blobs of any size: `sized://AUTHORITY/text/BYTES`. The authority is a setting, so that one
//! component can serve as any number of providers. Responses of the authority `cached` can be cached for a
//! day.

use std::time::Duration;

use larder_provider::{
    Content, Entry, EntryPage, Error, Freshness, Provider, Query, Reading, Request, Result,
    Template, TemplatePage, paginate, setting_or,
};

struct Sized;

/// The URIs whose responses can be cached.
const CACHED: &str = "sized://cached/";
const DAY: Duration = Duration::from_secs(86_400);

/// A line with characters that JSON must escape.
const LINE: &str = "A line of a document, \"quoted\", that is sixty-four bytes long. \n";

impl Provider for Sized {
    fn new() -> Result<Self> {
        Ok(Self)
    }

    fn list(&self, query: &Query) -> Result<EntryPage> {
        let authority = authority()?;
        let size = |kind: &str, bytes: u32| {
            Entry::new(
                format!("sized://{authority}/{kind}/{bytes}"),
                format!("{bytes} bytes of {kind}"),
            )
        };
        Ok(paginate([size("blob", 1024), size("text", 1024)], query))
    }

    fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
        let template = format!("sized://{}/{{kind}}/{{bytes}}", authority()?);
        Ok(vec![Template::new(template, "so many bytes")].into())
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        let mut parts = request.uri.rsplit('/');
        let bytes = parts
            .next()
            .and_then(|part| part.parse::<usize>().ok())
            .ok_or(Error::NotFound)?;
        let content = match parts.next() {
            Some("text") => Content::text(text(bytes)).mime("text/plain"),
            Some("blob") => Content::blob(blob(bytes)).mime("application/octet-stream"),
            _ => return Err(Error::NotFound),
        };
        if !request.uri.starts_with(CACHED) {
            return Ok(content.into());
        }
        Ok(Reading::from(content).freshness(Freshness::everyone(DAY)))
    }
}

fn authority() -> Result<String> {
    setting_or("authority", "sized".to_owned())
}

fn text(bytes: usize) -> String {
    let mut text = LINE.repeat(bytes / LINE.len() + 1);
    text.truncate(bytes);
    text
}

fn blob(bytes: usize) -> Vec<u8> {
    let pattern: Vec<u8> = (0..251).collect();
    let mut blob = pattern.repeat(bytes / pattern.len() + 1);
    blob.truncate(bytes);
    blob
}

larder_provider::export!(Sized);
