//! The interface `store`: buckets, values and lists of keys.

use wasmtime::component::{ComponentType, Lift, Linker, Lower, Resource, ResourceType};

use super::{BucketHandle, StoreError, interface};
use crate::bindings::larder::provider::key_value::{Bucket, Failure, Host, KeyPage};
use crate::guest::state::GuestState;
use larder_key_value::MAX_PAGE;

/// A page of keys, with a cursor of the type that the version has.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(super) struct KeyResponse<C> {
    #[component(name = "keys")]
    keys: Vec<String>,
    #[component(name = "cursor")]
    cursor: Option<C>,
}

type PageResult<C> = wasmtime::Result<Result<KeyResponse<C>, Failure>>;
type Response<T> = wasmtime::Result<Result<T, StoreError>>;

/// Where a page of keys begins.
pub(super) trait Cursor: ComponentType + Lift + Lower + Send + Sync + 'static {
    /// Returns the page that begins at a cursor.
    fn page(
        state: &mut GuestState,
        bucket: Bucket,
        cursor: Option<Self>,
    ) -> impl Future<Output = PageResult<Self>> + Send;
}

/// The last key of the page before.
impl Cursor for String {
    async fn page(
        state: &mut GuestState,
        bucket: Bucket,
        cursor: Option<Self>,
    ) -> PageResult<Self> {
        let page = keys_after(state, bucket, cursor).await?;
        Ok(page.map(|page| KeyResponse {
            keys: page.keys,
            cursor: page.next_cursor,
        }))
    }
}

/// The number of keys on the pages before. The store has no such positions, so the pages before are read again.
impl Cursor for u64 {
    async fn page(
        state: &mut GuestState,
        bucket: Bucket,
        cursor: Option<Self>,
    ) -> PageResult<Self> {
        let first = cursor.unwrap_or(0);
        let mut passed = 0;
        let mut after = None;
        loop {
            let mut page = match keys_after(state, bucket, after).await? {
                Ok(page) => page,
                Err(failure) => return Ok(Err(failure)),
            };
            let end = passed + page.keys.len() as u64;
            if end > first || page.next_cursor.is_none() {
                let skipped = first.saturating_sub(passed).min(end - passed);
                page.keys.drain(..usize::try_from(skipped)?);
                return Ok(Ok(KeyResponse {
                    keys: page.keys,
                    cursor: page.next_cursor.map(|_| end),
                }));
            }
            passed = end;
            after = page.next_cursor;
        }
    }
}

async fn keys_after(
    state: &mut GuestState,
    bucket: Bucket,
    cursor: Option<String>,
) -> wasmtime::Result<Result<KeyPage, Failure>> {
    state
        .list_keys(bucket, String::new(), cursor, MAX_PAGE)
        .await
}

pub(super) fn add_to_linker<C: Cursor>(
    linker: &mut Linker<GuestState>,
    version: &str,
) -> wasmtime::Result<()> {
    let mut store = linker.instance(&interface("store", version))?;
    let bucket = ResourceType::host::<BucketHandle>();
    store.resource("bucket", bucket, |mut store, index| {
        let handle = Resource::<BucketHandle>::new_own(index);
        store.data_mut().table().delete(handle)?;
        Ok(())
    })?;
    store.func_wrap("open", |mut store, (name,): (String,)| {
        Ok((store.data_mut().open_wasi_bucket(&name)?,))
    })?;
    store.func_wrap_async(
        "[method]bucket.get",
        |mut store, (bucket, key): (Resource<BucketHandle>, String)| {
            Box::new(async move { Ok((store.data_mut().get_value(bucket, key).await?,)) })
        },
    )?;
    store.func_wrap_async(
        "[method]bucket.exists",
        |mut store, (bucket, key): (Resource<BucketHandle>, String)| {
            Box::new(async move {
                let value = store.data_mut().get_value(bucket, key).await?;
                Ok((value.map(|value| value.is_some()),))
            })
        },
    )?;
    store.func_wrap_async(
        "[method]bucket.set",
        |mut store, (bucket, key, value): (Resource<BucketHandle>, String, Vec<u8>)| {
            Box::new(async move { Ok((store.data_mut().set_value(bucket, key, value).await?,)) })
        },
    )?;
    store.func_wrap_async(
        "[method]bucket.delete",
        |mut store, (bucket, key): (Resource<BucketHandle>, String)| {
            Box::new(async move { Ok((store.data_mut().delete_value(bucket, key).await?,)) })
        },
    )?;
    store.func_wrap_async(
        "[method]bucket.list-keys",
        |mut store, (bucket, cursor): (Resource<BucketHandle>, Option<C>)| {
            Box::new(async move { Ok((store.data_mut().key_response(bucket, cursor).await?,)) })
        },
    )
}

impl GuestState {
    fn open_wasi_bucket(&mut self, name: &str) -> Response<Resource<BucketHandle>> {
        let bucket = match name {
            "" | "default" => Bucket::Shared,
            "caller" => Bucket::Caller,
            _ => return Ok(Err(StoreError::NoSuchStore)),
        };
        if let Err(failure) = self.check_bucket(bucket) {
            return Ok(Err(self.store_error(failure)));
        }
        Ok(self.new_handle(BucketHandle(bucket)))
    }

    async fn get_value(
        &mut self,
        bucket: Resource<BucketHandle>,
        key: String,
    ) -> Response<Option<Vec<u8>>> {
        let bucket = self.bucket(&bucket)?;
        let value = self.get(bucket, key).await?;
        Ok(value.map_err(|failure| self.store_error(failure)))
    }

    async fn set_value(
        &mut self,
        bucket: Resource<BucketHandle>,
        key: String,
        value: Vec<u8>,
    ) -> Response<()> {
        let bucket = self.bucket(&bucket)?;
        let done = self.set(bucket, key, value).await?;
        Ok(done.map_err(|failure| self.store_error(failure)))
    }

    async fn delete_value(&mut self, bucket: Resource<BucketHandle>, key: String) -> Response<()> {
        let bucket = self.bucket(&bucket)?;
        let done = self.delete(bucket, key).await?;
        Ok(done.map_err(|failure| self.store_error(failure)))
    }

    async fn key_response<C: Cursor>(
        &mut self,
        bucket: Resource<BucketHandle>,
        cursor: Option<C>,
    ) -> Response<KeyResponse<C>> {
        let bucket = self.bucket(&bucket)?;
        let response = C::page(self, bucket, cursor).await?;
        Ok(response.map_err(|failure| self.store_error(failure)))
    }
}
