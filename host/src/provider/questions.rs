//! The questions of the contract, in the words of the engine. Each can be asked more than once.

use wasmtime::Store;

use super::{completion_provider as completions, wit};
use crate::sandbox::bindings::larder::provider::provider_types::Error;
use crate::sandbox::{Called, Compiled, State, Work};

type Answer<T> = Result<T, Error>;

pub(super) struct Describe<'a>(pub(super) &'a Compiled);

impl Work for Describe<'_> {
    type Answer = wit::Description;

    async fn work(&self, store: &mut Store<State>, guest: Called<'_>) -> wasmtime::Result<Self::Answer> {
        self.0.fitting(&mut *store, guest.instance)?.call_describe(store).await
    }
}

pub(super) struct List<'a>(pub(super) &'a Compiled, pub(super) wit::ListQuery);

impl Work for List<'_> {
    type Answer = Answer<wit::EntryPage>;

    async fn work(&self, store: &mut Store<State>, guest: Called<'_>) -> wasmtime::Result<Self::Answer> {
        self.0.resources.load(&mut *store, guest.instance)?.call_list_resources(store, &self.1).await
    }
}

pub(super) struct Templates<'a>(pub(super) &'a Compiled, pub(super) Option<String>);

impl Work for Templates<'_> {
    type Answer = Answer<wit::TemplatePage>;

    async fn work(&self, store: &mut Store<State>, guest: Called<'_>) -> wasmtime::Result<Self::Answer> {
        self.0
            .resources
            .load(&mut *store, guest.instance)?
            .call_list_templates(store, self.1.as_deref())
            .await
    }
}

pub(super) struct Matching<'a>(pub(super) &'a Compiled, pub(super) &'a str);

impl Work for Matching<'_> {
    type Answer = Option<wit::TemplateMatch>;

    async fn work(&self, store: &mut Store<State>, guest: Called<'_>) -> wasmtime::Result<Self::Answer> {
        self.0.resources.load(&mut *store, guest.instance)?.call_match_uri(store, self.1).await
    }
}

pub(super) struct Read<'a>(pub(super) &'a Compiled, pub(super) wit::ReadRequest);

impl Work for Read<'_> {
    type Answer = Answer<wit::Reading>;

    /// Most questions are this one: the types of the others are not compared each time.
    async fn work(&self, store: &mut Store<State>, guest: Called<'_>) -> wasmtime::Result<Self::Answer> {
        if let Some(functions) = guest.functions {
            return functions.call_read_resource(store, &self.1).await;
        }
        let read = guest
            .instance
            .get_typed_func::<(&wit::ReadRequest,), (Self::Answer,)>(&mut *store, &self.0.read)?;
        Ok(read.call_async(store, (&self.1,)).await?.0)
    }
}

pub(super) struct Complete<'a>(
    pub(super) &'a completions::GuestIndices,
    pub(super) completions::CompletionRequest,
);

impl Work for Complete<'_> {
    type Answer = Answer<completions::Completion>;

    async fn work(&self, store: &mut Store<State>, guest: Called<'_>) -> wasmtime::Result<Self::Answer> {
        self.0.load(&mut *store, guest.instance)?.call_complete(store, &self.1).await
    }
}

pub(super) struct Versions<'a>(
    pub(super) &'a crate::sandbox::bindings::exports::larder::provider::version_provider::GuestIndices,
    pub(super) Vec<String>,
);

impl Work for Versions<'_> {
    type Answer = Answer<Vec<Option<String>>>;

    async fn work(&self, store: &mut Store<State>, guest: Called<'_>) -> wasmtime::Result<Self::Answer> {
        self.0.load(&mut *store, guest.instance)?.call_versions(store, &self.1).await
    }
}
