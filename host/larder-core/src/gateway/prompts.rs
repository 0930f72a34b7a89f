//! Prompts: returns a prompt, and completes its arguments.

use std::sync::Arc;

use super::audit_record::{AuditRecord, written};
use super::tools::{ComponentAnswer, ComponentRequest, check_asked_by};
use super::{Error, Gateway};
use larder_model::input::Answer;
use larder_model::message::Block;
use larder_model::policy::Permit;
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
        let view = self.view(call.caller.as_ref());
        let PromptCall {
            name,
            arguments,
            input,
            asked_by,
        } = request;
        let unknown = || view.unknown_prompt(name);
        let (offer, prompt) = view.prompt(name).ok_or_else(unknown)?;
        let permit = Permit::for_team(call, offer.provider.team()).map_err(|_| unknown())?;
        record.set_provider(offer);
        check_asked_by(offer, *asked_by)?;
        check_arguments(&prompt.prompt, arguments)?;
        let from_call = |error| Error::from_call(offer, name, None, error);
        offer.provider.check_byte_quota().map_err(from_call)?;
        let name = prompt.prompt.name.clone();
        let arguments = arguments.clone();
        let request = PromptRequest {
            name,
            arguments,
            input: input.clone(),
        };
        let answer = offer.provider.get_prompt(permit, request).await;
        record.set_result(false, answer.as_ref().err());
        let answer = answer.map_err(from_call)?;
        if let Answer::Complete(result) = &answer {
            let sizes = result
                .messages
                .iter()
                .map(|message| Block::size(&message.content));
            offer.provider.charge_bytes(sizes.sum());
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
        let view = self.view(call.caller.as_ref());
        let unknown = || view.unknown_prompt(&query.prompt);
        let (offer, prompt) = view.prompt(&query.prompt).ok_or_else(unknown)?;
        let permit = Permit::for_team(call, offer.provider.team()).map_err(|_| unknown())?;
        if !prompt
            .prompt
            .arguments
            .iter()
            .any(|argument| argument.name == query.argument)
        {
            let message = format!("the prompt has no argument `{}`", query.argument);
            return Err(Error::InvalidArguments { message });
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
        offer
            .provider
            .charge_bytes(answer.values.iter().map(String::len).sum());
        Ok(answer)
    }
}

/// Checks the names of the arguments: all required arguments must be present, and no unknown ones.
fn check_arguments(prompt: &Prompt, arguments: &[(String, String)]) -> Result<(), Error> {
    let has = |name: &str| arguments.iter().any(|(given, _)| given == name);
    let invalid = |message| Err(Error::InvalidArguments { message });
    if let Some(missing) = prompt
        .arguments
        .iter()
        .find(|argument| argument.required && !has(&argument.name))
    {
        return invalid(format!("the argument `{}` is required", missing.name));
    }
    let is_known = |name: &str| {
        prompt
            .arguments
            .iter()
            .any(|argument| argument.name == name)
    };
    match arguments.iter().find(|(name, _)| !is_known(name)) {
        Some((unknown, _)) => invalid(format!("the prompt has no argument `{unknown}`")),
        None => Ok(()),
    }
}
