//! The source of the document: a file in a granted folder, or a URL.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use larder_provider::{Error, Freshness, Result};
use larder_web::{BaseUrl, Client, Credentials, caching};
use provider_support::digest;

use crate::document::{self, Document};
use crate::files;
use crate::settings::Settings;

/// The document, its version, and how long it may be cached.
pub(crate) struct Source {
    pub(crate) document: Document,
    pub(crate) version: String,
    pub(crate) freshness: Option<Freshness>,
}

/// Reads the document.
pub(crate) fn load(settings: &Settings) -> Result<Source> {
    match is_url(&settings.document) {
        true => fetch(settings),
        false => from_folder(settings),
    }
}

/// The current version of the document, if finding the version costs less than reading and parsing the document.
pub(crate) fn version(settings: &Settings) -> Option<String> {
    match is_url(&settings.document) {
        true => {
            let responses = client(settings)
                .ok()?
                .heads(std::slice::from_ref(&settings.document));
            caching::version(responses.first()?.as_ref()?)
        }
        false => {
            let bytes = read(settings).ok()?;
            if files::are_in(&bytes) {
                Some(from_folder(settings).ok()?.version)
            } else {
                Some(digest(&bytes))
            }
        }
    }
}

pub(crate) fn is_url(document: &str) -> bool {
    document.starts_with("https://") || document.starts_with("http://")
}

/// The document in a file, with the files that it refers to.
fn from_folder(settings: &Settings) -> Result<Source> {
    let bytes = read(settings)?;
    let freshness = Some(Freshness::everyone(settings.ttl));
    let version = digest(&bytes);
    if !files::are_in(&bytes) {
        return Ok(Source {
            document: Document::parse(&bytes)?,
            version,
            freshness,
        });
    }
    let path = Path::new(&settings.document);
    let folder = folder_of(path);
    let main = path
        .strip_prefix(&folder)
        .unwrap_or(path)
        .to_string_lossy()
        .into_owned();
    let root = document::parse(&bytes)?;
    let followed = files::follow(
        root,
        &folder,
        &main,
        bytes.len() as u64,
        settings.max_document,
    );
    let version = digest(&(version, followed.version));
    Ok(Source {
        document: Document::new(followed.root, followed.unread)?,
        version,
        freshness,
    })
}

/// The granted folder that contains the document.
fn folder_of(document: &Path) -> PathBuf {
    let granted = provider_support::disk::granted()
        .into_iter()
        .map(|(path, _)| PathBuf::from(path));
    let containing = granted.filter(|folder| document.starts_with(folder));
    let nearest = containing.max_by_key(|folder| folder.as_os_str().len());
    nearest.unwrap_or_else(|| document.parent().map(Path::to_owned).unwrap_or_default())
}

fn read(settings: &Settings) -> Result<Vec<u8>> {
    let hint = |error: std::io::Error| match Error::from(error) {
        Error::NotFound => {
            let path = &settings.document;
            Error::Failed(format!(
                "there is no file `{path}`: grant its folder with `dirs`, or change `document`"
            ))
        }
        other => other,
    };
    let file = File::open(&settings.document).map_err(hint)?;
    let mut bytes = Vec::new();
    file.take(settings.max_document.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(hint)?;
    if bytes.len() as u64 > settings.max_document {
        return Err(too_large(settings));
    }
    Ok(bytes)
}

fn fetch(settings: &Settings) -> Result<Source> {
    let response = client(settings)?
        .get_kept(&settings.document, None)
        .map_err(|error| match error {
            // The document itself is missing, instead of a resource that a client requested.
            Error::NotFound => Error::Unavailable("there is no document at its URL".to_owned()),
            other => other,
        })?;
    let version = caching::version(&response).unwrap_or_else(|| digest(&response.body));
    let freshness = caching::freshness(&response, settings.ttl);
    Ok(Source {
        document: Document::parse(&response.body)?,
        version,
        freshness,
    })
}

/// A client without credentials, because the credentials of the API are not for the server of the document.
fn client(settings: &Settings) -> Result<Client> {
    let base = BaseUrl::origin_of(&settings.document)
        .ok_or("the setting `document` is not a valid URL")?;
    let (timeout, max_bytes) = (settings.timeout, settings.max_document);
    Ok(Client {
        base,
        credentials: Credentials::default(),
        headers: Vec::new(),
        timeout,
        max_bytes,
    })
}

fn too_large(settings: &Settings) -> Error {
    Error::too_large(
        "the document",
        settings.max_document,
        "setting `max_document`",
    )
}
