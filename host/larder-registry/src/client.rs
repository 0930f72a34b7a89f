//! Resolves references and pulls components.

mod packages;
mod pull;
mod token;
mod transport;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use larder_model::name::Digest;
use oci_client::client::{Certificate, CertificateEncoding, ClientConfig, ClientProtocol};
use oci_client::secrets::RegistryAuth;

pub use self::pull::Pulled;
use self::transport::{Kind, Request, Transport};
use crate::access::{Access, Credentials};
use crate::component::MAX_MANIFEST;
use crate::{Error, Image, Reference, Version, credentials};

/// The media types of manifests.
const MANIFEST_TYPES: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
                              application/vnd.docker.distribution.manifest.v2+json";

/// Accesses the registries that a team is permitted to access. Clones share connections, tokens and limits.
#[derive(Debug, Clone)]
pub struct Client(Arc<Transport>);

impl Client {
    /// Creates a client. It connects when it is used.
    pub fn new(access: Access) -> Result<Self, Error> {
        Transport::new(access).map(Arc::new).map(Self)
    }

    /// Returns what it may access.
    pub fn access(&self) -> &Access {
        self.0.access()
    }

    /// Resolves a reference to an image with a digest, as the registry has it now. A pinned digest is returned as it
    /// is, without a request.
    pub async fn resolve(&self, reference: &Reference) -> Result<Image, Error> {
        let image = match reference {
            Reference::Image(image) => image.clone(),
            Reference::Package(package) => self.newest(package).await?,
        };
        self.access().registry(&image.registry)?;
        if let Version::Digest(_) = image.version {
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
        let version = match &image.version {
            Version::Tag(tag) => tag.clone(),
            Version::Digest(digest) => format!("sha256:{digest}"),
        };
        let kind = Kind::Manifest { version: &version, accept: MANIFEST_TYPES };
        let request = Request { registry: &image.registry, repository: &image.repository, kind };
        let pinned = match image.version {
            Version::Digest(digest) => Some(digest),
            Version::Tag(_) => None,
        };
        let body = self.0.body(&request, MAX_MANIFEST, pinned, &image.to_string()).await?;
        let digest = Digest::of(&body);
        Ok((body, digest))
    }

    /// Returns the tags of a repository.
    pub async fn tags(&self, image: &Image) -> Result<Vec<String>, Error> {
        self.0.tags(&image.registry, &image.repository).await
    }

    /// Returns a client of `oci-client` for one registry, to push. It has the same settings.
    pub(crate) fn pusher(&self, registry: &str) -> Result<oci_client::Client, Error> {
        let (settings, limits) = (self.access().registry(registry)?, &self.access().limits);
        let proxy = settings.proxy.as_ref().map(|proxy| proxy.reveal().to_owned());
        let certificate =
            |pem: &String| Certificate { encoding: CertificateEncoding::Pem, data: pem.as_bytes().to_vec() };
        let config = ClientConfig {
            protocol: if settings.plain_http { ClientProtocol::Http } else { ClientProtocol::Https },
            extra_root_certificates: settings.ca.iter().map(certificate).collect(),
            https_proxy: proxy.clone(),
            http_proxy: proxy,
            read_timeout: Some(limits.stall),
            connect_timeout: Some(CONNECT_TIMEOUT),
            user_agent: USER_AGENT,
            platform_resolver: None,
            ..ClientConfig::default()
        };
        transport::install_crypto_provider();
        let invalid = |error: oci_client::errors::OciDistributionError| Error::Settings {
            registry: registry.to_owned(),
            cause: error.to_string(),
        };
        oci_client::Client::try_from(config).map_err(invalid)
    }

    /// Returns the credentials for `oci-client`.
    pub(crate) async fn push_credentials(&self, registry: &str) -> Result<RegistryAuth, Error> {
        Ok(match credentials::find(self.access(), registry).await? {
            None => RegistryAuth::Anonymous,
            Some(Credentials::Basic { username, password }) => {
                RegistryAuth::Basic(username, password.reveal().to_owned())
            }
            Some(Credentials::Bearer(token)) => RegistryAuth::Bearer(token.reveal().to_owned()),
            Some(Credentials::Identity(_)) => {
                let cause =
                    "identity tokens cannot be used to push: log in with a name and a password".into();
                return Err(Error::Credentials { registry: registry.to_owned(), cause });
            }
        })
    }
}

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The name of this client in requests.
const USER_AGENT: &str = concat!("larder/", env!("CARGO_PKG_VERSION"));

#[cfg(test)]
mod tests;
