//! Converts entries, templates, matches, versions and the results of reads.

use std::sync::Arc;

use super::metadata::metadata;
use super::parts::{clamp_priority, extras_size, freshness, icons, role, text_size};
use super::{ListLimits, MAX_ITEM_BYTES, WitPage, list_page};
use crate::bindings::exports::larder::provider::resource_provider as wit;
use crate::bindings::larder::provider::provider_types as types;
use crate::provider::omissions::Omissions;
use crate::provider::{CallError, ListPage};
use larder_model::name::Digest;
use larder_model::policy::Secrets;
use larder_model::resource::{
    Body, Content, Details, Entry, Freshness, Match, ReadResult, Rendered, Template, Variable,
};
use larder_model::uri::Uri;

pub(in crate::provider) fn entry_page(
    page: wit::EntryPage,
    max: u32,
    secrets: &Secrets,
) -> Result<ListPage<Entry>, CallError> {
    let wit::EntryPage { entries: items, next_cursor, freshness } = page;
    let limits =
        ListLimits { count: max, item_bytes: MAX_ITEM_BYTES, one: "an entry", many: "entries", secrets };
    list_page(WitPage { items, next_cursor, freshness }, &limits, entry_size, |item, omissions| {
        entry(item, omissions).map_err(|why| omissions.add(format!("an entry: {why}"))).ok()
    })
}

pub(in crate::provider) fn template_page(
    page: wit::TemplatePage,
    max: u32,
    secrets: &Secrets,
) -> Result<ListPage<Template>, CallError> {
    let wit::TemplatePage { templates: items, next_cursor, freshness } = page;
    let limits =
        ListLimits { count: max, item_bytes: MAX_ITEM_BYTES, one: "a template", many: "templates", secrets };
    list_page(WitPage { items, next_cursor, freshness }, &limits, template_size, template)
}

pub(super) fn entry_size(item: &types::Entry) -> usize {
    let texts = text_size([&item.title, &item.description, &item.mime_type, &item.version]);
    item.uri.len() + item.name.len() + texts + item.details.as_ref().map_or(0, details_size)
}

pub(super) fn template_size(item: &types::Template) -> usize {
    let texts = text_size([&item.title, &item.description, &item.mime_type, &None]);
    item.uri_template.len() + item.name.len() + texts + item.details.as_ref().map_or(0, details_size)
}

fn details_size(details: &types::Details) -> usize {
    text_size([&details.kind, &details.last_modified, &None, &None])
        + extras_size(&details.icons, &details.metadata)
        + details.audience.len()
}

/// Converts an entry, or returns why it cannot be used.
pub(super) fn entry(item: types::Entry, omissions: &mut Omissions<'_>) -> Result<Entry, String> {
    let uri = omissions.uri(&item.uri).map_err(|error| error.to_string())?;
    Ok(Entry {
        uri,
        name: item.name,
        title: item.title,
        description: item.description,
        mime_type: item.mime_type,
        size: item.size,
        version: item.version,
        details: details(item.details, omissions),
        rendered: Rendered::default(),
    })
}

fn template(item: types::Template, omissions: &mut Omissions<'_>) -> Option<Template> {
    let uri_template = omissions.uri_template(&item.uri_template);
    let uri_template = uri_template.map_err(|error| omissions.add(format!("a template: {error}"))).ok()?;
    Some(Template {
        uri_template,
        name: item.name,
        title: item.title,
        description: item.description,
        mime_type: item.mime_type,
        details: details(item.details, omissions),
        rendered: Rendered::default(),
    })
}

fn details(details: Option<types::Details>, omissions: &mut Omissions<'_>) -> Details {
    let Some(details) = details else {
        return Details::default();
    };
    Details {
        kind: details.kind,
        audience: details.audience.into_iter().map(role).collect(),
        priority: details.priority.and_then(|priority| clamp_priority(priority, omissions)),
        last_modified: details.last_modified,
        icons: icons(details.icons, omissions),
        metadata: metadata(details.metadata, omissions),
    }
}

pub(in crate::provider) fn template_match(found: wit::TemplateMatch) -> Match {
    let variable = |wit::Variable { name, key, value }| Variable { name, key, value };
    Match { template: found.uri_template, variables: found.variables.into_iter().map(variable).collect() }
}

/// Converts a match for a guest. The variables are as the host or the guest itself found them.
pub(in crate::provider) fn wit_match(found: Match) -> wit::TemplateMatch {
    let variable = |Variable { name, key, value }| wit::Variable { name, key, value };
    wit::TemplateMatch {
        uri_template: found.template,
        variables: found.variables.into_iter().map(variable).collect(),
    }
}

/// Checks the number of versions. A very long version is replaced by its digest.
pub(in crate::provider) fn versions(
    response: Vec<Option<String>>,
    expected: usize,
) -> Result<Vec<Option<String>>, CallError> {
    if response.len() != expected {
        let given = response.len();
        return Err(CallError::Failed(format!("it returned {given} versions for {expected} URIs")));
    }
    let bounded = |version: String| match version.len() {
        0..=1_024 => version,
        _ => Digest::of(version.as_bytes()).to_string(),
    };
    Ok(response.into_iter().map(|version| version.map(bounded)).collect())
}

pub(in crate::provider) fn read_result(
    response: wit::Reading,
    requested_uri: &Uri,
    omissions: &mut Omissions<'_>,
) -> Result<ReadResult, CallError> {
    if response.contents.is_empty() {
        return Err(CallError::Failed("it returned no content and no error".into()));
    }
    let contents = response.contents.into_iter().map(|item| content(item, requested_uri, omissions));
    Ok(ReadResult {
        contents: Arc::new(contents.collect::<Result<_, _>>()?),
        version: response.version,
        freshness: response.freshness.map_or(Freshness::UNKNOWN, freshness),
        shared: false,
    })
}

fn content(
    item: types::Content,
    requested_uri: &Uri,
    omissions: &mut Omissions<'_>,
) -> Result<Content, CallError> {
    let uri = match item.uri {
        None => requested_uri.clone(),
        Some(uri) => omissions.uri(&uri).map_err(|error| {
            CallError::Failed(format!("it returned content with an invalid URI: {error}"))
        })?,
    };
    let body = body(item.body);
    Ok(Content { uri, mime_type: item.mime_type, body, metadata: metadata(item.metadata, omissions) })
}

pub(super) fn body(body: types::Body) -> Body {
    match body {
        types::Body::Text(text) => Body::Text(text),
        types::Body::Blob(blob) => Body::Blob(blob),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_the_number_of_versions() {
        let long = Some("x".repeat(2_000));
        let taken = versions(vec![Some("1".into()), None, long], 3).unwrap();
        assert_eq!((taken[0].as_deref(), taken[1].as_deref()), (Some("1"), None));
        assert_eq!(taken[2].as_ref().map(String::len), Some(64));
        assert!(matches!(versions(vec![None], 2), Err(CallError::Failed(_))));
    }
}
