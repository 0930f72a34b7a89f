//! Components in OCI registries: references, pulling, pushing, the local store, and the lock file. Only [`source`] uses
//! the core: it is a source of components for the reconciler.
//!
//! A [`Reference`] names a component. A [`Client`] resolves the reference to an [`Image`] with a digest, and pulls the
//! image into a [`Store`]: the manifest, the component, and the attachments (signatures, attestations). All further
//! operations work offline: [`Component::of`] describes a component in the store, [`Store::signatures`] returns the
//! signatures of an image, and a [`LockFile`] records the component.
//!
//! The digest of an image is the digest of its manifest. `@sha256:…` pins this digest, signatures refer to it, and the
//! lock file records it. The component itself has a different digest.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables are long"))]
// Sizes, lifetimes and numbers of registries must not overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

pub mod access;
mod attachments;
mod blocking;
mod client;
mod component;
mod credentials;
mod documents;
mod error;
mod lock;
mod progress;
mod reference;
mod resolution;
mod signatures;
pub mod source;
mod store;
mod upload;

pub use access::{Access, Credentials, Limits, Registry};
pub use attachments::Attachment;
#[cfg(any(test, feature = "fuzzing"))]
pub use client::fuzzing;
pub use client::{Client, PulledImage};
pub use component::{
    Component, GRANT_REQUEST_ANNOTATION, WASM_CONFIG_MEDIA_TYPE, WASM_LAYER_MEDIA_TYPE,
};
pub use documents::Document;
pub use error::Error;
pub use lock::{LOCK_FILE, LockError, LockFile, LockedComponent};
pub use oci_client;
pub use progress::{NoProgress, Progress};
pub use reference::{BadReference, Image, Package, Reference, Version};
pub use resolution::{Resolution, ResolutionKey};
pub use semver;
pub use store::{BlobWriter, GarbageMode, GarbageReport, Store, StoreError};
pub use upload::{Interfaces, Upload};
