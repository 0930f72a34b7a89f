//! The calls of the contract's functions, as [`GuestCall`]s.

mod checks;
mod contract_call;
mod converted_call;
mod table;

use parking_lot::Mutex;

pub(super) use self::checks::{CallChecks, NoChecks};
pub(super) use self::converted_call::ConvertedCall;
pub(super) use self::table::{
    CALL_TOOL, COMPLETE, COMPLETE_ARGUMENT, GET_PROMPT, LIST_DIRECTORY, LIST_PROMPTS,
    LIST_TEMPLATES, LIST_TOOLS, SEARCH, VERSIONS,
};
use super::convert::{entry_size, reading_size};
use super::wit;
use crate::bindings::exports::larder::provider::settings_provider;
use crate::bindings::larder::provider::provider_types::{Error, Freshness, Scope};
use crate::run::contract_exports::{FunctionName, RESOURCES};
use crate::run::guest::{CallableGuest, GuestCall};
use larder_model::uri::Uri;
use larder_runtime::memory_budget::MemoryCharge;

type Answer<T> = Result<T, Error>;

fn restrict_to_caller(freshness: Option<&mut Freshness>) {
    if let Some(freshness) = freshness {
        freshness.scope = Scope::Caller;
    }
}

pub(super) struct Describe;

impl GuestCall for Describe {
    type Output = wit::Description;

    fn operation(&self) -> &'static str {
        "describe"
    }

    async fn call(&self, guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        guest
            .compiled
            .contract()?
            .load_checked(&mut *guest.store, &guest.instance)?
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

    fn operation(&self) -> &'static str {
        "list"
    }

    fn answer_size(&self, answer: &Self::Output) -> usize {
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

    async fn call(&self, mut guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        let page = guest
            .call(FunctionName(RESOURCES, "list-resources"), (&self.0,))
            .await?;
        Ok(ListAnswer {
            page,
            unreadable_names: guest.store.data().unreadable_names,
        })
    }
}

pub(super) struct MatchUri(pub(super) Uri);

impl GuestCall for MatchUri {
    type Output = Option<wit::TemplateMatch>;

    fn operation(&self) -> &'static str {
        "match"
    }

    fn subject(&self) -> &str {
        self.0.as_str()
    }

    async fn call(&self, mut guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        guest
            .call(FunctionName(RESOURCES, "match-uri"), (self.0.as_str(),))
            .await
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

    fn operation(&self) -> &'static str {
        "read"
    }

    fn answer_size(&self, answer: &Self::Output) -> usize {
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

    fn into_answer_memory(self) -> Option<MemoryCharge> {
        self.1.into_charge()
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

pub(super) struct Settings;

impl GuestCall for Settings {
    type Output = Vec<settings_provider::Declaration>;

    fn operation(&self) -> &'static str {
        "settings"
    }

    async fn call(&self, mut guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        let function = FunctionName("larder:provider/settings-provider@0.1.0", "settings");
        guest.call(function, ()).await
    }
}
