//! Requests for a part of a repository, as the protocol of registries defines them.

use bytes::Bytes;
use larder_model::name::Digest;
use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use url::Url;

use super::token::{Operation, Scope};
use super::upload_body::UploadBody;
use crate::access::Registry;
use crate::{Error, Image};

/// A request for a part of a repository.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) registry: &'a str,
    pub(super) repository: &'a str,
    pub(super) kind: Kind<'a>,
}

impl<'a> Request<'a> {
    /// Creates a request for a part of the repository of an image.
    pub(super) fn new(image: &'a Image, kind: Kind<'a>) -> Self {
        Self {
            registry: &image.registry,
            repository: &image.repository,
            kind,
        }
    }
}

/// The requested part of a repository.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind<'a> {
    Manifest {
        version: &'a str,
        accept: &'static str,
    },
    Blob {
        digest: &'a Digest,
    },
    Referrers {
        digest: &'a Digest,
    },
    Tags {
        query: &'a str,
    },
    /// Whether the target repository of an upload has a blob.
    HasBlob {
        digest: &'a Digest,
    },
    StartUpload,
    /// A request to the address that the registry named when the upload was started.
    Upload {
        address: &'a Url,
        body: &'a UploadBody,
    },
    PutManifest {
        tag: &'a str,
        media_type: &'a HeaderValue,
        manifest: &'a Bytes,
    },
}

/// Where a request is sent.
pub(super) struct Target {
    pub(super) url: Url,
    /// Whether the request is sent to the registry itself, which receives credentials. The address of an upload can be
    /// on another host.
    pub(super) is_registry: bool,
    pub(super) scope: Scope,
    pub(super) http_client: reqwest::Client,
}

impl Kind<'_> {
    /// Returns the URL in the repository of a scope.
    pub(super) fn url(&self, settings: &Registry, scope: &Scope) -> Result<Url, Error> {
        let host = api_host(&scope.host);
        let url = format!(
            "{}://{host}/v2/{}/{}",
            settings.scheme(),
            scope.repository,
            self.path()
        );
        Url::parse(&url).map_err(|error| Error::invalid(&url, error.to_string()))
    }

    fn path(&self) -> String {
        match self {
            Self::Manifest { version, .. } => format!("manifests/{version}"),
            Self::Blob { digest } | Self::HasBlob { digest } => format!("blobs/sha256:{digest}"),
            Self::Referrers { digest } => format!("referrers/sha256:{digest}"),
            Self::Tags { query } => format!("tags/list{query}"),
            Self::StartUpload | Self::Upload { .. } => "blobs/uploads/".to_owned(),
            Self::PutManifest { tag, .. } => format!("manifests/{tag}"),
        }
    }

    pub(super) fn method(&self) -> Method {
        match self {
            Self::Manifest { .. }
            | Self::Blob { .. }
            | Self::Referrers { .. }
            | Self::Tags { .. } => Method::GET,
            Self::HasBlob { .. } => Method::HEAD,
            Self::StartUpload => Method::POST,
            Self::Upload { .. } | Self::PutManifest { .. } => Method::PUT,
        }
    }

    pub(super) fn operation(&self) -> Operation {
        match self {
            Self::Manifest { .. }
            | Self::Blob { .. }
            | Self::Referrers { .. }
            | Self::Tags { .. } => Operation::Pull,
            Self::HasBlob { .. }
            | Self::StartUpload
            | Self::Upload { .. }
            | Self::PutManifest { .. } => Operation::Push,
        }
    }

    pub(super) fn follows_redirects(&self) -> bool {
        self.method() == Method::GET || self.method() == Method::HEAD
    }

    /// Adds the headers and the body of this kind of request.
    pub(super) fn complete(self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        match self {
            Self::Manifest { accept, .. } => request.header(ACCEPT, accept),
            Self::PutManifest {
                media_type,
                manifest,
                ..
            } => request
                .header(CONTENT_TYPE, media_type)
                .body(manifest.clone()),
            _ => request,
        }
    }
}

/// The host that answers for a registry. The host of Docker's own registry has another name than the registry.
fn api_host(registry: &str) -> &str {
    if matches!(registry, "docker.io" | "index.docker.io") {
        "registry-1.docker.io"
    } else {
        registry
    }
}
