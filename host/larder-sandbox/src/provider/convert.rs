//! Converts WIT types to types of the host. Invalid items are omitted and counted, so that an invalid item does not
//! affect the other items. Every count and every size is limited.

mod client_request;
mod content;
mod description;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod input;
mod metadata;
mod names;
mod pace;
mod parts;
mod prompts;
mod resources;
mod search;
mod settings;
mod texts;
mod tools;

pub(super) use self::description::description;
use self::pace::Pace;
pub(super) use self::prompts::{
    prompt_answer_size, prompt_page, prompt_result, prompt_size, wit_argument_query,
    wit_prompt_request,
};
pub(super) use self::resources::{
    entry_page, entry_size, read_result, reading_size, template_match, template_page,
    template_size, versions, wit_read_request,
};
pub(super) use self::search::{hits, hits_size, wit_search_query};
pub(super) use self::settings::declarations;
pub(super) use self::tools::{tool_answer_size, tool_page, tool_result, tool_size, wit_tool_call};
use super::omissions::Omissions;
use crate::bindings::larder::provider::provider_types as types;
use larder_model::policy::Grant;
use larder_model::resource::Completion;
use larder_model::size;
use larder_provider::{CallError, ListPage};

/// Maximum size of one item of a list in bytes of text, including icons and metadata.
const MAX_ITEM_BYTES: usize = 64 << 10;
/// Maximum size of a provider's cursor in bytes. The host's cursors contain it, and clients send them back in
/// requests.
const MAX_CURSOR_BYTES: usize = 2 << 10;
/// Maximum number of values in one completion.
const MAX_COMPLETIONS: usize = 100;
/// Maximum size of one completed value in bytes.
const MAX_COMPLETION_BYTES: usize = 4 << 10;
/// The largest number of completed values that all clients can represent.
const MAX_TOTAL: u64 = (1 << 53) - 1;

/// A page of a list before its conversion.
struct WitPage<W> {
    items: Vec<W>,
    next_cursor: Option<String>,
    freshness: Option<types::Freshness>,
}

/// Limits of a list, and the names of its items in messages.
struct ListLimits<'a> {
    /// Maximum number of items on the page.
    count: u32,
    /// Maximum size of one item.
    item_bytes: usize,
    /// The name of one item, such as "an entry".
    one: &'static str,
    /// The name of several items, such as "entries".
    many: &'static str,
    grant: &'a Grant,
}

impl<'a> ListLimits<'a> {
    fn new(grant: &'a Grant, one: &'static str, many: &'static str) -> Self {
        Self {
            count: grant.limits.page_entries,
            item_bytes: MAX_ITEM_BYTES,
            one,
            many,
            grant,
        }
    }
}

/// Converts a page of a list.
async fn list_page<W, T>(
    page: WitPage<W>,
    limits: &ListLimits<'_>,
    size: impl Fn(&W) -> usize,
    convert: impl FnMut(W, &mut Omissions<'_>) -> Option<T>,
) -> Result<ListPage<T>, CallError> {
    check_count(page.items.len(), limits.count, limits.many)?;
    let mut omissions = Omissions::new(limits.grant);
    let sized = page.items.into_iter().map(|item| (size(&item), item));
    let (items, bytes) = convert_items(sized, limits, &mut omissions, convert).await;
    let next = page
        .next_cursor
        .filter(|cursor| check_cursor(cursor, &mut omissions));
    Ok(ListPage {
        items,
        next,
        freshness: page.freshness.map(parts::freshness),
        omitted: omissions.summary(),
        unreadable_names: 0,
        bytes,
    })
}

/// Converts the items that are not too large, and returns the items with their total size. The size of an item is
/// limited because the catalog stores items and pages contain them.
async fn convert_items<W, T>(
    sized: impl Iterator<Item = (usize, W)>,
    limits: &ListLimits<'_>,
    omissions: &mut Omissions<'_>,
    mut convert: impl FnMut(W, &mut Omissions<'_>) -> Option<T>,
) -> (Vec<T>, u64) {
    let ListLimits {
        one, item_bytes, ..
    } = limits;
    let mut bytes = 0;
    let mut items = Vec::new();
    let mut pace = Pace::default();
    for (size, item) in sized {
        pace.item(size).await;
        if size > *item_bytes {
            omissions.add(too_large(one, *item_bytes));
        } else if let Some(item) = convert(item, omissions) {
            bytes += size as u64;
            items.push(item);
        }
    }
    (items, bytes)
}

/// The reason why an item is omitted that has more bytes than `max`.
fn too_large(what: &str, max: usize) -> String {
    format!("{what} of more than {}", size::show(max as u64))
}

fn check_cursor(cursor: &str, omissions: &mut Omissions<'_>) -> bool {
    let is_short = cursor.len() <= MAX_CURSOR_BYTES;
    if !is_short {
        omissions.add(format!(
            "the rest of a list: its cursor has more than {}",
            size::show(MAX_CURSOR_BYTES as u64)
        ));
    }
    is_short
}

fn check_count(count: usize, max: u32, what: &str) -> Result<(), CallError> {
    if count <= max as usize {
        return Ok(());
    }
    Err(CallError::Failed(format!(
        "a page has {count} {what}; the limit is {max} (`limits.page_entries`)"
    )))
}

/// Fails if a part of a result has more items than the host accepts.
fn check_result_count(count: usize, max: usize, what: &str) -> Result<(), CallError> {
    if count <= max {
        Ok(())
    } else {
        Err(CallError::Failed(format!(
            "it returned {count} {what}; the limit is {max}"
        )))
    }
}

/// Bounds the number and the sizes of completed values.
pub(super) fn completion(
    mut values: Vec<String>,
    total: Option<u64>,
    more: bool,
    omissions: &mut Omissions<'_>,
) -> Completion {
    let has_more = more || values.len() > MAX_COMPLETIONS;
    values.truncate(MAX_COMPLETIONS);
    let count = values.len();
    values.retain(|value| value.len() <= MAX_COMPLETION_BYTES);
    if values.len() < count {
        omissions.add(too_large("a completion", MAX_COMPLETION_BYTES));
    }
    Completion {
        values,
        total: total.map(|total| total.min(MAX_TOTAL)),
        has_more,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_completions() {
        let mut omissions = Omissions::default();
        let mut completion = |values, total| completion(values, total, false, &mut omissions);
        let long = completion(vec![String::new(); MAX_COMPLETIONS + 1], Some(u64::MAX));
        assert_eq!(
            (long.values.len(), long.total, long.has_more),
            (MAX_COMPLETIONS, Some(MAX_TOTAL), true)
        );
        assert!(!completion(vec![String::new(); MAX_COMPLETIONS], None).has_more);
        let large = completion(vec!["x".repeat(10 << 20), "x".into()], None);
        assert_eq!(large.values, ["x"]);
        assert_eq!(omissions.summary(), ["a completion of more than 4 KiB"]);
    }
}
