//! Finds the newest version of a package. The registry of its namespace has a file with the location of its images, as
//! for `wkg`. Without this file, the images are in the registry itself.

use larder_model::name::Digest;
use reqwest::header::LINK;
use semver::Version as SemVer;
use serde::Deserialize;
use url::Url;
use wasm_pkg_common::metadata::{OCI_PROTOCOL, REGISTRY_METADATA_PATH, RegistryMetadata};

use super::Client;
use super::http_clients::unavailable;
use super::request::{Kind, Request};
use super::transport::Transport;
use crate::{Error, Image, Package, Version};

/// The maximum size of the file of a registry, and of one page of tags, in bytes.
const MAX_BODY: u64 = 4 << 20;
/// The maximum number of pages of tags.
const MAX_PAGES: usize = 50;
/// The number of versions in an error message.
const MENTIONED: usize = 5;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct OciSettings {
    registry: Option<String>,
    namespace_prefix: Option<String>,
}

#[derive(Deserialize)]
struct Tags {
    tags: Option<Vec<String>>,
}

impl Client {
    /// Returns the versions of a package, newest first.
    pub async fn versions(&self, package: &Package) -> Result<Vec<SemVer>, Error> {
        let image = self.repository(package).await?;
        let mut versions: Vec<_> = self
            .tags(&image)
            .await?
            .iter()
            .filter_map(|tag| SemVer::parse(tag).ok())
            .collect();
        versions.sort_by(|one, other| other.cmp(one));
        Ok(versions)
    }

    /// Returns the image of a package in this version. The image need not exist, because it may be about to be pushed.
    pub async fn image_of(&self, package: &Package, version: &SemVer) -> Result<Image, Error> {
        Ok(self
            .repository(package)
            .await?
            .at(Version::Tag(version.to_string())))
    }

    /// Returns the image of the newest version that matches.
    pub(super) async fn newest(&self, package: &Package) -> Result<Image, Error> {
        let versions = self.versions(package).await?;
        match versions
            .iter()
            .find(|version| package.requirement.matches(version))
        {
            Some(version) => self.image_of(package, version).await,
            None => Err(no_version(package, &versions)),
        }
    }

    /// Returns the repository of a package, with any version.
    pub(super) async fn repository(&self, package: &Package) -> Result<Image, Error> {
        let registry = self.access().registry_of(package)?.to_owned();
        let settings = self.0.package_settings(&registry).await?;
        let prefix = settings.namespace_prefix.unwrap_or_default();
        let registry = settings.registry.unwrap_or(registry);
        // The file may name another registry, which must be permitted too.
        self.access().registry(&registry)?;
        let repository = format!(
            "{prefix}{}/{}",
            package.package.namespace(),
            package.package.name()
        );
        Ok(Image {
            registry,
            repository,
            version: Version::Digest(Digest::from_bytes([0; 32])),
        })
    }
}

impl Transport {
    /// Reads the file of a registry with the location of the images of packages.
    async fn package_settings(&self, registry: &str) -> Result<OciSettings, Error> {
        let settings = self.access().registry(registry)?;
        let url = format!("{}://{registry}{REGISTRY_METADATA_PATH}", settings.scheme());
        let sent = self.client(registry, settings)?.get(&url).send();
        let response = self
            .in_time(registry, sent)
            .await?
            .map_err(|error| unavailable(registry, &error))?;
        let status = response.status();
        if status.is_client_error() {
            return Ok(OciSettings::default());
        }
        if !status.is_success() {
            let cause = format!("HTTP {} for {url}", status.as_u16());
            return Err(Error::unavailable(registry, cause));
        }
        let body = self.bounded(response, registry, MAX_BODY, &url).await?;
        parse_settings(&body, &url)
    }

    /// Returns the tags of a repository.
    pub(super) async fn tags(
        &self,
        registry: &str,
        repository: &str,
    ) -> Result<Vec<String>, Error> {
        let what = format!("{registry}/{repository}");
        let mut tags = Vec::new();
        let mut query = "?n=1000".to_owned();
        for _ in 0..MAX_PAGES {
            let request = Request {
                registry,
                repository,
                kind: Kind::Tags { query: &query },
            };
            let response = self.send(registry, &request, &what).await?;
            let next = next_page(&response);
            let body = self.bounded(response, registry, MAX_BODY, &what).await?;
            let page: Tags = serde_json::from_slice(&body).map_err(|error| {
                Error::invalid(&what, format!("the list of tags cannot be read: {error}"))
            })?;
            tags.extend(page.tags.unwrap_or_default());
            match next {
                Some(next) => query = next,
                None => return Ok(tags),
            }
        }
        Err(Error::TooLarge {
            what: format!("the list of tags of {what}"),
            limit: MAX_BODY.saturating_mul(MAX_PAGES as u64),
        })
    }
}

fn parse_settings(body: &[u8], url: &str) -> Result<OciSettings, Error> {
    let metadata: RegistryMetadata = serde_json::from_slice(body)
        .map_err(|error| Error::invalid(url, format!("cannot be read: {error}")))?;
    let found = metadata.protocol_config(OCI_PROTOCOL);
    let found = found.map_err(|error| Error::invalid(url, error.to_string()))?;
    Ok(found.unwrap_or_default())
}

/// Returns the query of the next page. Its path is always the same.
fn next_page(response: &reqwest::Response) -> Option<String> {
    let link = response.headers().get(LINK)?.to_str().ok()?;
    let (target, rest) = link.trim().strip_prefix('<')?.split_once('>')?;
    let is_next = rest.contains("rel=\"next\"") || rest.contains("rel=next");
    let url: Url = response.url().join(target).ok().filter(|_| is_next)?;
    url.query().map(|query| format!("?{query}"))
}

fn no_version(package: &Package, versions: &[SemVer]) -> Error {
    let mentioned: Vec<_> = versions
        .iter()
        .take(MENTIONED)
        .map(ToString::to_string)
        .collect();
    let more = if versions.len() > MENTIONED {
        ", …"
    } else {
        ""
    };
    Error::NoVersion {
        package: package.package.to_string(),
        requirement: package.requirement.to_string(),
        available: if versions.is_empty() {
            "none".into()
        } else {
            mentioned.join(", ") + more
        },
    }
}
