//! Writes the results of the server's own tools. Entries are shorter than in lists: for example, models do not use
//! icons.

use super::{entry_summary, text_or_blob};
use crate::wire::json_writer::Object;
use crate::wire::output::WrittenOutput;
use larder_model::resource::{Body, Content, Entry, ReadResult, Template};
use larder_model::uri::Uri;

/// Writes the members of an entry that help a model to select it.
pub(crate) fn summary(o: &mut Object<'_>, entry: &Entry) {
    entry_summary(o, entry);
    o.optional_text("kind", entry.details.kind.as_deref());
}

/// Like [`summary`], for a template.
pub(crate) fn template_summary(o: &mut Object<'_>, template: &Template) {
    super::template_summary(o, template);
    o.optional_text("kind", template.details.kind.as_deref());
}

/// Writes where the next page begins, and what is missing on this page.
pub(crate) fn end_of_page(o: &mut Object<'_>, next: Option<&str>, incomplete: &[String]) {
    o.optional_text("nextCursor", next);
    if !incomplete.is_empty() {
        o.texts("incomplete", incomplete.iter().map(String::as_str));
    }
}

/// Writes a result of a search in the form that research connectors expect.
pub(crate) fn document_link(o: &mut Object<'_>, entry: &Entry) {
    o.text("id", entry.uri.as_str());
    o.text("title", title_of(Some(entry), &entry.uri));
    o.text("url", entry.uri.as_str());
}

/// Writes a document in the form that research connectors expect. Several texts are written one below the other.
pub(crate) fn document(o: &mut Object<'_>, uri: &Uri, entry: Option<&Entry>, reading: &ReadResult) {
    o.text("id", uri.as_str());
    o.text("title", title_of(entry, uri));
    o.bodies("text", reading.contents.iter().map(|content| &content.body));
    o.text("url", uri.as_str());
    o.object("metadata", |o| {
        let mime_type = reading
            .contents
            .first()
            .and_then(|content| content.mime_type.as_deref());
        o.optional_text("mimeType", mime_type);
        o.optional_text(
            "kind",
            entry.and_then(|entry| entry.details.kind.as_deref()),
        );
        o.optional_text("version", reading.version.as_deref());
    });
}

fn title_of<'a>(entry: Option<&'a Entry>, uri: &'a Uri) -> &'a str {
    entry.map_or(uri.as_str(), |entry| {
        entry.title.as_deref().unwrap_or(&entry.name)
    })
}

/// Writes the contents of a resource: texts without a change, images and sounds as images and sounds, and other data as
/// a resource. If there are several contents, each follows its URI. `json` is the rendered JSON of the contents, if it
/// exists already.
pub(crate) fn contents(o: &mut Object<'_>, contents: &[Content], json: Option<&[u8]>) {
    let uri = |content| (contents.len() > 1).then_some(Part::Uri(content));
    let parts = contents
        .iter()
        .flat_map(|content| uri(content).into_iter().chain([Part::Body(content)]));
    o.objects("content", parts, |o, part| match part {
        Part::Uri(content) => text(o, content.uri.as_str()),
        Part::Body(content) => block(o, content),
    });
    o.object("structuredContent", |o| match json {
        Some(json) => o.json_bytes("contents", json),
        None => o.objects("contents", contents, structured_content),
    });
}

/// How a block of a result shows a content.
enum Part<'a> {
    Uri(&'a Content),
    Body(&'a Content),
}

fn text(o: &mut Object<'_>, value: &str) {
    o.text("type", "text");
    o.text("text", value);
}

fn block(o: &mut Object<'_>, content: &Content) {
    let mime_type = content.mime_type.as_deref().unwrap_or_default();
    let kind = ["image", "audio"].into_iter().find(|kind| {
        mime_type
            .strip_prefix(kind)
            .is_some_and(|rest| rest.starts_with('/'))
    });
    match (&content.body, kind) {
        (body @ Body::Text(_), _) => {
            o.text("type", "text");
            o.body("text", body);
        }
        (body @ Body::Blob(_), Some(kind)) => {
            o.text("type", kind);
            o.body("data", body);
            o.text("mimeType", mime_type);
        }
        (body @ Body::Blob(_), None) => {
            o.text("type", "resource");
            o.object("resource", |o| {
                o.text("uri", content.uri.as_str());
                o.optional_text("mimeType", content.mime_type.as_deref());
                text_or_blob(o, body);
            });
        }
    }
}

/// Data other than text is only in the blocks: a model cannot read it as JSON.
fn structured_content(o: &mut Object<'_>, content: &Content) {
    o.text("uri", content.uri.as_str());
    o.optional_text("mimeType", content.mime_type.as_deref());
    match &content.body {
        body @ Body::Text(_) => o.body("text", body),
        Body::Blob(data) => o.integer("size", data.len() as u64),
    }
}

/// Writes a structured result, and the same JSON as text.
pub(crate) fn structured(o: &mut Object<'_>, json: &WrittenOutput) {
    o.objects("content", [json], |o, json| {
        o.text("type", "text");
        o.written_as_text("text", json);
    });
    o.written("structuredContent", json);
}

/// Writes a result that says what failed.
pub(crate) fn failed(o: &mut Object<'_>, message: &str) {
    o.objects("content", [message], text);
    o.flag("isError", true);
}
