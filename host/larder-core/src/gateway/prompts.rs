//! Prompts: returns a prompt, and completes its arguments.

use std::sync::Arc;

use super::audit_record::{AuditRecord, written};
use super::tools::{ComponentAnswer, ComponentRequest, check_asked_by};
use super::{Error, Gateway};
use crate::catalog::Offer;
use larder_model::input::Answer;
use larder_model::prompt::{ArgumentQuery, Prompt, PromptRequest, PromptResult};
use larder_model::resource::{Call, Completion};

/// A request for the messages of a prompt.
pub type PromptCall = ComponentRequest<Vec<(String, String)>>;

impl Gateway {
    /// Returns the messages of a prompt.
    pub async fn get_prompt(
        &self,
        call: &Arc<Call>,
        request: &PromptCall,
    ) -> Result<ComponentAnswer<PromptResult>, Error> {
        let mut record = self.begin_record("get-prompt", call, None).await?;
        record.set_name(Some(&request.name));
        let result = Box::pin(self.find_and_get_prompt(call, request, &mut record)).await;
        let items = |answered: &ComponentAnswer<PromptResult>| match &answered.answer {
            Answer::Complete(result) => result.messages.len(),
            Answer::InputRequired(_) => 0,
        };
        written(record.end_with_items(&result, items)).await?;
        result
    }

    async fn find_and_get_prompt(
        &self,
        call: &Arc<Call>,
        request: &PromptCall,
        record: &mut AuditRecord<'_>,
    ) -> Result<ComponentAnswer<PromptResult>, Error> {
        let view = self.view(call);
        let name = &request.name;
        let unknown = || view.unknown_prompt(name);
        let (offer, prompt) = view.prompt(name).ok_or_else(unknown)?;
        let permit = offer.permit(call).map_err(|_| unknown())?;
        record.set_provider(offer);
        check_asked_by(offer, request.asked_by)?;
        check_arguments(&prompt.prompt, &request.arguments)?;
        let from_call = |error| Error::from_call(offer, name, None, error);
        offer.provider.check_byte_quota().map_err(from_call)?;
        let request = prompt_request(&prompt.prompt, request);
        let answer = offer.provider.get_prompt(permit, request).await;
        record.set_result(false, answer.as_ref().err());
        let answer = answer.map_err(from_call)?;
        if let Answer::Complete(result) = &answer {
            offer.provider.charge_bytes(size(result));
        }
        Ok(ComponentAnswer {
            answer,
            component: offer.provider.digest(),
        })
    }

    /// Completes an argument of a prompt.
    pub async fn complete_argument(
        &self,
        call: &Arc<Call>,
        query: ArgumentQuery,
    ) -> Result<Completion, Error> {
        let name = self.audit.is_on().then(|| query.prompt.clone());
        let mut record = self.begin_record("complete-argument", call, None).await?;
        record.set_name(name.as_deref());
        let result = Box::pin(self.argument_completion(call, query, &mut record)).await;
        written(record.end_with_items(&result, |completion| completion.values.len())).await?;
        result
    }

    async fn argument_completion(
        &self,
        call: &Arc<Call>,
        query: ArgumentQuery,
        record: &mut AuditRecord<'_>,
    ) -> Result<Completion, Error> {
        let view = self.view(call);
        let unknown = || view.unknown_prompt(&query.prompt);
        let (offer, prompt) = view.prompt(&query.prompt).ok_or_else(unknown)?;
        let permit = offer.permit(call).map_err(|_| unknown())?;
        if !has_argument(&prompt.prompt, &query.argument) {
            return Err(unknown_argument(&query.argument));
        }
        record.set_provider(offer);
        let name = query.prompt.clone();
        let query = ArgumentQuery {
            prompt: prompt.prompt.name.clone(),
            ..query
        };
        let answer = offer.provider.complete_argument(permit, query).await;
        record.set_result(false, answer.as_ref().err());
        let answer = answer.map_err(|error| Error::from_call(offer, &name, None, error))?;
        charge_completion(offer, &answer);
        Ok(answer)
    }
}

/// Checks the names of the arguments: all required arguments must be present, and no unknown ones.
fn check_arguments(prompt: &Prompt, arguments: &[(String, String)]) -> Result<(), Error> {
    let has = |name: &str| arguments.iter().any(|(given, _)| given == name);
    if let Some(missing) = prompt
        .arguments
        .iter()
        .find(|argument| argument.required && !has(&argument.name))
    {
        let message = format!("the argument `{}` is required", missing.name);
        return Err(Error::InvalidArguments { message });
    }
    let mut names = arguments.iter().map(|(name, _)| name);
    match names.find(|name| !has_argument(prompt, name)) {
        Some(unknown) => Err(unknown_argument(unknown)),
        None => Ok(()),
    }
}

fn has_argument(prompt: &Prompt, name: &str) -> bool {
    let mut arguments = prompt.arguments.iter();
    arguments.any(|argument| argument.name == name)
}

fn unknown_argument(name: &str) -> Error {
    let message = format!("the prompt has no argument `{name}`");
    Error::InvalidArguments { message }
}

/// The request, with the name that the provider gave to the prompt.
fn prompt_request(prompt: &Prompt, request: &PromptCall) -> PromptRequest {
    PromptRequest {
        name: prompt.name.clone(),
        arguments: request.arguments.clone(),
        input: request.input.clone(),
    }
}

fn size(result: &PromptResult) -> usize {
    let messages = result.messages.iter();
    messages.map(|message| message.content.size()).sum()
}

/// Charges the bytes of the completed values to the provider's team.
pub(super) fn charge_completion(offer: &Offer, answer: &Completion) {
    let bytes = answer.values.iter().map(String::len).sum();
    offer.provider.charge_bytes(bytes);
}
