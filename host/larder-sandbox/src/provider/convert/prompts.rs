//! Converts prompts, their requests and their results.

use std::collections::HashSet;

use super::check_result_count;
use super::content::{MAX_BLOCKS, block, block_size, converted_bytes};
use super::input::{input_required, required_size, wit_provided_input};
use super::metadata::{metadata, metadata_size};
use super::names::{WORD_RULE, is_word, quoted};
use super::pace::Pace;
use super::parts::{extras_size, icons, role, text_size};
use super::texts::{description, title};
use super::{ListLimits, WitPage, list_page};
use crate::bindings::exports::larder::provider::prompt_provider as wit;
use crate::provider::omissions::Omissions;
use larder_model::input::Answer;
use larder_model::policy::Grant;
use larder_model::prompt::{Argument, ArgumentQuery, Message, Prompt, PromptRequest, PromptResult};
use larder_provider::{CallError, ListPage};

/// Maximum length of the name of a prompt in bytes.
const MAX_NAME: usize = 128;
/// Maximum number of arguments of a prompt.
const MAX_ARGUMENTS: usize = 64;

impl From<wit::PromptPage> for WitPage<wit::Prompt> {
    fn from(page: wit::PromptPage) -> Self {
        Self {
            items: page.prompts,
            next_cursor: page.next_cursor,
            freshness: page.freshness,
        }
    }
}

pub(in crate::provider) async fn prompt_page(
    page: wit::PromptPage,
    grant: &Grant,
) -> Result<ListPage<Prompt>, CallError> {
    let limits = ListLimits::new(grant, "a prompt", "prompts");
    let mut names = HashSet::new();
    list_page(page.into(), &limits, prompt_size, |item, omissions| {
        let name = quoted(&item.name, omissions);
        if !names.insert(item.name.clone()) {
            omissions.add(format!("a second prompt {name}"));
            return None;
        }
        prompt(item, omissions)
            .map_err(|why| omissions.add(format!("the prompt {name}: {why}")))
            .ok()
    })
    .await
}

/// Returns the bytes of an answer.
pub(in crate::provider) fn prompt_answer_size(answer: &wit::PromptAnswer) -> usize {
    match answer {
        wit::PromptAnswer::InputRequired(required) => required_size(required),
        wit::PromptAnswer::Complete(result) => {
            let messages = result
                .messages
                .iter()
                .map(|message| block_size(&message.content));
            messages.sum::<usize>() + metadata_size(&result.metadata)
        }
    }
}

pub(in crate::provider) fn prompt_size(prompt: &wit::Prompt) -> usize {
    let argument = |it: &wit::Argument| {
        text_size([&it.title, &it.description, &None, &None]) + it.name.len() + 32
    };
    text_size([&prompt.title, &prompt.description, &None, &None])
        + prompt.name.len()
        + prompt.arguments.iter().map(argument).sum::<usize>()
        + extras_size(&prompt.icons, &prompt.metadata)
}

/// Converts a prompt, or returns why it cannot be used.
fn prompt(item: wit::Prompt, omissions: &mut Omissions<'_>) -> Result<Prompt, String> {
    if !(1..=MAX_NAME).contains(&item.name.len()) || item.name.contains(char::is_control) {
        return Err(format!(
            "a prompt name has 1 to {MAX_NAME} bytes and no control characters"
        ));
    }
    Ok(Prompt {
        name: item.name,
        title: title(item.title, omissions),
        description: description(item.description, omissions),
        arguments: arguments(item.arguments, omissions)?,
        icons: icons(item.icons, omissions),
        metadata: metadata(item.metadata, omissions),
    })
}

fn arguments(
    items: Vec<wit::Argument>,
    omissions: &mut Omissions<'_>,
) -> Result<Vec<Argument>, String> {
    if items.len() > MAX_ARGUMENTS {
        return Err(format!(
            "it has {} arguments; the limit is {MAX_ARGUMENTS}",
            items.len()
        ));
    }
    let mut arguments = Vec::<Argument>::with_capacity(items.len());
    for wit::Argument {
        name,
        title: long_name,
        description: text,
        required,
    } in items
    {
        if !is_word(&name) {
            return Err(format!(
                "the name of its argument {} is not {WORD_RULE}",
                quoted(&name, omissions)
            ));
        }
        if arguments.iter().any(|other| other.name == name) {
            return Err(format!("it has two arguments `{name}`"));
        }
        let title = title(long_name, omissions);
        let description = description(text, omissions);
        arguments.push(Argument {
            name,
            title,
            description,
            required,
        });
    }
    Ok(arguments)
}

pub(in crate::provider) fn wit_prompt_request(request: PromptRequest) -> wit::PromptRequest {
    let PromptRequest {
        name,
        arguments,
        input,
    } = request;
    wit::PromptRequest {
        name,
        arguments,
        input: input.map(wit_provided_input),
    }
}

pub(in crate::provider) fn wit_argument_query(query: ArgumentQuery) -> wit::ArgumentQuery {
    wit::ArgumentQuery {
        prompt: query.prompt,
        argument: query.argument,
        prefix: query.prefix,
        filled: query.filled,
    }
}

pub(in crate::provider) async fn prompt_result(
    answer: wit::PromptAnswer,
    omissions: &mut Omissions<'_>,
) -> Result<Answer<PromptResult>, CallError> {
    let result = match answer {
        wit::PromptAnswer::InputRequired(required) => {
            return input_required(required, omissions)
                .await
                .map(Answer::InputRequired);
        }
        wit::PromptAnswer::Complete(result) => result,
    };
    check_result_count(result.messages.len(), MAX_BLOCKS, "messages")?;
    let mut messages = Vec::with_capacity(result.messages.len());
    let mut pace = Pace::default();
    for (at, message) in result.messages.into_iter().enumerate() {
        pace.item(converted_bytes(&message.content)).await;
        let content = block(message.content, omissions)
            .map_err(|why| CallError::Failed(format!("message {} of its result: {why}", at + 1)))?;
        messages.push(Message {
            role: role(message.role),
            content,
        });
    }
    Ok(Answer::Complete(PromptResult {
        messages,
        description: description(result.description, omissions),
        metadata: metadata(result.metadata, omissions),
        held: None,
    }))
}
