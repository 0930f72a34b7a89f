//! Requests to the store. The host signs them, or each is signed in its URL if settings contain a key.

use std::time::Duration;

use larder_provider::http::Response;
use larder_provider::{Error, Result};
use larder_web::Client;
use rusty_s3::S3Action;
use rusty_s3::actions::{ListObjectsV2, ListObjectsV2Response};

use crate::settings::Settings;

/// A request is sent at once, so it does not need a longer time, also if the clocks differ.
const VALID_FOR: Duration = Duration::from_secs(300);
/// The maximum number of keys that a store returns at once.
pub(crate) const MAX_KEYS: usize = 1_000;

/// The maximum size of a list, of at most 1,000 keys of 1,024 bytes, which are encoded.
const MAX_LIST_BYTES: u64 = 6 << 20;
const NAMESPACE: &str = "http://s3.amazonaws.com/doc/2006-03-01/";

/// Which keys are listed.
#[derive(Debug, Default)]
pub(crate) struct Keys<'a> {
    pub(crate) prefix: &'a str,
    /// The key after which the list begins.
    pub(crate) after: Option<&'a str>,
    /// Whether keys with the same folder below the prefix are combined.
    pub(crate) by_folder: bool,
    pub(crate) limit: usize,
}

impl Settings {
    /// Gets an object. Fails with [`Error::NotModified`] if the version is still current.
    pub(crate) fn object(&self, key: &str, known_version: Option<&str>) -> Result<Response> {
        let action = self.bucket.get_object(self.credentials.as_ref(), key);
        self.client
            .get(action.sign(VALID_FOR).as_str(), known_version)
            .map_err(explained)
    }

    /// Gets the headers of objects. `None` for each that cannot be read.
    pub(crate) fn heads(&self, keys: &[String]) -> Vec<Option<Response>> {
        let head = |key: &String| {
            let action = self.bucket.head_object(self.credentials.as_ref(), key);
            action.sign(VALID_FOR).to_string()
        };
        self.client
            .heads(&keys.iter().map(head).collect::<Vec<_>>())
    }

    /// Gets the keys of a list, at most as many as a store returns at once.
    pub(crate) fn list(&self, keys: &Keys<'_>) -> Result<ListObjectsV2Response> {
        let mut action = self.bucket.list_objects_v2(self.credentials.as_ref());
        action.with_prefix(keys.prefix);
        action.with_max_keys(keys.limit.clamp(1, MAX_KEYS));
        if keys.by_folder {
            action.with_delimiter("/");
        }
        keys.after
            .into_iter()
            .for_each(|after| action.with_start_after(after));
        let client = Client {
            max_bytes: MAX_LIST_BYTES.max(self.client.max_bytes),
            ..self.client.clone()
        };
        let response = client
            .get(action.sign(VALID_FOR).as_str(), None)
            .map_err(explained)?;
        let invalid = || Error::failed("the store returned a list that is not valid");
        let text = String::from_utf8(response.body).map_err(|_| invalid())?;
        ListObjectsV2::parse_response(&with_namespace(&text)).map_err(|_| invalid())
    }
}

/// A list with the namespace of Amazon S3: some stores use an older one, or none.
fn with_namespace(xml: &str) -> String {
    let root = "<ListBucketResult";
    let Some((before, after)) = xml.split_once(root) else {
        return xml.to_owned();
    };
    let Some((_, content)) = after.split_once('>') else {
        return xml.to_owned();
    };
    format!("{before}{root} xmlns=\"{NAMESPACE}\">{content}")
}

/// Explains an error of a store, if it has another meaning than for other servers.
fn explained(error: Error) -> Error {
    match error {
        Error::Denied(reason) if reason.contains("status 403") => Error::Denied(
            "the store refuses access: check `region`, `access_key_id` and `secret_access_key` in `auth` of the host or in \
             the settings, the permissions of the key (s3:GetObject and s3:ListBucket), and the clock"
                .into(),
        ),
        error => error,
    }
}
