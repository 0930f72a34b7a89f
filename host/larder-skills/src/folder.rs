//! The folders among the resources of a provider that contain a `SKILL.md`.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::directory::DIRECTORY_TYPE;
use crate::not_a_skill::{MAX_BYTES, MAX_FILES, NotASkill};
use larder_model::resource::Entry;
use larder_model::uri::Uri;

/// The end of the URI of a `SKILL.md`.
const SKILL_MD: &str = "/SKILL.md";

/// A folder with a `SKILL.md`. Whether it is a skill depends on its content.
#[derive(Debug, Clone, Copy)]
pub struct SkillFolder<'e> {
    /// The entry of `SKILL.md`.
    pub skill_md: &'e Arc<Entry>,
    /// The entries below the folder, sorted by URI.
    entries: &'e [Arc<Entry>],
}

/// Returns the folders with a `SKILL.md`, also those inside other ones. The entries are sorted by URI.
pub fn skill_folders(entries: &[Arc<Entry>]) -> impl Iterator<Item = SkillFolder<'_>> {
    let is_first = |at: usize| at == 0 || entries[at - 1].uri.as_str() != entries[at].uri.as_str();
    let found = entries
        .iter()
        .enumerate()
        .filter(move |(at, entry)| is_skill_md(&entry.uri) && is_first(*at));
    found.map(|(_, skill_md)| SkillFolder::of(skill_md, entries))
}

/// Folders with a `SKILL.md`, which are found one entry after the other.
#[derive(Debug, Default)]
pub struct SkillFolders(BTreeSet<String>);

impl SkillFolders {
    /// Adds the folder of a `SKILL.md`. Other URIs are ignored.
    pub fn add(&mut self, uri: &Uri) {
        if is_skill_md(uri) {
            let folder = uri.as_str().trim_end_matches("SKILL.md");
            self.0.insert(folder.to_owned());
        }
    }

    /// The number of folders.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no folder.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of the folders contains this URI.
    pub fn contain(&self, uri: &Uri) -> bool {
        let uri = uri.as_str();
        let ends = uri.match_indices('/').map(|(at, _)| at + 1);
        ends.rev().any(|end| self.0.contains(&uri[..end]))
    }
}

fn is_skill_md(uri: &Uri) -> bool {
    let uri = uri.as_str();
    uri.ends_with(SKILL_MD) && !uri.contains(['?', '#'])
}

impl<'e> SkillFolder<'e> {
    fn of(skill_md: &'e Arc<Entry>, entries: &'e [Arc<Entry>]) -> Self {
        let prefix = skill_md.uri.as_str().trim_end_matches("SKILL.md");
        let begin = entries.partition_point(|entry| entry.uri.as_str() < prefix);
        let below = &entries[begin..];
        let end = below.partition_point(|entry| entry.uri.as_str().starts_with(prefix));
        Self {
            skill_md,
            entries: &below[..end],
        }
    }

    /// The last folder in the URI, which must be the name of the skill.
    pub fn name(&self) -> &'e str {
        let uri = self.skill_md.uri.as_str();
        let folder = uri.strip_suffix(SKILL_MD).unwrap_or(uri);
        folder.rsplit('/').next().unwrap_or(folder)
    }

    /// Returns the files of the folder, unless there are too many, or their URIs are ambiguous, or they are too large
    /// according to their entries.
    pub fn files(&self) -> Result<Vec<&'e Arc<Entry>>, NotASkill> {
        let mut files: Vec<&Arc<Entry>> = Vec::new();
        let mut bytes = 0_u64;
        for entry in self.entries {
            let is_repeated = files.last().is_some_and(|last| last.uri == entry.uri);
            if is_folder(entry) || is_repeated {
                continue;
            }
            if has_dot_segment(entry.uri.as_str()) {
                return Err(NotASkill::DotSegment(entry.uri.to_string()));
            }
            files.push(entry);
            bytes = bytes.saturating_add(entry.size.unwrap_or_default());
            if files.len() > MAX_FILES {
                return Err(NotASkill::TooManyFiles);
            }
        }
        if bytes > MAX_BYTES {
            return Err(NotASkill::TooLarge);
        }
        Ok(files)
    }
}

fn is_folder(entry: &Entry) -> bool {
    entry.mime_type.as_deref() == Some(DIRECTORY_TYPE) || entry.uri.as_str().ends_with('/')
}

/// Whether a part of the path is `.` or `..`, also if it is percent-encoded. Clients would resolve it.
fn has_dot_segment(uri: &str) -> bool {
    uri.split(['/', '?', '#']).any(|segment| {
        let segment = segment.replace("%2e", ".").replace("%2E", ".");
        segment == "." || segment == ".."
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use larder_model::resource::{Details, RenderCache};

    pub(crate) fn entry(uri: &str, size: Option<u64>) -> Arc<Entry> {
        Arc::new(Entry {
            uri: Uri::parse(uri).unwrap(),
            name: uri.rsplit('/').next().unwrap().into(),
            title: None,
            description: None,
            mime_type: None,
            size,
            version: None,
            details: Details::default(),
            rendered: RenderCache::default(),
        })
    }

    pub(crate) fn entries(uris: &[&str]) -> Vec<Arc<Entry>> {
        let mut entries: Vec<_> = uris.iter().map(|uri| entry(uri, None)).collect();
        entries.sort_by(|a, b| a.uri.cmp(&b.uri));
        entries
    }

    #[test]
    fn folders_are_found_one_entry_after_the_other() {
        let uri = |text: &str| Uri::parse(text).unwrap();
        let mut folders = SkillFolders::default();
        for added in ["x://a/b/SKILL.md", "x://c/skill.md", "x://c/SKILL.md?x"] {
            folders.add(&uri(added));
        }
        assert_eq!(folders.len(), 1);
        for (inside, expected) in [
            ("x://a/b/SKILL.md", true),
            ("x://a/b/c/d", true),
            ("x://a/bb", false),
            ("x://a/c", false),
        ] {
            assert_eq!(folders.contain(&uri(inside)), expected, "{inside}");
        }
    }

    /// Returns the folders, with the files of each.
    fn found(entries: &[Arc<Entry>]) -> Vec<String> {
        let show = |folder: SkillFolder<'_>| {
            let files = match folder.files() {
                Ok(files) => files.iter().map(|file| file.uri.to_string()).collect(),
                Err(error) => vec![error.to_string()],
            };
            format!("{}: {}", folder.name(), files.join(" "))
        };
        skill_folders(entries).map(show).collect()
    }

    #[test]
    fn finds_folders_also_in_others() {
        let all = entries(&[
            "skill://a/SKILL.md",
            "skill://a/SKILL.md",
            "skill://a/b/SKILL.md",
            "skill://a/b/x.md",
            "skill://a/z.py",
            "skill://ab/SKILL.md",
            "skill://a.md",
            "skill://c/skill.md",
            "skill://d/SKILL.md?v=1",
            "skill://e/MY-SKILL.md",
        ]);
        assert_eq!(
            found(&all),
            [
                "a: skill://a/SKILL.md skill://a/b/SKILL.md skill://a/b/x.md skill://a/z.py",
                "b: skill://a/b/SKILL.md skill://a/b/x.md",
                "ab: skill://ab/SKILL.md",
            ]
        );
    }

    #[test]
    fn omits_folders_and_rejects_what_leads_out() {
        let mut all = entries(&["x://s/a/SKILL.md", "x://s/a/sub/"]);
        all.push(Arc::new(Entry {
            mime_type: Some(DIRECTORY_TYPE.into()),
            ..(*entry("x://s/a/t", None)).clone()
        }));
        assert_eq!(found(&all), ["a: x://s/a/SKILL.md"]);
        for bad in [
            "x://s/a/../b",
            "x://s/a/%2e%2E/b",
            "x://s/a/./b",
            "x://s/a/..",
        ] {
            let all = entries(&["x://s/a/SKILL.md", bad]);
            assert_eq!(found(&all), [format!("a: `{bad}` has a part `.` or `..`")]);
        }
    }

    #[test]
    fn limits_are_checked_before_files_are_read() {
        let mut all = entries(&["x://a/SKILL.md"]);
        all.extend((0..512).map(|n| entry(&format!("x://a/f{n:03}"), Some(1))));
        assert_eq!(found(&all), ["a: it has more than 512 files"]);
        all.pop();
        assert!(found(&all)[0].starts_with("a: x://a/SKILL.md x://a/f000"));
        let large = [
            entry("x://a/SKILL.md", None),
            entry("x://a/b", Some(MAX_BYTES)),
            entry("x://a/c", Some(u64::MAX)),
        ];
        assert_eq!(found(&large), ["a: its files are larger than 16 MiB"]);
    }
}
