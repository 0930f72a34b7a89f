//! Converts entries, templates, matches, versions and the results of reads.

use std::collections::HashSet;
use std::sync::Arc;

use super::metadata::{metadata, metadata_size};
use super::pace::Pace;
use super::parts::{audience, clamp_priority, extras_size, freshness, icons, text_size};
use super::texts::{self, description, last_modified, media_type, title, valid, version};
use super::{ListLimits, WitPage, check_result_count, list_page};
use crate::bindings::exports::larder::provider::resource_provider as wit;
use crate::bindings::larder::provider::provider_types as types;
use crate::provider::omissions::Omissions;
use larder_model::policy::Grant;
use larder_model::resource::{
    Body, Content, Details, Entry, Freshness, Match, ReadResult, RenderCache, Template, Variable,
};
use larder_model::uri::Uri;
use larder_provider::{CallError, ListPage};

/// Maximum number of contents of one read.
const MAX_CONTENTS: usize = 1_000;
/// The cost of checking whether a provider may use a URI, in bytes of text. The check matches the URI with the
/// provider's templates.
const FOREIGN_URI_BYTES: usize = 4 << 10;
/// Maximum number of variables of a match.
const MAX_VARIABLES: usize = 1_000;
/// The largest size that all clients can represent. JavaScript has no larger exact whole numbers.
const MAX_SIZE: u64 = (1 << 53) - 1;
/// Maximum size of a kind in bytes.
const MAX_KIND: usize = 256;

impl From<wit::EntryPage> for WitPage<types::Entry> {
    fn from(page: wit::EntryPage) -> Self {
        Self {
            items: page.entries,
            next_cursor: page.next_cursor,
            freshness: page.freshness,
        }
    }
}

impl From<wit::TemplatePage> for WitPage<types::Template> {
    fn from(page: wit::TemplatePage) -> Self {
        Self {
            items: page.templates,
            next_cursor: page.next_cursor,
            freshness: page.freshness,
        }
    }
}

pub(in crate::provider) async fn entry_page(
    page: wit::EntryPage,
    grant: &Grant,
) -> Result<ListPage<Entry>, CallError> {
    let limits = ListLimits::new(grant, "an entry", "entries");
    list_page(page.into(), &limits, entry_size, |item, omissions| {
        entry(item, omissions)
            .map_err(|why| omissions.add(format!("an entry: {why}")))
            .ok()
    })
    .await
}

pub(in crate::provider) async fn template_page(
    page: wit::TemplatePage,
    grant: &Grant,
) -> Result<ListPage<Template>, CallError> {
    let limits = ListLimits::new(grant, "a template", "templates");
    list_page(page.into(), &limits, template_size, template).await
}

pub(in crate::provider) fn entry_size(item: &types::Entry) -> usize {
    let texts = text_size([
        &item.title,
        &item.description,
        &item.mime_type,
        &item.version,
    ]);
    item.uri.len() + item.name.len() + texts + item.details.as_ref().map_or(0, details_size)
}

pub(in crate::provider) fn template_size(item: &types::Template) -> usize {
    let texts = text_size([&item.title, &item.description, &item.mime_type, &None]);
    item.uri_template.len()
        + item.name.len()
        + texts
        + item.details.as_ref().map_or(0, details_size)
}

/// Returns the bytes of a reading.
pub(in crate::provider) fn reading_size(reading: &wit::Reading) -> usize {
    let contents = reading.contents.iter().map(|content| {
        size_of::<types::Content>() + body_size(&content.body) + metadata_size(&content.metadata)
    });
    contents.sum()
}

pub(super) fn body_size(body: &types::Body) -> usize {
    match body {
        types::Body::Text(text) => text.len(),
        types::Body::Blob(blob) => blob.len(),
    }
}

fn details_size(details: &types::Details) -> usize {
    text_size([&details.kind, &details.last_modified, &None, &None])
        + extras_size(&details.icons, &details.metadata)
        + details.audience.len()
}

/// Converts an entry, or returns why it cannot be used.
pub(super) fn entry(item: types::Entry, omissions: &mut Omissions<'_>) -> Result<Entry, String> {
    let uri = texts::entry_uri(&item.uri, omissions)?;
    let size = resource_size(item.size, omissions);
    Ok(Entry {
        name: texts::name(item.name, uri.as_str(), omissions),
        uri,
        title: title(item.title, omissions),
        description: description(item.description, omissions),
        mime_type: media_type(item.mime_type, omissions),
        size,
        version: version(item.version, omissions),
        details: details(item.details, omissions),
        rendered: RenderCache::default(),
    })
}

fn resource_size(size: Option<u64>, omissions: &mut Omissions<'_>) -> Option<u64> {
    if size.is_none_or(|size| size <= MAX_SIZE) {
        return size;
    }
    omissions.add("a size of more than 2^53 bytes");
    None
}

fn template(item: types::Template, omissions: &mut Omissions<'_>) -> Option<Template> {
    let uri_template = omissions.uri_template(&item.uri_template);
    let uri_template = uri_template
        .map_err(|error| omissions.add(format!("a template: {error}")))
        .ok()?;
    Some(Template {
        name: texts::name(item.name, uri_template.as_str(), omissions),
        uri_template,
        title: title(item.title, omissions),
        description: description(item.description, omissions),
        mime_type: media_type(item.mime_type, omissions),
        details: details(item.details, omissions),
        rendered: RenderCache::default(),
    })
}

fn details(details: Option<types::Details>, omissions: &mut Omissions<'_>) -> Details {
    let Some(details) = details else {
        return Details::default();
    };
    Details {
        kind: kind(details.kind, omissions),
        audience: audience(details.audience),
        priority: details
            .priority
            .and_then(|priority| clamp_priority(priority, omissions)),
        last_modified: last_modified(details.last_modified, omissions),
        icons: icons(details.icons, omissions),
        metadata: metadata(details.metadata, omissions),
    }
}

fn kind(kind: Option<String>, omissions: &mut Omissions<'_>) -> Option<String> {
    let is_short = |kind: &str| kind.len() <= MAX_KIND;
    valid(kind, is_short, "a kind of more than 256 bytes", omissions)
}

pub(in crate::provider) fn template_match(found: wit::TemplateMatch) -> Result<Match, CallError> {
    check_result_count(found.variables.len(), MAX_VARIABLES, "variables of a match")?;
    let variable = |wit::Variable { name, key, value }| Variable { name, key, value };
    Ok(Match {
        template: found.uri_template,
        variables: found.variables.into_iter().map(variable).collect(),
    })
}

/// Converts a request to read a resource for a guest.
pub(in crate::provider) fn wit_read_request(
    uri: &Uri,
    matched: Option<Match>,
    known_version: Option<String>,
) -> wit::ReadRequest {
    wit::ReadRequest {
        uri: uri.to_string(),
        matched: matched.map(wit_match),
        known_version,
    }
}

/// Converts a match for a guest. The values of the variables are unchanged: the host or the guest itself found them.
fn wit_match(found: Match) -> wit::TemplateMatch {
    let variable = |Variable { name, key, value }| wit::Variable { name, key, value };
    wit::TemplateMatch {
        uri_template: found.template,
        variables: found.variables.into_iter().map(variable).collect(),
    }
}

/// Checks the number of versions. Versions that are too long are omitted: the host then compares the content.
pub(in crate::provider) async fn versions(
    response: Vec<Option<String>>,
    expected: usize,
    omissions: &mut Omissions<'_>,
) -> Result<Vec<Option<String>>, CallError> {
    if response.len() != expected {
        let given = response.len();
        return Err(CallError::Failed(format!(
            "it returned {given} versions for {expected} URIs"
        )));
    }
    let mut versions = Vec::with_capacity(expected);
    let mut pace = Pace::default();
    for item in response {
        pace.item(0).await;
        versions.push(version(item, omissions));
    }
    Ok(versions)
}

/// Converts the result of a read. `may_return` decides whether the provider may return content under a URI that is not
/// the requested one.
pub(in crate::provider) async fn read_result(
    response: wit::Reading,
    requested_uri: &Uri,
    may_return: impl Fn(&Uri) -> bool,
    omissions: &mut Omissions<'_>,
) -> Result<ReadResult, CallError> {
    if response.contents.is_empty() {
        return Err(CallError::Failed(
            "it returned no content and no error".into(),
        ));
    }
    check_result_count(response.contents.len(), MAX_CONTENTS, "contents")?;
    let mut contents = Vec::with_capacity(response.contents.len());
    let mut allowed = HashSet::new();
    let mut pace = Pace::default();
    for item in response.contents {
        pace.item(
            item.uri.as_ref().map_or(0, |_| FOREIGN_URI_BYTES) + metadata_size(&item.metadata),
        )
        .await;
        let content = content(item, requested_uri, omissions)?;
        if content.uri != *requested_uri && !allowed.contains(&content.uri) {
            check_uri(&content.uri, &may_return, omissions)?;
            allowed.insert(content.uri.clone());
        }
        contents.push(content);
    }
    Ok(ReadResult {
        contents: Arc::new(contents.into_iter().collect()),
        version: version(response.version, omissions),
        freshness: response.freshness.map_or(Freshness::UNKNOWN, freshness),
        shared: false,
    })
}

/// Checks the URI of a content. Models rely on these URIs, so a provider must not return content under a URI of another
/// provider.
fn check_uri(
    uri: &Uri,
    may_return: impl Fn(&Uri) -> bool,
    omissions: &Omissions<'_>,
) -> Result<(), CallError> {
    if may_return(uri) {
        Ok(())
    } else {
        Err(CallError::Failed(format!(
            "it returned content for {}, which is neither below the requested URI nor a URI that it lists, \
             matches or claims",
            omissions.clean(uri.as_str())
        )))
    }
}

fn content(
    item: types::Content,
    requested_uri: &Uri,
    omissions: &mut Omissions<'_>,
) -> Result<Content, CallError> {
    let uri = match item.uri {
        Some(uri) if uri != requested_uri.as_str() => {
            texts::uri(&uri, omissions).map_err(|why| {
                CallError::Failed(format!("it returned content with an invalid URI: {why}"))
            })?
        }
        // The URI that the client sent is returned unchanged, also if other clients do not accept it.
        _ => requested_uri.clone(),
    };
    Ok(Content {
        uri,
        mime_type: media_type(item.mime_type, omissions),
        body: body(item.body),
        metadata: metadata(item.metadata, omissions),
    })
}

pub(super) fn body(body: types::Body) -> Body {
    match body {
        types::Body::Text(text) => Body::Text(text),
        types::Body::Blob(blob) => Body::Blob(blob),
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    #[tokio::test]
    async fn checks_the_number_of_versions() {
        let mut omissions = Omissions::default();
        let long = Some("x".repeat(2_000));
        let taken = versions(vec![Some("1".into()), None, long], 3, &mut omissions)
            .await
            .unwrap();
        assert_eq!(taken, [Some("1".to_owned()), None, None]);
        assert_eq!(omissions.summary(), ["a version of more than 1 KiB"]);
        assert!(matches!(
            versions(vec![None], 2, &mut omissions).await,
            Err(CallError::Failed(_))
        ));
    }

    fn reading(contents: Vec<Option<String>>) -> wit::Reading {
        let content = |uri| types::Content {
            uri,
            mime_type: Some("text".into()),
            body: types::Body::Text(String::new()),
            metadata: vec![],
        };
        wit::Reading {
            contents: contents.into_iter().map(content).collect(),
            version: Some("x".repeat(2_000)),
            freshness: None,
        }
    }

    async fn read(contents: Vec<Option<String>>) -> Result<Vec<String>, String> {
        let requested = Uri::parse("x://h:99999/").unwrap();
        let may_return = |uri: &Uri| uri.as_str() != "x:no";
        let mut omissions = Omissions::default();
        let result = read_result(reading(contents), &requested, may_return, &mut omissions).await;
        let result = result.map_err(|error| error.to_string())?;
        assert!(
            result
                .contents
                .iter()
                .all(|content| content.mime_type.is_none())
                && result.version.is_none()
        );
        Ok(result
            .contents
            .iter()
            .map(|content| content.uri.to_string())
            .collect())
    }

    #[tokio::test]
    async fn checks_the_uris_of_contents() {
        let uri = |uri: &str| Some(uri.to_owned());
        // A client may read a URI that other clients would not accept.
        let own = ["x://h:99999/", "x://h:99999/", "x:yes"];
        assert_eq!(
            read(vec![None, uri("x://h:99999/"), uri("x:yes")])
                .await
                .unwrap(),
            own
        );
        for (bad, why) in [
            ("x:no", "it returned content for x:no, which is neither"),
            (
                "x://other:99999/",
                "it returned content with an invalid URI: some clients reject the URI",
            ),
            ("no", "it returned content with an invalid URI: `no` is not"),
        ] {
            assert!(
                read(vec![uri(bad)]).await.unwrap_err().starts_with(why),
                "{bad}"
            );
        }
        assert_eq!(
            read(vec![None; 20_000]).await.unwrap_err(),
            "it returned 20000 contents; the limit is 1000"
        );
        assert!(read(vec![None; MAX_CONTENTS]).await.is_ok());
    }
    #[test]
    fn a_small_reading_is_converted_in_one_step_and_a_large_one_in_many() {
        let json = format!("[{}1]", "1,".repeat(15_000));
        for (contents, expected) in [(1, 0), (4, 1), (400, 133)] {
            let mut reading = reading(vec![None; contents]);
            for content in &mut reading.contents {
                content.metadata.push(("key".into(), json.clone()));
            }
            let requested = Uri::parse("x:y").unwrap();
            let mut omissions = Omissions::default();
            let mut conversion = pin!(read_result(reading, &requested, |_| true, &mut omissions));
            let mut context = Context::from_waker(Waker::noop());
            let mut steps = 0;
            while conversion.as_mut().poll(&mut context).is_pending() {
                steps += 1;
            }
            assert_eq!(steps, expected, "{contents} contents");
        }
    }
}
