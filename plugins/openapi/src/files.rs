//! The files that a document refers to. Files in the granted folder become a part of the document, and the references
//! to these files become references within the document. The author of the document may be hostile: only JSON and YAML
//! of this folder is read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use larder_provider::{Error, Result};
use larder_web::{decode, encode_value};
use provider_support::digest;
use serde_json::{Map, Value};

use crate::document;

/// The place of the files in the document, by their paths in the folder.
const FILES: &str = "x-larder-files";
/// The beginning of pointers into files.
pub(crate) const FILES_POINTER: &str = "/x-larder-files/";
/// The extensions of files that are read.
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];
/// The maximum number of files.
const MAX_FILES: usize = 5_000;

/// A document with its files.
pub(crate) struct ResolvedDocument {
    pub(crate) root: Value,
    /// The references that could not be followed, and why.
    pub(crate) unread: BTreeMap<String, String>,
    /// Changes with any file that was read.
    pub(crate) version: String,
}

/// Follows references.
struct Reader<'a> {
    folder: &'a Path,
    /// The document itself, as a path in the folder.
    main: &'a str,
    max_bytes: u64,
    bytes: u64,
    files: BTreeMap<String, Result<Value, String>>,
    /// The files whose references are not followed yet.
    waiting: Vec<String>,
    unread: BTreeMap<String, String>,
    digests: BTreeSet<(String, String)>,
}

/// Whether a document may refer to other files. This check costs less than parsing the document.
pub(crate) fn are_in(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let targets = text.split("$ref").skip(1);
    targets
        .map(|rest| rest.trim_start_matches(['"', '\'', ':', ' ', '\t']))
        .any(|rest| !rest.starts_with('#'))
}

/// Follows the references of a document, which is the file `main` of a folder and has this number of bytes.
pub(crate) fn follow(
    mut root: Value,
    folder: &Path,
    main: &str,
    bytes: u64,
    max_bytes: u64,
) -> ResolvedDocument {
    let mut reader = Reader {
        folder,
        main,
        max_bytes,
        bytes,
        files: BTreeMap::new(),
        waiting: Vec::new(),
        unread: BTreeMap::new(),
        digests: BTreeSet::new(),
    };
    reader.rewrite(&mut root, main);
    reader.rewrite_files();
    let version = digest(&(&reader.digests, &reader.unread));
    let files: Map<String, Value> = reader
        .files
        .into_iter()
        .filter_map(|(path, file)| Some((path, file.ok()?)))
        .collect();
    if let (Some(root), false) = (root.as_object_mut(), files.is_empty()) {
        root.insert(FILES.to_owned(), files.into());
    }
    ResolvedDocument {
        root,
        unread: reader.unread,
        version,
    }
}

impl Reader<'_> {
    fn rewrite_files(&mut self) {
        while let Some(path) = self.waiting.pop() {
            let Some(Ok(file)) = self.files.get_mut(&path) else {
                continue;
            };
            let mut value = file.take();
            self.rewrite(&mut value, &path);
            self.files.insert(path, Ok(value));
        }
    }

    /// Rewrites all references of a value in a file.
    fn rewrite(&mut self, value: &mut Value, file: &str) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.rewrite(item, file)),
            Value::Object(map) => {
                if let Some(Value::String(reference)) = map.get_mut("$ref") {
                    match self.target(reference, file) {
                        Ok(Some(target)) => *reference = target,
                        Ok(None) => {}
                        Err(why) => _ = self.unread.insert(reference.clone(), why),
                    }
                }
                map.values_mut().for_each(|value| self.rewrite(value, file));
            }
            _ => {}
        }
    }

    /// The reference within the document that replaces a reference in a file; `None` if it does not name a file.
    fn target(&mut self, reference: &str, file: &str) -> Result<Option<String>, String> {
        let (name, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let is_url = name
            .split('/')
            .next()
            .is_some_and(|first| first.contains(':'));
        if is_url || name.starts_with('/') {
            return Ok(None);
        }
        let path = match name {
            "" => file.to_owned(),
            name => join(file, name).ok_or("it is outside of the granted folder")?,
        };
        if path == self.main {
            return Ok(Some(format!("#{fragment}")));
        }
        self.load(&path)?;
        let escaped = path.replace('~', "~0").replace('/', "~1");
        Ok(Some(format!(
            "#{FILES_POINTER}{}{fragment}",
            encode_value(&escaped)
        )))
    }

    /// Reads a file, unless this was done before.
    fn load(&mut self, path: &str) -> Result<(), String> {
        if !self.files.contains_key(path) {
            let file = self.read(path);
            self.files.insert(path.to_owned(), file);
            self.waiting.push(path.to_owned());
        }
        self.files[path].as_ref().map(drop).map_err(Clone::clone)
    }

    fn read(&mut self, path: &str) -> Result<Value, String> {
        let extension = path
            .rsplit_once('.')
            .map(|(_, extension)| extension.to_lowercase());
        if !extension.is_some_and(|extension| EXTENSIONS.contains(&extension.as_str())) {
            return Err("it is neither JSON nor YAML".to_owned());
        }
        if self.files.len() >= MAX_FILES {
            return Err(format!(
                "the document consists of more than {MAX_FILES} files"
            ));
        }
        let bytes = self.bytes(path).map_err(reason)?;
        self.digests.insert((path.to_owned(), digest(&bytes)));
        document::parse(&bytes).map_err(reason)
    }

    /// The content of a file, if all files together are not too large.
    fn bytes(&mut self, path: &str) -> Result<Vec<u8>> {
        let left = self.max_bytes.saturating_sub(self.bytes);
        let mut bytes = Vec::new();
        File::open(self.folder.join(path))?
            .take(left.saturating_add(1))
            .read_to_end(&mut bytes)?;
        if bytes.len() as u64 > left {
            let what = "the document with its files";
            return Err(Error::too_large(
                what,
                self.max_bytes,
                "setting `max_document`",
            ));
        }
        self.bytes += bytes.len() as u64;
        Ok(bytes)
    }
}

/// The absolute form of a relative reference in a file; `None` if it leads out of the folder.
fn join(file: &str, name: &str) -> Option<String> {
    let name = decode(name)?;
    let mut path: Vec<&str> = file.split('/').collect();
    path.pop();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = path.pop()?,
            part => path.push(part),
        }
    }
    Some(path.join("/"))
}

fn reason(error: Error) -> String {
    match error {
        Error::Invalid(why) => why,
        Error::NotFound => "there is no such file".to_owned(),
        other => other.to_string(),
    }
}
