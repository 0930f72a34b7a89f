//! Something in a granted folder: a file with its content, or a folder, whose content is a listing.

use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use larder_provider::{Content, Error, Result, warn};

use super::{Child, is_folder};
use crate::settings::Settings;
use crate::{mime, uri};

/// As much of a folder as a reader takes in.
const LISTED: usize = 1000;

/// A file or a folder that is there.
#[derive(Debug)]
pub(crate) struct Found {
    path: PathBuf,
    metadata: Metadata,
}

impl Found {
    pub(crate) fn at(path: PathBuf) -> Result<Self> {
        let metadata = fs::metadata(&path).map_err(says_why)?;
        if !metadata.is_file() && !metadata.is_dir() {
            return Err(Error::NotFound);
        }
        Ok(Self { path, metadata })
    }

    pub(crate) fn is_file(&self) -> bool {
        self.metadata.is_file()
    }

    pub(crate) fn size(&self) -> u64 {
        self.metadata.len()
    }

    pub(crate) fn modified(&self) -> SystemTime {
        self.metadata.modified().unwrap_or(UNIX_EPOCH)
    }

    /// Size and time: as much as can be known without reading.
    pub(crate) fn version(&self) -> String {
        let since = self.modified().duration_since(UNIX_EPOCH).unwrap_or_default();
        format!("{:x}-{:x}", self.size(), since.as_nanos())
    }

    pub(crate) fn content(&self, settings: &Settings) -> Result<Content> {
        if self.is_file() { self.file(settings) } else { self.listing(settings) }
    }

    fn file(&self, settings: &Settings) -> Result<Content> {
        let too_large = |size| {
            let most = settings.most_bytes;
            Err(Error::Failed(format!(
                "the file has {size} bytes, and no more than {most} are read (setting `max-bytes`)"
            )))
        };
        if self.size() > settings.most_bytes {
            return too_large(self.size());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(self.size()).unwrap_or_default());
        // It may have grown since it was looked at.
        let file = fs::File::open(&self.path).map_err(says_why)?;
        file.take(settings.most_bytes + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > settings.most_bytes {
            return too_large(bytes.len() as u64);
        }
        Ok(content(bytes, self.path.file_name().and_then(|name| name.to_str()).and_then(mime::of)))
    }

    /// One name a line, a slash behind each folder.
    fn listing(&self, settings: &Settings) -> Result<Content> {
        let children = children(&self.path, settings)?;
        let mut listing = String::new();
        for child in children.iter().take(LISTED) {
            let slash = if child.is_folder { "/" } else { "" };
            listing.push_str(&format!("{}{slash}\n", child.name));
        }
        if children.len() > LISTED {
            listing.push_str(&format!("… and {} more\n", children.len() - LISTED));
        }
        Ok(Content::text(listing).mime("inode/directory"))
    }
}

/// The sandbox tells a missing right and a link that leads out of the folder by the same number.
fn says_why(error: io::Error) -> Error {
    match Error::from(error) {
        Error::Denied(_) => {
            Error::Denied("no right to read it, or a link out of the granted folder".to_owned())
        }
        error => error,
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

/// What is directly in a folder, in the order of its URIs. Names that are not UTF-8 have none.
pub(super) fn children(folder: &Path, settings: &Settings) -> Result<Vec<Child>> {
    let shown = fs::read_dir(folder).map_err(says_why)?.filter_map(|entry| {
        let entry = entry.ok()?;
        let name = entry.file_name().into_string().ok().filter(|name| settings.shows(name))?;
        let is_folder = is_folder(&entry);
        let segment = uri::segment(&name).into_owned() + if is_folder { "/" } else { "" };
        Some(Child { segment, name, is_folder })
    });
    let mut children: Vec<Child> = shown.take(settings.most_names + 1).collect();
    if children.len() > settings.most_names {
        warn!("{}: more than {} names, the rest is left out", folder.display(), settings.most_names);
        children.truncate(settings.most_names);
    }
    children.sort_unstable_by(|a, b| a.segment.cmp(&b.segment));
    Ok(children)
}
