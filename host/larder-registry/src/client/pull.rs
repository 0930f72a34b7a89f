//! Pulls an image into the store: its manifest, the component, and its attachments.

use bytes::Bytes;
use larder_model::name::Digest;
use oci_client::manifest::OciImageIndex;

use super::Client;
use super::request::{Kind, Request};
use crate::attachments::{Attachment, MAX_ATTACHMENT, MAX_ATTACHMENTS};
use crate::component::{Component, MAX_MANIFEST, digest_of, size_of};
use crate::{Error, Image, Progress, Reference, Store, StoreError, Version};

/// An image that is in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PulledImage {
    /// The image, with the digest of its manifest.
    pub image: Image,
    /// The component in the image.
    pub component: Component,
    /// Whether bytes of the component were transferred. If not, the component was already in the store.
    pub transferred: bool,
}

/// Bytes are written to the store in pieces of this size.
const PIECE: usize = 1 << 20;
/// The maximum size of all attachments of an image, in bytes.
const MAX_ALL_ATTACHMENTS: u64 = 64 << 20;
/// Tags under which cosign stores signatures, attestations and bills of materials, after the digest.
const COSIGN_TAGS: [&str; 3] = [".sig", ".att", ".sbom"];

impl Client {
    /// Pulls a component and its attachments into the store, if they are missing there. Attachments are requested each
    /// time, because a signature may have been added.
    pub async fn pull(
        &self,
        reference: &Reference,
        store: &Store,
        progress: &dyn Progress,
    ) -> Result<PulledImage, Error> {
        let _permit = self.0.pull_permit().await;
        let limit = self.access().limits.pull;
        let pull = Box::pin(self.pull_now(reference, store, progress));
        let timed_out =
            |_| Error::unavailable(reference, format!("the pull took longer than {limit:?}"));
        tokio::time::timeout(limit, pull).await.map_err(timed_out)?
    }

    async fn pull_now(
        &self,
        reference: &Reference,
        store: &Store,
        progress: &dyn Progress,
    ) -> Result<PulledImage, Error> {
        let image = match reference {
            Reference::Image(image) => image.clone(),
            Reference::Package(package) => self.newest(package).await?,
        };
        self.access().registry(&image.registry)?;
        let stored = reference
            .pinned()
            .and_then(|digest| store.read(&digest, MAX_MANIFEST).ok());
        let (manifest, digest) = match (stored, reference.pinned()) {
            (Some(manifest), Some(digest)) => (manifest, digest),
            _ => self.manifest(&image).await?,
        };
        let image = image.with_digest(digest);
        let invalid = |cause| Error::invalid(&image, cause);
        let component = Component::parse(&manifest).map_err(invalid)?;
        let transferred = self
            .pull_component(&image, &component, store, progress)
            .await?;
        self.pull_attachments(&image, digest, store).await?;
        // The manifest is stored last: if the store has the manifest, it also has the component.
        put(store, manifest.to_vec()).await?;
        Ok(PulledImage {
            image,
            component,
            transferred,
        })
    }

    /// Returns whether the component was missing in the store.
    async fn pull_component(
        &self,
        image: &Image,
        component: &Component,
        store: &Store,
        progress: &dyn Progress,
    ) -> Result<bool, Error> {
        let limit = self.access().limits.component;
        if component.size > limit {
            return Err(Error::TooLarge {
                what: image.to_string(),
                limit,
            });
        }
        let digest = component.component;
        let manifest = component.manifest;
        let in_store = store.clone();
        let is_there = blocking(move || {
            // Without the manifest, the stored component was not verified.
            if in_store.is_writable() && !in_store.contains(&manifest) {
                in_store.discard_damaged(&digest)?;
            }
            in_store.keep(&digest)
        });
        let is_there = is_there.await?;
        if !is_there {
            self.download(image, component, store, progress).await?;
        }
        progress.finished(&digest);
        Ok(!is_there)
    }

    /// Downloads a component from the first mirror that has it, or from the registry itself.
    async fn download(
        &self,
        image: &Image,
        component: &Component,
        store: &Store,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let mut failure = None;
        for endpoint in self.0.endpoints(&image.registry)? {
            let downloaded = self
                .download_from(&endpoint, image, component, store, progress)
                .await;
            match downloaded {
                // Another mirror does not help if the store fails.
                Ok(()) | Err(Error::Store(_)) => return downloaded,
                Err(error) => failure = Some(error),
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// Transfers a blob into the store. The size and the digest of the blob are verified before it is stored.
    async fn download_from(
        &self,
        endpoint: &str,
        image: &Image,
        component: &Component,
        store: &Store,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let digest = component.component;
        let size = component.size;
        let request = Request::new(image, Kind::Blob { digest: &digest });
        let what = format!("the component of {image}");
        let response = self.0.send(endpoint, &request, &what).await?;
        let wrong_size = |actual| Error::WrongSize {
            what: what.clone(),
            expected: size,
            actual,
        };
        progress.started(&digest, size);
        let opened = store.clone();
        let mut writer = blocking(move || opened.writer()).await?;
        let mut chunks = response.bytes_stream();
        let mut piece = Vec::with_capacity(PIECE);
        while let Some(chunk) = self.0.next(&mut chunks, &image.registry).await? {
            progress.advanced(&digest, chunk.len() as u64);
            piece.extend_from_slice(&chunk);
            let received = writer.size().saturating_add(piece.len() as u64);
            if received > size {
                return Err(wrong_size(received));
            }
            if piece.len() >= PIECE {
                let full = std::mem::replace(&mut piece, Vec::with_capacity(PIECE));
                writer = blocking(move || writer.write(&full).map(|()| writer)).await?;
            }
        }
        let writer = blocking(move || writer.write(&piece).map(|()| writer)).await?;
        if writer.size() != size {
            return Err(wrong_size(writer.size()));
        }
        let finished = blocking(move || writer.finish(&digest)).await;
        finished.map_err(|error| name_content(error, what))
    }

    /// Pulls the attachments of an image, and records them.
    async fn pull_attachments(
        &self,
        image: &Image,
        digest: Digest,
        store: &Store,
    ) -> Result<(), Error> {
        let mut attached = Vec::new();
        let mut bytes_left = MAX_ALL_ATTACHMENTS;
        for attachment in self.attachments(image, digest).await? {
            for layer in &attachment.manifest.layers {
                let (Ok(layer_digest), Ok(size)) = (digest_of(layer), size_of(layer)) else {
                    continue;
                };
                // An attachment above this size is not a signature.
                let is_too_large = size > MAX_ATTACHMENT.min(bytes_left);
                if is_too_large || store.read(&layer_digest, size).is_ok() {
                    continue;
                }
                self.pull_layer(image, layer_digest, size, store).await?;
                bytes_left = bytes_left.saturating_sub(size);
            }
            attached.push(put(store, attachment.bytes.to_vec()).await?);
        }
        let store = store.clone();
        blocking(move || match store.attachment_digests(&digest) {
            // The registry may have removed the image.
            Ok(before) if attached.is_empty() && !before.is_empty() => Ok(()),
            // A read-only store that has the same attachments.
            Ok(before) if before == attached && store.knows_attachments(&digest) => Ok(()),
            _ => store.set_attachments(&digest, &attached),
        })
        .await
    }

    async fn pull_layer(
        &self,
        image: &Image,
        digest: Digest,
        size: u64,
        store: &Store,
    ) -> Result<(), Error> {
        let request = Request::new(image, Kind::Blob { digest: &digest });
        let what = format!("an attachment of {image}");
        let bytes = self.0.body(&request, size, Some(digest), &what).await?;
        put(store, bytes.to_vec()).await?;
        Ok(())
    }

    /// Returns the manifests of the attachments of an image: the attachments that the registry lists, or those in the
    /// tag that replaces the list, and the attachments of cosign.
    async fn attachments(&self, image: &Image, digest: Digest) -> Result<Vec<Attachment>, Error> {
        let mut references = self.referrers(image, digest).await?;
        let tags = COSIGN_TAGS.map(|suffix| Version::Tag(format!("sha256-{digest}{suffix}")));
        references.extend(tags);
        let mut attachments: Vec<Attachment> = Vec::new();
        for version in references {
            let attached = image.at(version);
            let Some(manifest) = self.manifest_if_found(&attached).await? else {
                continue;
            };
            let is_known = |digest: Digest| attachments.iter().any(|other| other.digest == digest);
            match Attachment::parse(manifest) {
                Ok(attachment) if is_known(attachment.digest) => {}
                Ok(attachment) => attachments.push(attachment),
                // Anybody who may push to the repository can attach other images, such as an index. Such an attachment
                // must not prevent the pull, and it proves nothing.
                Err(error) => tracing::warn!(%attached, error, "an attachment is ignored"),
            }
        }
        Ok(attachments)
    }

    async fn manifest_if_found(&self, image: &Image) -> Result<Option<Bytes>, Error> {
        match self.manifest(image).await {
            Ok((manifest, _)) => Ok(Some(manifest)),
            Err(Error::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn referrers(&self, image: &Image, digest: Digest) -> Result<Vec<Version>, Error> {
        let request = Request::new(image, Kind::Referrers { digest: &digest });
        let what = format!("the list of attachments of {image}");
        let index = match self.0.body(&request, MAX_MANIFEST, None, &what).await {
            // The registry does not have this function, or does not permit it.
            Err(Error::NotFound(_) | Error::Refused { .. } | Error::Unsupported { .. }) => {
                let tag = Version::Tag(format!("sha256-{digest}"));
                match self.manifest_if_found(&image.at(tag)).await? {
                    None => return Ok(Vec::new()),
                    Some(manifest) => manifest,
                }
            }
            found => found?,
        };
        let index: OciImageIndex = serde_json::from_slice(&index)
            .map_err(|error| Error::invalid(&what, format!("cannot be read: {error}")))?;
        let entries = index.manifests.iter().take(MAX_ATTACHMENTS);
        let digests = entries.filter_map(|entry| Digest::parse(&entry.digest).ok());
        Ok(digests.map(Version::Digest).collect())
    }
}

/// Adds the name of the content to the error of a wrong digest.
fn name_content(error: Error, what: String) -> Error {
    match error {
        Error::Store(StoreError::WrongDigest { expected, actual }) => Error::WrongDigest {
            what,
            expected,
            actual,
        },
        error => error,
    }
}

/// Adds a small blob to the store.
async fn put(store: &Store, bytes: Vec<u8>) -> Result<Digest, Error> {
    let store = store.clone();
    blocking(move || add_blob(&store, &bytes)).await
}

/// Adds a blob. A read-only store that has the blob stays as it is.
fn add_blob(store: &Store, bytes: &[u8]) -> Result<Digest, StoreError> {
    let digest = Digest::of(bytes);
    if store.contains(&digest) && !store.is_writable() {
        return Ok(digest);
    }
    store.put(bytes)
}

/// Runs work of the store on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Error> {
    Ok(crate::blocking::run(work).await?)
}
