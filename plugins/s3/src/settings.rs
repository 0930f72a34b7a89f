//! The settings of this provider, and their defaults.

use std::time::Duration;

use larder_provider::{Declaration, Error, Result, Setting};
use larder_web::{BaseUrl, Client};
use rusty_s3::{Bucket, Credentials, UrlStyle};
use url::Url;

const ENDPOINT: Setting<String> = Setting::text(
    "endpoint",
    "The URL of the store, such as `https://s3.eu-central-1.amazonaws.com`.",
)
.required();
const BUCKET: Setting<String> = Setting::text("bucket", "The name of the bucket.").required();
const REGION: Setting<String> =
    Setting::text("region", "The region of the bucket.").default("us-east-1");
const ACCESS_KEY: Setting<String> = Setting::text(
    "access_key_id",
    "The access key, if this provider signs its requests instead of the host.",
);
const SECRET_KEY: Setting<String> = Setting::text(
    "secret_access_key",
    "The secret that belongs to the access key.",
)
.secret();
const SESSION_TOKEN: Setting<String> =
    Setting::text("session_token", "The token of temporary credentials.").secret();
const PREFIX: Setting<String> = Setting::text(
    "prefix",
    "Only keys with this prefix are offered, such as `docs/`.",
)
.default("");
const VIRTUAL_HOST: Setting<bool> = Setting::boolean(
    "virtual_host",
    "Whether the bucket is part of the host name, not of the path.",
)
.default("false");
const TITLE: Setting<String> = Setting::text(
    "title",
    "The title of this provider. Without one, it is the bucket.",
);
const TTL: Setting<Duration> =
    Setting::duration("ttl", "How long a list or an object may be cached.").default("10s");
const TIMEOUT: Setting<Duration> =
    Setting::duration("timeout", "The time limit of one request.").default("5s");
const MAX_BYTES: Setting<u64> =
    Setting::size("max_bytes", "The maximum size of an object that is read.").default("4MiB");

/// Settings of the operator.
pub(crate) struct Settings {
    pub(crate) bucket: Bucket,
    /// None if the host signs the requests, or if everybody may read the bucket.
    pub(crate) credentials: Option<Credentials>,
    pub(crate) client: Client,
    pub(crate) prefix: String,
    pub(crate) title: String,
    pub(crate) ttl: Duration,
}

impl Settings {
    /// All settings, for the host.
    pub(crate) fn declarations() -> Vec<Declaration> {
        let store = [
            ENDPOINT,
            BUCKET,
            REGION,
            ACCESS_KEY,
            SECRET_KEY,
            SESSION_TOKEN,
            PREFIX,
            TITLE,
        ];
        let mut all: Vec<_> = store.iter().map(Setting::declaration).collect();
        all.push(VIRTUAL_HOST.declaration());
        all.extend([
            TTL.declaration(),
            TIMEOUT.declaration(),
            MAX_BYTES.declaration(),
        ]);
        all
    }

    pub(crate) fn read() -> Result<Self> {
        let (endpoint, name) = (ENDPOINT.get()?, BUCKET.get()?);
        if !is_bucket(&name) {
            return Err(Error::failed(
                "the setting `bucket` is not the name of a bucket",
            ));
        }
        let base = BaseUrl::parse(endpoint.trim())
            .map_err(|why| Error::Failed(format!("the setting `endpoint` {why}")))?;
        let style = if VIRTUAL_HOST.get()? {
            UrlStyle::VirtualHost
        } else {
            UrlStyle::Path
        };
        let url = Url::parse(base.as_str())
            .map_err(|error| format!("the setting `endpoint`: {error}"))?;
        let bucket = Bucket::new(url, style, name.clone(), REGION.get()?).map_err(
            |_| "the settings `endpoint` and `bucket` do not form a URL; try `virtual_host = false`",
        )?;
        let (timeout, max_bytes) = (TIMEOUT.get()?, MAX_BYTES.get()?);
        // Requests that this provider signs are signed in their URLs, so they need no headers.
        let (credentials, headers) = (larder_web::Credentials::default(), Vec::new());
        Ok(Self {
            bucket,
            credentials: credentials_of_store()?,
            client: Client {
                base,
                credentials,
                headers,
                timeout,
                max_bytes,
            },
            prefix: PREFIX.get()?,
            title: TITLE.find()?.unwrap_or(name),
            ttl: TTL.get()?,
        })
    }
}

fn credentials_of_store() -> Result<Option<Credentials>> {
    let find =
        |setting: &Setting<String>| Ok::<_, Error>(setting.find()?.filter(|text| !text.is_empty()));
    match (
        find(&ACCESS_KEY)?,
        find(&SECRET_KEY)?,
        find(&SESSION_TOKEN)?,
    ) {
        (None, None, None) => Ok(None),
        (Some(key), Some(secret), None) => Ok(Some(Credentials::new(key, secret))),
        (Some(key), Some(secret), Some(token)) => {
            Ok(Some(Credentials::new_with_token(key, secret, token)))
        }
        _ => Err("the settings `access_key_id` and `secret_access_key` belong together".into()),
    }
}

/// Whether a text can be the name of a bucket, by the rules that are common to all stores.
fn is_bucket(name: &str) -> bool {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    (3..=255).contains(&name.len())
        && name.chars().all(is_valid)
        && !name.starts_with('.')
        && !name.contains("..")
}
