//! The children of one folder, in pages.

use larder_provider::{DirectoryQuery, Entry, EntryPage, Result};
use provider_support::uri;

use crate::folder::Folder;
use crate::settings::Settings;
use crate::walk;

/// The children of a folder whose path is `names`. The cursor is the last URI segment of the previous page.
pub(crate) fn page(
    folder: &Folder,
    names: &[String],
    query: &DirectoryQuery,
    settings: &Settings,
) -> Result<EntryPage> {
    let limit = usize::try_from(query.limit).unwrap_or(usize::MAX).max(1);
    let scope = folder.scope(names, settings)?;
    let children = folder.children(names, &scope, query.cursor.as_deref(), limit, settings)?;
    let below = names
        .iter()
        .map(|name| uri::segment(name).into_owned() + "/");
    let prefix = folder.prefix.clone() + &below.collect::<String>();
    let entries: Vec<Entry> = children
        .sorted
        .iter()
        .filter_map(|child| {
            let path = [names, std::slice::from_ref(&child.name)].concat();
            let uri = format!("{prefix}{}", child.segment);
            if child.is_folder {
                return Some(walk::folder(uri, &path));
            }
            // A file that was removed in the meantime is not listed.
            let stat = folder.stat_visible(&path).ok()?;
            Some(walk::file(folder, uri, &path, &stat))
        })
        .collect();
    let last = children.sorted.last().filter(|_| children.more > 0);
    Ok(EntryPage {
        next_cursor: last.map(|last| last.segment.clone()),
        ..EntryPage::from(entries)
    })
}
