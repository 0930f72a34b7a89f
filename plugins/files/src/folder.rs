//! One granted folder: which URIs are inside, what is found there, and what comes next on a path.

use larder_provider::{Completion, Content, Error, Result, warn};

use crate::disk::{self, Disk, Name, Stat};
use crate::settings::Settings;
use crate::{mime, uri};

/// As much of a folder as a reader takes in.
const LISTED: usize = 1000;

/// A folder that the operator granted.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Its URI, with a slash behind it.
    pub(crate) prefix: String,
    disk: Disk,
}

/// One name in a folder.
#[derive(Debug)]
pub(crate) struct Child {
    /// Its segment in a URI, with a slash behind that of a folder: sorting by this sorts the
    /// URIs of all that is below.
    pub(crate) segment: String,
    pub(crate) name: String,
    pub(crate) is_folder: bool,
}

/// The folders that this guest was granted.
pub(crate) fn granted() -> Vec<Folder> {
    disk::granted().into_iter().map(|(path, disk)| Folder::new(&path, disk)).collect()
}

impl Folder {
    /// A folder that was granted under a path.
    pub(crate) fn new(path: &str, disk: Disk) -> Self {
        Self { prefix: uri::prefix(path), disk }
    }

    /// The last part of its path.
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

    /// Whether a URI is this folder's, or is below it.
    pub(crate) fn holds(&self, uri: &str) -> bool {
        uri.starts_with(&self.prefix) || self.prefix.strip_suffix('/') == Some(uri)
    }

    /// What is known of the file or folder that a path leads to. What is not shown is not there.
    pub(crate) fn find(&self, path: &[String], settings: &Settings) -> Result<Stat> {
        if !path.iter().all(|name| settings.shows(name)) {
            return Err(Error::NotFound);
        }
        self.disk.stat(path)
    }

    /// A file's content, or a folder's: one name a line, a slash behind each folder.
    pub(crate) fn content(&self, path: &[String], found: &Stat, settings: &Settings) -> Result<Content> {
        if found.is_file {
            let bytes = self.disk.read(path, found, settings.most_bytes)?;
            return Ok(content(bytes, path.last().and_then(|name| mime::of(name))));
        }
        let children = self.children(path, settings)?;
        let mut listing: String = children.iter().take(LISTED).map(|child| child.shown() + "\n").collect();
        if children.len() > LISTED {
            listing.push_str(&format!("… and {} more\n", children.len() - LISTED));
        }
        Ok(Content::text(listing).mime("inode/directory"))
    }

    /// What begins with what was typed: names in the folder that it has reached so far.
    pub(crate) fn suggest(&self, typed: &str, settings: &Settings) -> Completion {
        let (reached, path): (&str, Vec<String>) = match typed.rsplit_once('/') {
            Some((above, _)) => (&typed[..=above.len()], above.split('/').map(str::to_owned).collect()),
            None => ("", Vec::new()),
        };
        let leads_down = |name: &String| !matches!(name.as_str(), "" | "." | "..") && settings.shows(name);
        if !path.iter().all(leads_down) {
            return Completion::default();
        }
        let children = self.children(&path, settings).unwrap_or_default();
        Completion::matching(children.iter().map(|child| format!("{reached}{}", child.shown())), typed)
    }

    /// What is directly below, in the order of its URIs.
    pub(crate) fn children(&self, path: &[String], settings: &Settings) -> Result<Vec<Child>> {
        let shown = self.disk.names(path)?.filter(|name| settings.shows(&name.name)).map(Child::from);
        let mut children: Vec<Child> = shown.take(settings.most_names.saturating_add(1)).collect();
        if children.len() > settings.most_names {
            let folder = path.join("/");
            warn!("{}{folder}: more than {} names, the rest is left out", self.prefix, settings.most_names);
            children.truncate(settings.most_names);
        }
        children.sort_unstable_by(|a, b| a.segment.cmp(&b.segment));
        Ok(children)
    }
}

impl From<Name> for Child {
    fn from(Name { name, is_folder }: Name) -> Self {
        let segment = uri::segment(&name).into_owned() + if is_folder { "/" } else { "" };
        Self { segment, name, is_folder }
    }
}

impl Child {
    fn shown(&self) -> String {
        format!("{}{}", self.name, if self.is_folder { "/" } else { "" })
    }
}

impl Stat {
    /// Size and time: as much as can be known without reading.
    pub(crate) fn version(&self) -> String {
        format!("{:x}-{:x}", self.size, self.modified.as_nanos())
    }
}

/// Text where it is text and may be: a picture stays bytes even if they happen to be UTF-8.
fn content(bytes: Vec<u8>, mime: Option<&str>) -> Content {
    if mime.is_some_and(mime::is_binary) || bytes.contains(&0) {
        return Content::blob(bytes).mime(mime.unwrap_or("application/octet-stream"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Content::text(text).mime(mime.unwrap_or("text/plain")),
        Err(error) => Content::blob(error.into_bytes()).mime(mime.unwrap_or("application/octet-stream")),
    }
}
