//! The calls of the contract's functions, as [`GuestCall`]s.

use wasmtime::Store;

use super::{completion_provider as completions, wit};
use crate::bindings::larder::provider::provider_types::Error;
use crate::{CallableGuest, CompiledComponent, GuestCall, GuestState};

type Answer<T> = Result<T, Error>;

pub(super) struct Describe<'a>(pub(super) &'a CompiledComponent);

impl GuestCall for Describe<'_> {
    type Output = wit::Description;

    async fn call(
        &self,
        store: &mut Store<GuestState>,
        guest: CallableGuest<'_>,
    ) -> wasmtime::Result<Self::Output> {
        self.0.load_checked(&mut *store, guest.instance)?.call_describe(store).await
    }
}

pub(super) struct List<'a>(pub(super) &'a CompiledComponent, pub(super) wit::ListQuery);

impl GuestCall for List<'_> {
    type Output = Answer<wit::EntryPage>;

    async fn call(
        &self,
        store: &mut Store<GuestState>,
        guest: CallableGuest<'_>,
    ) -> wasmtime::Result<Self::Output> {
        self.0.resources.load(&mut *store, guest.instance)?.call_list_resources(store, &self.1).await
    }
}

pub(super) struct Templates<'a>(pub(super) &'a CompiledComponent, pub(super) Option<String>);

impl GuestCall for Templates<'_> {
    type Output = Answer<wit::TemplatePage>;

    async fn call(
        &self,
        store: &mut Store<GuestState>,
        guest: CallableGuest<'_>,
    ) -> wasmtime::Result<Self::Output> {
        self.0
            .resources
            .load(&mut *store, guest.instance)?
            .call_list_templates(store, self.1.as_deref())
            .await
    }
}

pub(super) struct Matching<'a>(pub(super) &'a CompiledComponent, pub(super) &'a str);

impl GuestCall for Matching<'_> {
    type Output = Option<wit::TemplateMatch>;

    async fn call(
        &self,
        store: &mut Store<GuestState>,
        guest: CallableGuest<'_>,
    ) -> wasmtime::Result<Self::Output> {
        self.0.resources.load(&mut *store, guest.instance)?.call_match_uri(store, self.1).await
    }
}

pub(super) struct Read<'a>(pub(super) &'a CompiledComponent, pub(super) wit::ReadRequest);

impl GuestCall for Read<'_> {
    type Output = Answer<wit::Reading>;

    /// Most calls are reads, so a fresh guest loads only this function: checking the types of all functions
    /// takes longer.
    async fn call(
        &self,
        store: &mut Store<GuestState>,
        guest: CallableGuest<'_>,
    ) -> wasmtime::Result<Self::Output> {
        if let Some(functions) = guest.functions {
            return functions.call_read_resource(store, &self.1).await;
        }
        let read = guest
            .instance
            .get_typed_func::<(&wit::ReadRequest,), (Self::Output,)>(&mut *store, &self.0.read)?;
        Ok(read.call_async(store, (&self.1,)).await?.0)
    }
}

pub(super) struct Complete<'a>(
    pub(super) &'a completions::GuestIndices,
    pub(super) completions::CompletionRequest,
);

impl GuestCall for Complete<'_> {
    type Output = Answer<completions::Completion>;

    async fn call(
        &self,
        store: &mut Store<GuestState>,
        guest: CallableGuest<'_>,
    ) -> wasmtime::Result<Self::Output> {
        self.0.load(&mut *store, guest.instance)?.call_complete(store, &self.1).await
    }
}

pub(super) struct Versions<'a>(
    pub(super) &'a crate::bindings::exports::larder::provider::version_provider::GuestIndices,
    pub(super) Vec<String>,
);

impl GuestCall for Versions<'_> {
    type Output = Answer<Vec<Option<String>>>;

    async fn call(
        &self,
        store: &mut Store<GuestState>,
        guest: CallableGuest<'_>,
    ) -> wasmtime::Result<Self::Output> {
        self.0.load(&mut *store, guest.instance)?.call_versions(store, &self.1).await
    }
}
