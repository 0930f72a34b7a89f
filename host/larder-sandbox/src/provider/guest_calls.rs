//! The calls of the contract's functions, as [`GuestCall`]s.

mod checks;
mod converted_call;
mod interactive;

use parking_lot::Mutex;

pub(super) use self::checks::{CallChecks, NoChecks};
pub(super) use self::converted_call::ConvertedCall;
pub(super) use self::interactive::{
    CallTool, CompleteArgument, GetPrompt, ListPrompts, ListTools, Search, Settings,
};
use super::convert::{entry_size, reading_size, template_size};
use super::wit;
use crate::bindings::exports::larder::provider::completion_provider;
use crate::bindings::larder::provider::provider_types::{Error, Freshness, Scope};
use crate::run::guest::{CallableGuest, GuestCall};
use larder_model::uri::Uri;
use larder_runtime::memory_budget::MemoryCharge;

type Answer<T> = Result<T, Error>;

/// The functions of an optional interface. Calls are made only to components that implement it.
fn implemented<T>(functions: &Option<T>) -> wasmtime::Result<&T> {
    functions
        .as_ref()
        .ok_or_else(|| wasmtime::Error::msg("the component does not export the interface"))
}

fn restrict_to_caller(freshness: Option<&mut Freshness>) {
    if let Some(freshness) = freshness {
        freshness.scope = Scope::Caller;
    }
}

pub(super) struct Describe;

impl GuestCall for Describe {
    type Output = wit::Description;
    const OPERATION: &'static str = "describe";

    fn subject(&self) -> &str {
        ""
    }

    async fn call(&self, guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        guest
            .compiled
            .contract()?
            .load_checked(&mut *guest.store, guest.instance)?
            .call_describe(guest.store)
            .await
    }
}

pub(super) struct List(pub(super) wit::ListQuery);

/// The answer to [`List`].
pub(super) struct ListAnswer {
    pub(super) page: Answer<wit::EntryPage>,
    /// Names of files that the guest could not read, because they are not UTF-8.
    pub(super) unreadable_names: u64,
}

impl GuestCall for List {
    type Output = ListAnswer;
    const OPERATION: &'static str = "list";

    fn answer_size(answer: &Self::Output) -> usize {
        answer
            .page
            .as_ref()
            .map_or(0, |page| page.entries.iter().map(entry_size).sum())
    }

    fn restrict_to_caller(answer: &mut Self::Output) {
        restrict_to_caller(
            answer
                .page
                .as_mut()
                .ok()
                .and_then(|page| page.freshness.as_mut()),
        );
    }

    fn subject(&self) -> &str {
        self.0.cursor.as_deref().unwrap_or_default()
    }

    async fn call(&self, guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        let functions = guest
            .compiled
            .contract()?
            .resources
            .load(&mut *guest.store, guest.instance)?;
        let page = functions
            .call_list_resources(&mut *guest.store, &self.0)
            .await?;
        Ok(ListAnswer {
            page,
            unreadable_names: guest.store.data().unreadable_names,
        })
    }
}

pub(super) struct Templates(pub(super) Option<String>);

impl GuestCall for Templates {
    type Output = Answer<wit::TemplatePage>;
    const OPERATION: &'static str = "templates";

    fn answer_size(answer: &Self::Output) -> usize {
        answer
            .as_ref()
            .map_or(0, |page| page.templates.iter().map(template_size).sum())
    }

    fn subject(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    async fn call(&self, guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        let functions = guest
            .compiled
            .contract()?
            .resources
            .load(&mut *guest.store, guest.instance)?;
        functions
            .call_list_templates(guest.store, self.0.as_deref())
            .await
    }
}

pub(super) struct MatchUri(pub(super) Uri);

impl GuestCall for MatchUri {
    type Output = Option<wit::TemplateMatch>;
    const OPERATION: &'static str = "match";

    fn subject(&self) -> &str {
        self.0.as_str()
    }

    async fn call(&self, guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        let functions = guest
            .compiled
            .contract()?
            .resources
            .load(&mut *guest.store, guest.instance)?;
        functions.call_match_uri(guest.store, self.0.as_str()).await
    }
}

/// The memory that is charged for the answer of a call; none if the answer is small.
#[derive(Default)]
pub(super) struct AnswerMemory(Mutex<Option<MemoryCharge>>);

impl AnswerMemory {
    pub(super) fn keep(&self, memory: MemoryCharge) {
        *self.0.lock() = Some(memory);
    }

    pub(super) fn into_charge(self) -> Option<MemoryCharge> {
        self.0.into_inner()
    }
}

pub(super) struct Read(pub(super) wit::ReadRequest, pub(super) AnswerMemory);

impl GuestCall for Read {
    type Output = Answer<wit::Reading>;
    const OPERATION: &'static str = "read";

    fn answer_size(answer: &Self::Output) -> usize {
        answer.as_ref().map_or(0, reading_size)
    }

    fn restrict_to_caller(answer: &mut Self::Output) {
        restrict_to_caller(
            answer
                .as_mut()
                .ok()
                .and_then(|reading| reading.freshness.as_mut()),
        );
    }

    fn keep_answer_memory(&self, memory: MemoryCharge) {
        self.1.keep(memory);
    }

    fn subject(&self) -> &str {
        &self.0.uri
    }

    /// Most calls are reads, so a fresh guest loads only this function: checking the types of all functions
    /// takes longer.
    async fn call(&self, guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        if let Some(functions) = guest.functions {
            return functions.call_read_resource(guest.store, &self.0).await;
        }
        let read = guest
            .instance
            .get_typed_func::<(&wit::ReadRequest,), (Self::Output,)>(
                &mut *guest.store,
                &guest.compiled.contract()?.read,
            )?;
        Ok(read.call_async(guest.store, (&self.0,)).await?.0)
    }
}

pub(super) struct Complete(pub(super) completion_provider::CompletionRequest);

impl GuestCall for Complete {
    type Output = Answer<completion_provider::Completion>;
    const OPERATION: &'static str = "complete";

    fn subject(&self) -> &str {
        &self.0.uri_template
    }

    async fn call(&self, guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        let functions = implemented(&guest.compiled.contract()?.completion)?;
        functions
            .load(&mut *guest.store, guest.instance)?
            .call_complete(guest.store, &self.0)
            .await
    }
}

pub(super) struct Versions(pub(super) Vec<String>);

impl GuestCall for Versions {
    type Output = Answer<Vec<Option<String>>>;
    const OPERATION: &'static str = "versions";

    fn subject(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    async fn call(&self, guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        let functions = implemented(&guest.compiled.contract()?.versions)?;
        functions
            .load(&mut *guest.store, guest.instance)?
            .call_versions(guest.store, &self.0)
            .await
    }
}
