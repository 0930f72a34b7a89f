//! Resolves references, pulls components, and uploads them.

mod http_clients;
mod packages;
mod pull;
mod push;
mod request;
mod token;
mod transport;
mod upload_body;

use std::sync::Arc;

use bytes::Bytes;
use larder_model::name::Digest;

pub use self::pull::PulledImage;
use self::request::{Kind, Request};
#[cfg(any(test, feature = "fuzzing"))]
pub use self::token::fuzzing;
use self::transport::Transport;
use crate::access::Access;
use crate::component::MAX_MANIFEST;
use crate::{Error, Image, Reference};

/// The media types of manifests.
const MANIFEST_TYPES: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
                              application/vnd.docker.distribution.manifest.v2+json";

/// Accesses the registries that a team is permitted to access. Clones share connections, tokens and limits.
#[derive(Debug, Clone)]
pub struct Client(Arc<Transport>);

impl Client {
    /// Creates a client. It connects when it is first used.
    pub fn new(access: Access) -> Result<Self, Error> {
        Transport::new(access).map(Arc::new).map(Self)
    }

    /// Returns the access of the client.
    pub fn access(&self) -> &Access {
        self.0.access()
    }

    /// Resolves a reference to the image with a digest that the registry now has. If the reference pins a digest,
    /// returns it without a request.
    pub async fn resolve(&self, reference: &Reference) -> Result<Image, Error> {
        let image = match reference {
            Reference::Image(image) => image.clone(),
            Reference::Package(package) => self.newest(package).await?,
        };
        self.access().registry(&image.registry)?;
        if image.pinned().is_some() {
            return Ok(image);
        }
        let (_, digest) = self.manifest(&image).await?;
        Ok(image.with_digest(digest))
    }

    /// Returns the image with this digest in the repository of a reference.
    pub async fn image_at(&self, reference: &Reference, digest: Digest) -> Result<Image, Error> {
        let image = match reference {
            Reference::Image(image) => image.clone(),
            Reference::Package(package) => self.repository(package).await?,
        };
        Ok(image.with_digest(digest))
    }

    /// Fetches the manifest of an image, and verifies its digest.
    pub async fn manifest(&self, image: &Image) -> Result<(Bytes, Digest), Error> {
        let kind = Kind::Manifest {
            version: &image.version.in_url(),
            accept: MANIFEST_TYPES,
        };
        let request = Request::new(image, kind);
        let body = self
            .0
            .body(&request, MAX_MANIFEST, image.pinned(), &image.to_string())
            .await?;
        let digest = Digest::of(&body);
        Ok((body, digest))
    }

    /// Returns the tags of a repository.
    pub async fn tags(&self, image: &Image) -> Result<Vec<String>, Error> {
        self.0.tags(&image.registry, &image.repository).await
    }
}

#[cfg(test)]
mod tests;
