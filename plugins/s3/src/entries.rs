//! Objects as entries, folders as JSON, and the rank of a key in a search.

use larder_provider::http::Response;
use larder_provider::{Details, Entry};
use rusty_s3::actions::ListObjectsV2Response;
use rusty_s3::actions::list_objects_v2::ListObjectsContent;
use serde_json::{Value, json};

use crate::Store;
use crate::address::{Addresses, is_folder};

/// The media types of stores for objects without a declared type.
const UNKNOWN: [&str; 3] = [
    "application/octet-stream",
    "binary/octet-stream",
    "application/x-www-form-urlencoded",
];

impl Store {
    pub(crate) fn entry(&self, object: ListObjectsContent) -> Entry {
        let name = object.key.rsplit('/').next().unwrap_or_default();
        let mut entry = Entry::new(self.addresses.uri(&object.key), name);
        entry.title = (name != object.key).then(|| object.key.clone());
        entry.mime_type = mime_of_name(&object.key).map(str::to_owned);
        entry.size = object.size;
        entry.version = object
            .etag
            .filter(|tag| !tag.is_empty())
            .map(|tag| format!("etag:{tag}"));
        let details = Details::kind("object");
        let details = match object.last_modified {
            Some(time) => details.last_modified(time),
            None => details,
        };
        entry.details(details)
    }
}

/// The media type that replaces the one of the response: if the store has no type for an object, the type of its name.
pub(crate) fn mime_type(response: &Response, key: &str) -> Option<&'static str> {
    let of_store = larder_web::media_type(response);
    let is_unknown = of_store.is_none_or(|mime| UNKNOWN.contains(&mime.as_str()));
    mime_of_name(key).filter(|_| is_unknown)
}

fn mime_of_name(key: &str) -> Option<&'static str> {
    provider_support::mime::from_name(key.rsplit('/').next()?)
}

/// The content of a folder.
pub(crate) fn folder_json(
    addresses: &Addresses,
    prefix: &str,
    listed: ListObjectsV2Response,
) -> Value {
    let folders: Vec<_> = listed
        .common_prefixes
        .iter()
        .map(|folder| addresses.uri(&folder.prefix))
        .collect();
    let objects = listed.contents.iter().filter(|object| !is_folder(&object.key)).map(|object| {
        json!({ "uri": addresses.uri(&object.key), "size": object.size, "lastModified": object.last_modified })
    });
    json!({
        "uri": addresses.uri(prefix),
        "folders": folders,
        "objects": objects.collect::<Vec<_>>(),
        "isComplete": listed.next_continuation_token.is_none(),
    })
}

/// How well a key matches: words in the name of the object count more. `None` if the key does not contain all words.
/// The words are in lower case.
pub(crate) fn rank(key: &str, words: &[String]) -> Option<usize> {
    let key = key.to_lowercase();
    let name = key.rsplit('/').next().unwrap_or_default();
    let is_match =
        !words.is_empty() && !is_folder(&key) && words.iter().all(|word| key.contains(word));
    is_match.then(|| {
        words
            .iter()
            .filter(|word| name.contains(word.as_str()))
            .count()
    })
}
