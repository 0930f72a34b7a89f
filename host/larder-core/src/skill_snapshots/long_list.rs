//! The files of skills in a list that is longer than the catalog. The provider lists all pages twice: once to find the
//! folders with a `SKILL.md`, and once to find their files. The other entries are never in memory at the same time.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::{Catalog, Offer};
use crate::host_reads::{self, MAX_PAGES};
use larder_model::resource::Entry;
use larder_model::uri::Uri;
use larder_provider::CallError;
use larder_skills::SkillFolders;

/// Maximum number of entries in the folders of all skills of a provider.
const MAX_ENTRIES: usize = 50_000;

/// Returns the entries of all folders with a `SKILL.md`, sorted by URI. Returns `None` if there are too many, or if the
/// list does not end.
pub(super) async fn skill_entries(
    catalog: &Catalog,
    offer: &Offer,
) -> Result<Option<Vec<Arc<Entry>>>, CallError> {
    let mut folders = SkillFolders::default();
    let find = |entry: &Arc<Entry>| {
        folders.add(&entry.uri);
        folders.len() <= MAX_ENTRIES
    };
    let is_complete = for_each_entry(catalog, offer, find).await?;
    if !is_complete || folders.is_empty() {
        return Ok(is_complete.then(Vec::new));
    }
    let mut entries: BTreeMap<Uri, Arc<Entry>> = BTreeMap::new();
    let collect = |entry: &Arc<Entry>| {
        if folders.contain(&entry.uri) {
            entries.insert(entry.uri.clone(), entry.clone());
        }
        entries.len() <= MAX_ENTRIES
    };
    let is_complete = for_each_entry(catalog, offer, collect).await?;
    Ok(is_complete.then(|| entries.into_values().collect()))
}

/// Calls `visit` with each entry until it returns false. Returns whether all entries were visited.
async fn for_each_entry(
    catalog: &Catalog,
    offer: &Offer,
    mut visit: impl FnMut(&Arc<Entry>) -> bool,
) -> Result<bool, CallError> {
    if !offer.entries.iter().all(&mut visit) {
        return Ok(false);
    }
    let mut next = offer.next_cursor.clone();
    for _ in 0..MAX_PAGES {
        let Some(cursor) = next else {
            return Ok(true);
        };
        let page = host_reads::later_entries(catalog, offer, cursor).await?;
        if !page.entries.iter().all(&mut visit) {
            return Ok(false);
        }
        next = page.next;
    }
    Ok(false)
}
