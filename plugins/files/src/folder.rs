//! A granted folder: its URIs, its contents and path completion.

use larder_provider::{Completion, Content, Error, Result, warn};

use crate::disk::{self, DirEntry, Disk, Stat};
use crate::settings::Settings;
use crate::{mime, uri};

/// Maximum number of names in the content of a folder.
const MAX_LISTING: usize = 1000;

/// A granted folder.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Its URI with a trailing slash.
    pub(crate) prefix: String,
    disk: Disk,
}

/// A file or folder in a folder.
#[derive(Debug)]
pub(crate) struct Child {
    /// The URI segment, with a trailing slash for a folder. Sorting by it also sorts the URIs of everything
    /// below.
    pub(crate) segment: String,
    pub(crate) name: String,
    pub(crate) is_folder: bool,
}

/// The folders that were granted to this guest.
pub(crate) fn granted() -> Vec<Folder> {
    disk::granted().into_iter().map(|(path, disk)| Folder::new(&path, disk)).collect()
}

impl Folder {
    /// Creates a folder that was granted with this guest path.
    pub(crate) fn new(path: &str, disk: Disk) -> Self {
        Self { prefix: uri::prefix(path), disk }
    }

    /// The last segment of its path.
    pub(crate) fn name(&self) -> &str {
        self.prefix
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .filter(|name| *name != "file:")
            .unwrap_or("files")
    }

    pub(crate) fn template(&self) -> String {
        format!("{}{{+path}}", self.prefix)
    }

    /// Whether a URI is the URI of this folder or below it.
    pub(crate) fn contains(&self, uri: &str) -> bool {
        uri.starts_with(&self.prefix) || self.prefix.strip_suffix('/') == Some(uri)
    }

    /// The metadata of a file or folder. Hidden names are reported as not found.
    pub(crate) fn stat(&self, path: &[String], settings: &Settings) -> Result<Stat> {
        if !path.iter().all(|name| settings.is_visible(name)) {
            return Err(Error::NotFound);
        }
        self.disk.stat(path)
    }

    /// The content of a file, or the listing of a folder: one name per line, with a trailing slash for
    /// folders.
    pub(crate) fn content(&self, path: &[String], stat: &Stat, settings: &Settings) -> Result<Content> {
        if stat.is_file {
            let bytes = self.disk.read(path, stat, settings.max_bytes)?;
            return Ok(content(bytes, path.last().and_then(|name| mime::from_name(name))));
        }
        let children = self.children(path, settings)?;
        let mut listing: String =
            children.iter().take(MAX_LISTING).map(|child| child.display_name() + "\n").collect();
        if children.len() > MAX_LISTING {
            listing.push_str(&format!("… and {} more\n", children.len() - MAX_LISTING));
        }
        Ok(Content::text(listing).mime("inode/directory"))
    }

    /// Completes a path that was typed so far with the names in its last folder.
    pub(crate) fn complete(&self, typed: &str, settings: &Settings) -> Completion {
        let (parent, path): (&str, Vec<String>) = match typed.rsplit_once('/') {
            Some((parent, _)) => (&typed[..=parent.len()], parent.split('/').map(str::to_owned).collect()),
            None => ("", Vec::new()),
        };
        let is_valid = |name: &String| !matches!(name.as_str(), "" | "." | "..") && settings.is_visible(name);
        if !path.iter().all(is_valid) {
            return Completion::default();
        }
        let children = self.children(&path, settings).unwrap_or_default();
        Completion::matching(children.iter().map(|child| format!("{parent}{}", child.display_name())), typed)
    }

    /// The files and folders directly in a folder, sorted by URI.
    pub(crate) fn children(&self, path: &[String], settings: &Settings) -> Result<Vec<Child>> {
        let visible =
            self.disk.entries(path)?.filter(|entry| settings.is_visible(&entry.name)).map(Child::from);
        let mut children: Vec<Child> = visible.take(settings.max_names.saturating_add(1)).collect();
        if children.len() > settings.max_names {
            let folder = path.join("/");
            warn!(
                "{}{folder}: list truncated to {} names (setting `max_names`)",
                self.prefix, settings.max_names
            );
            children.truncate(settings.max_names);
        }
        children.sort_unstable_by(|a, b| a.segment.cmp(&b.segment));
        Ok(children)
    }
}

impl From<DirEntry> for Child {
    fn from(DirEntry { name, is_folder }: DirEntry) -> Self {
        let segment = uri::segment(&name).into_owned() + if is_folder { "/" } else { "" };
        Self { segment, name, is_folder }
    }
}

impl Child {
    fn display_name(&self) -> String {
        format!("{}{}", self.name, if self.is_folder { "/" } else { "" })
    }
}

impl Stat {
    /// A version from size and modification time, which needs no read.
    pub(crate) fn version(&self) -> String {
        format!("{:x}-{:x}", self.size, self.modified.as_nanos())
    }
}

/// A text content if the bytes are UTF-8 and the media type is not binary, so that for example images are
/// never returned as text.
fn content(bytes: Vec<u8>, mime: Option<&str>) -> Content {
    if mime.is_some_and(mime::is_binary) || bytes.contains(&0) {
        return Content::blob(bytes).mime(mime.unwrap_or("application/octet-stream"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Content::text(text).mime(mime.unwrap_or("text/plain")),
        Err(error) => Content::blob(error.into_bytes()).mime(mime.unwrap_or("application/octet-stream")),
    }
}
