//! Implements `wasi:keyvalue` with the key-value store of the team: `default` and the empty name are the bucket that all
//! callers share, `caller` is the bucket of the caller. Grants, limits and charges are those of `key-value` of the
//! contract, whose functions do the work.

mod atomics;
mod batch;
mod store;

use wasmtime::component::{ComponentType, Linker, Lower, Resource};

use self::batch::{optional_entry, optional_value};
use crate::bindings::larder::provider::key_value::{Bucket, Failure};
use crate::guest::log::LogLevel;
use crate::guest::state::GuestState;
use larder_key_value::KeyValueError;

/// The version of wasmtime and wasmCloud.
const DRAFT: &str = "0.2.0-draft";
/// The version of Spin and wasmcp. It has compare-and-swap, and cursors are texts.
const DRAFT_2: &str = "0.2.0-draft2";

/// Whether this host offers an import.
pub(super) fn is_offered(import: &str) -> bool {
    let interface = import
        .strip_prefix("wasi:keyvalue/")
        .and_then(|interface| interface.split_once('@'));
    interface.is_some_and(|(name, version)| {
        ["store", "atomics", "batch"].contains(&name) && [DRAFT, DRAFT_2].contains(&version)
    })
}

pub(super) fn add_to_linker(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    store::add_to_linker::<u64>(linker, DRAFT)?;
    store::add_to_linker::<String>(linker, DRAFT_2)?;
    atomics::add_increment::<u64>(linker, DRAFT)?;
    atomics::add_increment::<i64>(linker, DRAFT_2)?;
    atomics::add_compare_and_swap(linker, DRAFT_2)?;
    batch::add_to_linker(linker, DRAFT, optional_entry)?;
    batch::add_to_linker(linker, DRAFT_2, optional_value)
}

/// The name of an interface in a version.
fn interface(name: &str, version: &str) -> String {
    format!("wasi:keyvalue/{name}@{version}")
}

/// What a handle of a bucket refers to. Each operation checks the grant anew.
struct BucketHandle(Bucket);

/// The error of all functions.
#[derive(Debug, ComponentType, Lower)]
#[component(variant)]
enum StoreError {
    #[component(name = "no-such-store")]
    NoSuchStore,
    #[component(name = "access-denied")]
    AccessDenied,
    #[component(name = "other")]
    Other(String),
}

impl GuestState {
    /// Returns a handle of the guest. It is an error, and not the end of the call, if the guest holds too many.
    fn new_handle<T: Send + 'static>(&mut self, value: T) -> Result<Resource<T>, StoreError> {
        let handle = self.table().push(value);
        handle.map_err(|_| StoreError::Other("the guest holds too many handles".to_owned()))
    }

    fn bucket(&mut self, handle: &Resource<BucketHandle>) -> wasmtime::Result<Bucket> {
        Ok(self.table().get(handle)?.0)
    }

    /// Returns the error for a failure of the store. `access-denied` has no text, so the log of the provider has the
    /// reason.
    fn store_error(&self, failure: Failure) -> StoreError {
        let denied = |why: &str| {
            let line = format!("`wasi:keyvalue` denied the access: {why}");
            self.log.line(LogLevel::Warn, &line);
            StoreError::AccessDenied
        };
        match failure {
            Failure::NotGranted(why) => denied(&why),
            Failure::NoCaller => denied("the call has no caller with a subject"),
            Failure::TooLarge => StoreError::Other(KeyValueError::TooLarge.to_string()),
            Failure::TooManyKeys => StoreError::Other(KeyValueError::TooManyKeys.to_string()),
            Failure::Full => StoreError::Other(KeyValueError::Full.to_string()),
            Failure::Unavailable(why) => StoreError::Other(why),
        }
    }
}
