//! Uploads blobs and manifests, with the checks and the credentials of the transport.

use std::sync::Arc;

use bytes::Bytes;
use larder_model::name::Digest;
use reqwest::Response;
use reqwest::header::{HeaderValue, LOCATION};
use url::Url;

use super::Client;
use super::request::{Kind, Request};
use super::upload_body::UploadBody;
use crate::{Error, Image, Progress, Registry};

impl Client {
    /// Uploads a blob, unless the repository already has the blob.
    pub(crate) async fn push_blob(
        &self,
        image: &Image,
        blob: Bytes,
        progress: Arc<dyn Progress>,
    ) -> Result<(), Error> {
        let digest = Digest::of(&blob);
        match self.push(image, Kind::HasBlob { digest: &digest }).await {
            Err(Error::NotFound(_)) => {}
            found => return found.map(drop),
        }
        let started = self.push(image, Kind::StartUpload).await?;
        let settings = self.access().registry(&image.registry)?;
        let address = upload_address(&started, &digest, settings)
            .map_err(|cause| Error::invalid(image, cause))?;
        let body = UploadBody::new(blob, digest, progress.clone());
        let uploaded = self
            .push(
                image,
                Kind::Upload {
                    address: &address,
                    body: &body,
                },
            )
            .await;
        progress.finished(&digest);
        uploaded.map(drop)
    }

    /// Uploads a manifest below a tag.
    pub(crate) async fn push_manifest(
        &self,
        image: &Image,
        tag: &str,
        manifest: &Bytes,
        media_type: &str,
    ) -> Result<(), Error> {
        let media_type = HeaderValue::from_str(media_type)
            .map_err(|_| Error::invalid(image, "its media type is invalid"))?;
        let kind = Kind::PutManifest {
            tag,
            media_type: &media_type,
            manifest,
        };
        self.push(image, kind).await.map(drop)
    }

    /// Sends a request to the registry itself: mirrors do not accept uploads.
    async fn push(&self, image: &Image, kind: Kind<'_>) -> Result<Response, Error> {
        let request = Request::new(image, kind);
        self.0
            .send(&image.registry, &request, &image.to_string())
            .await
    }
}

/// Returns the address that a registry named for an upload, or what is wrong with it.
fn upload_address(
    started: &Response,
    digest: &Digest,
    settings: &Registry,
) -> Result<Url, &'static str> {
    let location = started
        .headers()
        .get(LOCATION)
        .and_then(|location| location.to_str().ok());
    let location = location.ok_or("the registry names no address for the upload")?;
    checked_address(started.url(), location, digest, settings)
}

fn checked_address(
    base: &Url,
    location: &str,
    digest: &Digest,
    settings: &Registry,
) -> Result<Url, &'static str> {
    let mut address = base
        .join(location)
        .map_err(|_| "the registry names an address for the upload that is no URL")?;
    match address.scheme() {
        "https" => {}
        "http" if settings.plain_http => {}
        _ => return Err("the registry names an address for the upload that does not use TLS"),
    }
    address
        .query_pairs_mut()
        .append_pair("digest", &format!("sha256:{digest}"));
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uploads_use_tls_if_the_registry_does() {
        let base = Url::parse("https://r.example/v2/a/blobs/uploads/").unwrap();
        let digest = Digest::of(b"x");
        let check = |location: &str, plain_http| {
            let settings = Registry {
                plain_http,
                ..Registry::default()
            };
            checked_address(&base, location, &digest, &settings).map(|url| url.to_string())
        };
        let query = format!("digest=sha256%3A{digest}");
        assert_eq!(
            check("/v2/up/1?state=a", false),
            Ok(format!("https://r.example/v2/up/1?state=a&{query}"))
        );
        assert_eq!(
            check("https://s.example/1", false),
            Ok(format!("https://s.example/1?{query}"))
        );
        assert_eq!(
            check("http://s.example/1", true),
            Ok(format!("http://s.example/1?{query}"))
        );
        for refused in ["http://r.example/1", "file:///etc/passwd", "http://"] {
            assert!(check(refused, false).is_err(), "{refused}");
        }
    }
}
