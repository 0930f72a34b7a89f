//! The calls of the contract's functions, as [`GuestCall`]s.

mod converted;
mod interactive;

use wasmtime::Store;

pub(super) use self::converted::Converted;
pub(super) use self::interactive::{
    CallTool, CompleteArgument, GetPrompt, ListPrompts, ListTools, Search, Settings,
};
use super::wit;
use crate::bindings::exports::larder::provider::{completion_provider, version_provider};
use crate::bindings::larder::provider::provider_types::Error;
use crate::guest::{CallableGuest, GuestCall};
use crate::state::GuestState;

type Answer<T> = Result<T, Error>;

pub(super) struct Describe;

impl GuestCall for Describe {
    type Output = wit::Description;
    const OPERATION: &'static str = "describe";

    fn subject(&self) -> &str {
        ""
    }

    async fn call(
        &self,
        store: &mut Store<GuestState>,
        guest: CallableGuest<'_>,
    ) -> wasmtime::Result<Self::Output> {
        guest.compiled.load_checked(&mut *store, guest.instance)?.call_describe(store).await
    }
}

pub(super) struct List(pub(super) wit::ListQuery);

impl GuestCall for List {
    type Output = Answer<wit::EntryPage>;
    const OPERATION: &'static str = "list";

    fn subject(&self) -> &str {
        self.0.cursor.as_deref().unwrap_or_default()
    }

    async fn call(
        &self,
        store: &mut Store<GuestState>,
        guest: CallableGuest<'_>,
    ) -> wasmtime::Result<Self::Output> {
        let functions = guest.compiled.resources.load(&mut *store, guest.instance)?;
        functions.call_list_resources(store, &self.0).await
    }
}

pub(super) struct Templates(pub(super) Option<String>);

impl GuestCall for Templates {
    type Output = Answer<wit::TemplatePage>;
    const OPERATION: &'static str = "templates";

    fn subject(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    async fn call(
        &self,
        store: &mut Store<GuestState>,
        guest: CallableGuest<'_>,
    ) -> wasmtime::Result<Self::Output> {
        let functions = guest.compiled.resources.load(&mut *store, guest.instance)?;
        functions.call_list_templates(store, self.0.as_deref()).await
    }
}

pub(super) struct Matching<'a>(pub(super) &'a str);

impl GuestCall for Matching<'_> {
    type Output = Option<wit::TemplateMatch>;
    const OPERATION: &'static str = "match";

    fn subject(&self) -> &str {
        self.0
    }

    async fn call(
        &self,
        store: &mut Store<GuestState>,
        guest: CallableGuest<'_>,
    ) -> wasmtime::Result<Self::Output> {
        let functions = guest.compiled.resources.load(&mut *store, guest.instance)?;
        functions.call_match_uri(store, self.0).await
    }
}

pub(super) struct Read(pub(super) wit::ReadRequest);

impl GuestCall for Read {
    type Output = Answer<wit::Reading>;
    const OPERATION: &'static str = "read";

    fn subject(&self) -> &str {
        &self.0.uri
    }

    /// Most calls are reads, so a fresh guest loads only this function: checking the types of all functions
    /// takes longer.
    async fn call(
        &self,
        store: &mut Store<GuestState>,
        guest: CallableGuest<'_>,
    ) -> wasmtime::Result<Self::Output> {
        if let Some(functions) = guest.functions {
            return functions.call_read_resource(store, &self.0).await;
        }
        let read = guest
            .instance
            .get_typed_func::<(&wit::ReadRequest,), (Self::Output,)>(&mut *store, &guest.compiled.read)?;
        Ok(read.call_async(store, (&self.0,)).await?.0)
    }
}

pub(super) struct Complete<'a>(
    pub(super) &'a completion_provider::GuestIndices,
    pub(super) completion_provider::CompletionRequest,
);

impl GuestCall for Complete<'_> {
    type Output = Answer<completion_provider::Completion>;
    const OPERATION: &'static str = "complete";

    fn subject(&self) -> &str {
        &self.1.uri_template
    }

    async fn call(
        &self,
        store: &mut Store<GuestState>,
        guest: CallableGuest<'_>,
    ) -> wasmtime::Result<Self::Output> {
        self.0.load(&mut *store, guest.instance)?.call_complete(store, &self.1).await
    }
}

pub(super) struct Versions<'a>(pub(super) &'a version_provider::GuestIndices, pub(super) Vec<String>);

impl GuestCall for Versions<'_> {
    type Output = Answer<Vec<Option<String>>>;
    const OPERATION: &'static str = "versions";

    fn subject(&self) -> &str {
        self.1.first().map_or("", String::as_str)
    }

    async fn call(
        &self,
        store: &mut Store<GuestState>,
        guest: CallableGuest<'_>,
    ) -> wasmtime::Result<Self::Output> {
        self.0.load(&mut *store, guest.instance)?.call_versions(store, &self.1).await
    }
}
