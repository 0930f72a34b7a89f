//! Validates the arguments and the result of a tool with its schemas. This is a part of the call: it is done while the
//! call holds its permits, and it is measured, charged to the team and ended at the deadline. A long validation is done
//! on a thread for long calls.

use std::future::pending;
use std::time::Instant;

use larder_json_schema::{Effort, JsonSchema, SchemaError};
use serde_json::Value;

use super::guest_calls::CallChecks;
use crate::guest_config::{GuestConfig, Lease};
use crate::run::fault::timeout_fault;
use crate::threads::call_thread::move_to_long_call_thread;
use larder_model::input::Answer;
use larder_model::tool::ToolResult;
use larder_provider::{CallError, MAX_EFFORT, ToolValidation};
use larder_runtime::deadline::with_deadline;

/// Maximum effort of a validation on the thread that received the call: some tenths of a millisecond.
const SHORT_EFFORT: u64 = 20_000;
/// Maximum bytes of a structured result that are parsed on the thread that received the call.
const SHORT_RESULT: usize = 64 << 10;

impl CallChecks<Answer<ToolResult>> for Option<ToolValidation> {
    async fn before(&self, lease: &Lease) -> Result<(), CallError> {
        let Some(validation) = self else {
            return Ok(());
        };
        let (deadline, timeout) = lease.deadline(Instant::now());
        let validate = validate(
            &validation.schemas.input,
            &validation.arguments,
            lease,
            deadline,
        );
        match with_deadline(|| deadline, validate).await {
            Some(outcome) => outcome.map_err(|error| CallError::Refused(error.to_string())),
            None => Err(CallError::Fault(timeout_fault(
                timeout,
                &lease.grant.limits,
            ))),
        }
    }

    async fn after(
        &self,
        config: &GuestConfig,
        answer: Answer<ToolResult>,
        deadline: Instant,
    ) -> Result<Answer<ToolResult>, CallError> {
        let Some(validation) = self else {
            return Ok(answer);
        };
        match check_answer(validation, config, &answer, deadline).await {
            Ok(()) => Ok(answer),
            Err(message) => {
                config.log_omitted(&[format!("the tool `{}`: {message}", validation.name)]);
                Err(CallError::Failed(message))
            }
        }
    }
}

/// Checks a successful result. If the tool has an output schema, the result must be structured.
async fn check_answer(
    validation: &ToolValidation,
    config: &GuestConfig,
    answer: &Answer<ToolResult>,
    deadline: Instant,
) -> Result<(), String> {
    let Answer::Complete(result) = answer else {
        return Ok(());
    };
    let Some(output) = &validation.schemas.output else {
        return Ok(());
    };
    if result.is_error {
        return Ok(());
    }
    let structured = result.structured.as_deref();
    let structured =
        structured.ok_or("it has an output schema, but returned no structured result")?;
    if structured.get().len() > SHORT_RESULT {
        move_to_long_call_thread().await;
    }
    let value: Value = serde_json::from_str(structured.get()).map_err(|error| error.to_string())?;
    let checked = validate(output, &value, config, deadline).await;
    checked
        .map_err(|error| format!("its structured result does not match its output schema: {error}"))
}

/// Validates a value. First tries the effort of a short call. If that is not enough, validates the value again on a
/// thread for long calls.
async fn validate(
    schema: &JsonSchema,
    value: &Value,
    config: &GuestConfig,
    deadline: Instant,
) -> Result<(), SchemaError> {
    match schema.validate(value, &mut Effort::new(SHORT_EFFORT)) {
        Err(SchemaError::TooMuchEffort) => {}
        outcome => return outcome,
    }
    move_to_long_call_thread().await;
    if let Some(wait) = config.cpu_wait() {
        tokio::time::sleep(wait).await;
    }
    let mut is_late = || Instant::now() >= deadline;
    let outcome = schema.validate(value, &mut Effort::with_check(MAX_EFFORT, &mut is_late));
    if outcome == Err(SchemaError::Stopped) {
        // The call is ended at its deadline, which is now.
        pending::<()>().await;
    }
    outcome
}
