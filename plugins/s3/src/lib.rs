//! Provides the objects of a bucket in a store with the interface of Amazon S3. Entity tags are the versions.

mod address;
mod entries;
mod search;
mod settings;
mod store;

#[cfg(test)]
mod tests;

use larder_provider::{
    Completion, CompletionRequest, Content, Declaration, Description, EntryPage, Error, Freshness,
    Hits, Provider, Query, Reading, Request, Result, SearchQuery, Template, TemplatePage,
};
use larder_web::caching;

use address::{Addresses, is_folder};
use settings::Settings;
use store::{Keys, MAX_KEYS};

struct Store {
    settings: Settings,
    addresses: Addresses,
}

larder_provider::export!(Store: completions, versions, search, settings);

impl Provider for Store {
    fn settings() -> Vec<Declaration> {
        Settings::declarations()
    }

    fn new() -> Result<Self> {
        let settings = Settings::read()?;
        let addresses = Addresses::new(settings.bucket.name(), &settings.prefix);
        Ok(Self {
            settings,
            addresses,
        })
    }

    fn describe(&self) -> Description {
        Description::new(&self.settings.title)
            .version(env!("CARGO_PKG_VERSION"))
            .summary(format!(
                "the objects of the bucket {}",
                self.settings.bucket.name()
            ))
            .instructions(
                "Read a URI that ends with a slash to see the folders and objects below it.",
            )
    }

    fn list(&self, query: &Query) -> Result<EntryPage> {
        let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
        let keys = Keys {
            prefix: &self.settings.prefix,
            after: query.cursor.as_deref(),
            limit,
            ..Keys::default()
        };
        let listed = self.settings.list(&keys)?;
        let last = listed.contents.last().map(|object| object.key.clone());
        let objects = listed
            .contents
            .into_iter()
            .filter(|object| !is_folder(&object.key));
        let entries = objects
            .map(|object| self.entry(object))
            .filter(|entry| query.wants(entry))
            .collect();
        let next_cursor = last.filter(|_| listed.next_continuation_token.is_some());
        Ok(EntryPage {
            entries,
            next_cursor,
            freshness: Some(Freshness::everyone(self.settings.ttl)),
        })
    }

    fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
        let template = Template::new(self.addresses.template(), self.settings.bucket.name())
            .description(
                "an object, or the list of a folder if the key is empty or ends with a slash",
            );
        Ok(vec![template].into())
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        let key = self.addresses.key(&request.uri).ok_or(Error::NotFound)?;
        if is_folder(&key) {
            return self.folder(&key);
        }
        let response = self
            .settings
            .object(&key, request.known_version.as_deref())?;
        let version = caching::version(&response);
        if let Some(version) = &version {
            request.unless_known(version)?;
        }
        let freshness = caching::freshness(&response, self.settings.ttl);
        let mime = entries::mime_type(&response, &key);
        Ok(Reading {
            version,
            freshness,
            ..larder_web::content(response, mime).into()
        })
    }

    fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        let allowed = &self.settings.prefix;
        let prefix = if allowed.starts_with(&request.prefix) {
            allowed
        } else {
            &request.prefix
        };
        if !prefix.starts_with(allowed.as_str()) {
            return Ok(Completion::default());
        }
        let listed = self.settings.list(&Keys {
            prefix,
            by_folder: true,
            limit: 100,
            ..Keys::default()
        })?;
        let folders = listed
            .common_prefixes
            .into_iter()
            .map(|folder| folder.prefix);
        let mut values: Vec<String> = folders
            .chain(listed.contents.into_iter().map(|object| object.key))
            .collect();
        values.sort_unstable();
        let more = listed.next_continuation_token.is_some();
        let completion = Completion::matching(values, &request.prefix);
        Ok(Completion {
            total: completion.total.filter(|_| !more),
            more: completion.more || more,
            ..completion
        })
    }

    fn versions(&self, uris: &[String]) -> Result<Vec<Option<String>>> {
        let key = |uri: &String| self.addresses.key(uri).filter(|key| !is_folder(key));
        let keys: Vec<_> = uris.iter().map(key).collect();
        let known: Vec<_> = keys.iter().flatten().cloned().collect();
        let mut heads = self.settings.heads(&known).into_iter();
        Ok(keys
            .into_iter()
            .map(|key| caching::version(&key.and_then(|_| heads.next()?)?))
            .collect())
    }

    fn search(&self, query: &SearchQuery) -> Result<Hits> {
        self.hits(query)
    }
}

impl Store {
    /// The list of a folder: the first folders and objects in it.
    fn folder(&self, key: &str) -> Result<Reading> {
        // Above the prefix, only the folders that lead to the prefix are visible.
        let prefix = if self.settings.prefix.starts_with(key) {
            &self.settings.prefix
        } else {
            key
        };
        let listed = self.settings.list(&Keys {
            prefix,
            by_folder: true,
            limit: MAX_KEYS,
            ..Keys::default()
        })?;
        if listed.contents.is_empty() && listed.common_prefixes.is_empty() && !key.is_empty() {
            return Err(Error::NotFound);
        }
        let json = entries::folder_json(&self.addresses, prefix, listed);
        let content = Content::text(json.to_string()).mime("application/json");
        Ok(Reading {
            freshness: Some(Freshness::everyone(self.settings.ttl)),
            ..content.into()
        })
    }
}
