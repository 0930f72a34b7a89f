//! Texts and blobs of any size: `sized://AUTHORITY/text/BYTES`. The authority and the time to live are settings, so
//! that one component is any number of providers.

use std::time::Duration;

use larder_provider::{
    Content, Entry, EntryPage, Error, Freshness, Provider, Query, Reading, Request, Result, Template,
    TemplatePage, paginate, setting_or,
};

struct Sized {
    authority: String,
}

/// A line with what JSON has to escape.
const LINE: &str = "A line of a document, \"quoted\", that is sixty-four bytes long. \n";

impl Provider for Sized {
    fn new() -> Result<Self> {
        Ok(Self { authority: setting_or("authority", "sized".to_owned())? })
    }

    fn list(&self, query: &Query) -> Result<EntryPage> {
        let size = |kind: &str, bytes: u32| {
            Entry::new(
                format!("sized://{}/{kind}/{bytes}", self.authority),
                format!("{bytes} bytes of {kind}"),
            )
        };
        Ok(paginate([size("blob", 1024), size("text", 1024)], query))
    }

    fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
        let template = format!("sized://{}/{{kind}}/{{bytes}}", self.authority);
        Ok(vec![Template::new(template, "so many bytes")].into())
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        let mut parts = request.uri.rsplit('/');
        let bytes = parts.next().and_then(|part| part.parse::<usize>().ok()).ok_or(Error::NotFound)?;
        let content = match parts.next() {
            Some("text") => Content::text(text(bytes)).mime("text/plain"),
            Some("blob") => Content::blob(blob(bytes)).mime("application/octet-stream"),
            _ => return Err(Error::NotFound),
        };
        Ok(match setting_or("ttl", 0)? {
            0 => content.into(),
            seconds => Reading::from(content).freshness(Freshness::everyone(Duration::from_secs(seconds))),
        })
    }
}

fn text(bytes: usize) -> String {
    let mut text = LINE.repeat(bytes / LINE.len() + 1);
    text.truncate(bytes);
    text
}

fn blob(bytes: usize) -> Vec<u8> {
    let round: Vec<u8> = (0..251).collect();
    let mut blob = round.repeat(bytes / round.len() + 1);
    blob.truncate(bytes);
    blob
}

larder_provider::export!(Sized);
