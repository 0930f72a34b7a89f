//! Folders in URIs: the direct children of a folder among sorted entries. Entries below a child folder are skipped with
//! one search, so the work depends on the number of children, not on the number of entries.

use std::sync::Arc;

use larder_model::resource::{Details, Entry, RenderCache};
use larder_model::uri::Uri;

/// The media type of a folder.
pub const DIRECTORY_TYPE: &str = "inode/directory";

/// A folder in a URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// The URI of the folder, which ends with a slash.
    prefix: String,
}

/// A file or a folder in a folder.
#[derive(Debug)]
pub struct Child<'e> {
    /// The position among the children: the URI, with a slash at the end if the child is a folder with entries.
    pub key: &'e str,
    /// The entries of the child: one entry, or all entries below the folder.
    pub entries: &'e [Arc<Entry>],
    /// The entry with the URI of the child, if there is one.
    own: Option<&'e Arc<Entry>>,
}

/// The children of a folder, in the order of their keys.
#[derive(Debug)]
pub struct Children<'d, 'e> {
    directory: &'d Directory,
    all: &'e [Arc<Entry>],
    rest: &'e [Arc<Entry>],
}

impl Directory {
    /// Returns the folder with this URI, with or without a slash at its end.
    pub fn new(uri: &str) -> Self {
        let slash = if uri.ends_with('/') { "" } else { "/" };
        Self {
            prefix: format!("{uri}{slash}"),
        }
    }

    /// The URI of the folder, with a slash at its end.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the children of the folder after this key. The entries are sorted by URI.
    pub fn children<'d, 'e>(
        &'d self,
        entries: &'e [Arc<Entry>],
        after: Option<&str>,
    ) -> Children<'d, 'e> {
        let is_before = |uri: &str| match after {
            None => uri < self.prefix.as_str(),
            Some(key) => uri <= key || (key.ends_with('/') && uri.starts_with(key)),
        };
        let begin = entries.partition_point(|entry| is_before(entry.uri.as_str()));
        Children {
            directory: self,
            all: entries,
            rest: &entries[begin..],
        }
    }

    /// Returns the key of the child folder in which a URI below the folder is. `None` if the URI is a direct child.
    fn child_folder<'u>(&self, uri: &'u str) -> Option<&'u str> {
        let below = uri.get(self.prefix.len()..)?;
        let path = below.split(['?', '#']).next().unwrap_or(below);
        // A part without a name cannot be opened: its URI would be the URI of its folder.
        let end = path.find('/').filter(|end| *end > 0)?;
        uri.get(..=self.prefix.len() + end)
    }
}

impl<'e> Iterator for Children<'_, 'e> {
    type Item = Child<'e>;

    fn next(&mut self) -> Option<Child<'e>> {
        loop {
            let first = self.rest.first()?.uri.as_str();
            let below = first.strip_prefix(&self.directory.prefix)?;
            if let Some(key) = self.directory.child_folder(first) {
                return Some(self.folder(key));
            }
            let entries = self.take_while(|uri| uri == first);
            // The entry of the folder itself is no child, and a child with entries below it follows as a folder.
            if !below.is_empty() && !has_below(self.rest, first) {
                return Some(Child {
                    key: first,
                    entries,
                    own: entries.first(),
                });
            }
        }
    }
}

impl<'e> Children<'_, 'e> {
    /// Takes all entries below a child folder.
    fn folder(&mut self, key: &'e str) -> Child<'e> {
        let entries = self.take_while(|uri| uri.starts_with(key));
        let uri = key.trim_end_matches('/');
        Child {
            key,
            entries,
            own: find(self.all, uri).or_else(|| find(entries, key)),
        }
    }

    /// Takes the next entries whose URIs satisfy a condition that no later entry satisfies.
    fn take_while(&mut self, condition: impl Fn(&str) -> bool) -> &'e [Arc<Entry>] {
        let count = self
            .rest
            .partition_point(|entry| condition(entry.uri.as_str()));
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        taken
    }
}

impl Child<'_> {
    /// Returns the entry of the child for a list. A folder without an entry of its own has only its name and its type.
    pub fn entry(&self) -> Option<Arc<Entry>> {
        let folder = self.key.strip_suffix('/');
        let Some(uri) = folder.filter(|uri| !uri.ends_with('/')) else {
            return self.own.cloned();
        };
        let mime_type = Some(DIRECTORY_TYPE.to_owned());
        let uri = Uri::parse(uri).ok()?;
        let entry = match self.own {
            Some(own) => Entry {
                uri,
                mime_type,
                size: None,
                ..(**own).clone()
            },
            None => Entry {
                name: uri.as_str().rsplit('/').next().unwrap_or_default().into(),
                uri,
                title: None,
                description: None,
                mime_type,
                size: None,
                version: None,
                details: Details::default(),
                rendered: RenderCache::default(),
            },
        };
        Some(Arc::new(entry))
    }
}

fn find<'e>(entries: &'e [Arc<Entry>], uri: &str) -> Option<&'e Arc<Entry>> {
    let at = entries.partition_point(|entry| entry.uri.as_str() < uri);
    entries.get(at).filter(|entry| entry.uri.as_str() == uri)
}

/// Whether there are entries below this URI.
fn has_below(entries: &[Arc<Entry>], uri: &str) -> bool {
    let folder = format!("{uri}/");
    let at = entries.partition_point(|entry| entry.uri.as_str() < folder.as_str());
    entries
        .get(at)
        .is_some_and(|entry| entry.uri.as_str().starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::tests::entries;

    /// Returns the children, read one at a time, so that each key is used as a position.
    fn listed(uris: &[&str], folder: &str) -> String {
        let entries = entries(uris);
        let directory = Directory::new(folder);
        let all: Vec<_> = directory
            .children(&entries, None)
            .map(|child| child.key.to_owned())
            .collect();
        let mut stepwise = Vec::new();
        while let Some(child) = directory
            .children(&entries, stepwise.last().map(String::as_str))
            .next()
        {
            stepwise.push(child.key.to_owned());
        }
        assert_eq!(all, stepwise);
        let names = directory.children(&entries, None).filter_map(|child| {
            let entry = child.entry()?;
            let is_folder = entry.mime_type.as_deref() == Some(DIRECTORY_TYPE);
            Some(format!(
                "{}{}",
                entry.uri,
                if is_folder { " (folder)" } else { "" }
            ))
        });
        names.collect::<Vec<_>>().join(", ")
    }

    const FILES: [&str; 9] = [
        "x://a/b",
        "x://a/b-c",
        "x://a/b.md",
        "x://a/b/1",
        "x://a/b/2/3",
        "x://a/c/?q=1/2",
        "x://a/d?q=1/2",
        "x://a/z",
        "x://ab/1",
    ];

    #[test]
    fn lists_direct_children_once() {
        let below_a =
            "x://a/b-c, x://a/b.md, x://a/b (folder), x://a/c (folder), x://a/d?q=1/2, x://a/z";
        assert_eq!(listed(&FILES, "x://a"), below_a);
        assert_eq!(listed(&FILES, "x://a/"), below_a);
        assert_eq!(listed(&FILES, "x://a/b"), "x://a/b/1, x://a/b/2 (folder)");
        assert_eq!(listed(&FILES, "x://a/b/2"), "x://a/b/2/3");
        assert_eq!(listed(&FILES, "x://"), "x://a (folder), x://ab (folder)");
        assert_eq!(listed(&FILES, "x://a/z"), "");
        assert_eq!(listed(&FILES, "x://nothing"), "");
    }

    #[test]
    fn a_part_without_a_name_is_no_folder() {
        assert_eq!(
            listed(&["x:/a//b", "x:/a//c/d", "x:/a/"], "x:/a"),
            "x:/a//b, x:/a//c/d"
        );
        assert_eq!(listed(&["x://a//b"], "x:"), "x://a//b");
    }

    #[test]
    fn a_folder_with_a_slash_is_listed_without_it() {
        assert_eq!(
            listed(&["x://a/s/", "x://a/t/", "x://a/t/1"], "x://a"),
            "x://a/s (folder), x://a/t (folder)"
        );
    }

    #[test]
    fn large_child_folders_are_skipped() {
        let uris: Vec<_> = (0..200_000)
            .map(|n| format!("x://a/{}/{n:06}", n / 50_000))
            .collect();
        let uris: Vec<_> = uris.iter().map(String::as_str).collect();
        let entries = entries(&uris);
        let directory = Directory::new("x://a");
        let begin = std::time::Instant::now();
        for _ in 0..100 {
            assert_eq!(directory.children(&entries, None).count(), 4);
        }
        assert!(begin.elapsed() < std::time::Duration::from_secs(2));
    }
}
