//! What the conversion of each answer needs: errors without secrets, a log of omissions, and the memory that is charged
//! for the answer.

use std::any::Any;
use std::sync::Arc;

use super::omissions::Omissions;
use crate::bindings::larder::provider::provider_types::Error as WitError;
use crate::guest_config::GuestConfig;
use larder_model::input::Answer;
use larder_model::resource::ReadResult;
use larder_model::tool::ToolResult;
use larder_provider::CallError;
use larder_runtime::memory_budget::MemoryCharge;

impl GuestConfig {
    /// Logs what was omitted from a list or changed in a response. Repeated omissions are not logged each time.
    pub(super) fn log_omitted(&self, notes: &[String]) {
        const MESSAGE: &str = "omitted or changed part of a response";
        let team = self.team.non_default();
        let provider = self.provider.as_str();
        let Some(last) = notes.last() else { return };
        self.log.keep_notes(notes);
        if self.log.is_first(MESSAGE, "", last) {
            notes
                .iter()
                .for_each(|note| tracing::warn!(team, provider, %note, "{MESSAGE}"));
        }
    }

    pub(super) fn log_omissions(&self, omissions: &Omissions<'_>) {
        self.log_omitted(&omissions.summary());
    }

    /// Returns an answer, or the error of the provider.
    pub(super) fn redacted<T>(&self, answer: Result<T, WitError>) -> Result<T, CallError> {
        answer.map_err(|error| self.redacted_error(error))
    }

    /// Converts an answer, and logs what was omitted from it or changed in it.
    pub(super) async fn converted<W, T>(
        &self,
        answer: Result<W, WitError>,
        convert: impl AsyncFnOnce(W, &mut Omissions<'_>) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        let answer = self.redacted(answer)?;
        let mut omissions = Omissions::new(&self.grant);
        let converted = convert(answer, &mut omissions).await;
        self.log_omissions(&omissions);
        converted
    }

    /// Converts an error of the provider, and removes secrets from its text.
    pub(super) fn redacted_error(&self, error: WitError) -> CallError {
        let clean = |why: String| self.grant.secrets.redact(&why).into_owned();
        CallError::from(match error {
            WitError::NotFound => error,
            // No version was passed, so there is no content that could be unmodified.
            WitError::NotModified => WitError::Failed(
                "it returned `not-modified`, but no known version was passed".into(),
            ),
            WitError::Invalid(why) => WitError::Invalid(clean(why)),
            WitError::Denied(why) => WitError::Denied(clean(why)),
            WitError::Unavailable(why) => WitError::Unavailable(clean(why)),
            WitError::Failed(why) => WitError::Failed(clean(why)),
        })
    }
}

impl From<WitError> for CallError {
    fn from(error: WitError) -> Self {
        /// Limits the length of an error text and makes it a single line.
        fn line(text: String) -> String {
            text.chars()
                .filter(|c| !c.is_control())
                .take(1_000)
                .collect()
        }
        match error {
            WitError::NotFound => Self::NotFound,
            WitError::NotModified => Self::NotModified,
            WitError::Invalid(why) => Self::Invalid(line(why)),
            WitError::Denied(why) => Self::Denied(line(why)),
            WitError::Unavailable(why) => Self::Unavailable(line(why)),
            WitError::Failed(why) => Self::Failed(line(why)),
        }
    }
}

/// The contents of a large result keep the memory that is charged for them.
pub(super) fn with_memory(mut result: ReadResult, memory: Option<MemoryCharge>) -> ReadResult {
    if let (Some(memory), Some(contents)) = (memory, Arc::get_mut(&mut result.contents)) {
        contents.hold(Box::new(memory));
    }
    result
}

/// A large result of a tool keeps the memory that is charged for it.
pub(super) fn with_tool_memory(
    mut answer: Answer<ToolResult>,
    memory: Option<MemoryCharge>,
) -> Answer<ToolResult> {
    if let Answer::Complete(result) = &mut answer {
        result.held = held(memory);
    }
    answer
}

/// The memory that is charged for an answer. It is released with the result.
pub(super) fn held(memory: Option<MemoryCharge>) -> Option<Arc<dyn Any + Send + Sync>> {
    memory.map(|memory| Arc::new(memory) as Arc<dyn Any + Send + Sync>)
}
