//! Tools and prompts of the server. The host offers them only if the operator grants them.

use larder_provider::{
    Annotations, Argument, ArgumentQuery, Block, Call, Completion, EmbeddedResource, Error, Prompt,
    PromptRequest, PromptResult, Result, Tool, ToolResult,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{Remote, completion, resources};

/// A tool of the server. `None` if the tool is not valid.
pub(crate) fn tool(value: &Value) -> Option<Tool<Remote>> {
    let name = value["name"].as_str()?.to_owned();
    let (called, input) = (name.clone(), value["inputSchema"].clone());
    let hints = &value["annotations"];
    let hint = |key: &str, default: bool| hints[key].as_bool().unwrap_or(default);
    let mut tool = Tool::new(name, move |remote: &Remote, call: &Call<Value>| {
        remote.call(&called, &call.arguments)
    })
    .input_schema(move || input.clone())
    .read_only(hint("readOnlyHint", false))
    .destructive(hint("destructiveHint", true))
    .idempotent(hint("idempotentHint", false))
    .open_world(hint("openWorldHint", true));
    let meta = value["_meta"].as_object().cloned().unwrap_or_default();
    for (key, json) in resources::metadata(meta) {
        tool = tool.metadata(key, json);
    }
    if let Some(title) = value["title"].as_str().or(hints["title"].as_str()) {
        tool = tool.title(title);
    }
    if let Some(description) = value["description"].as_str() {
        tool = tool.description(description);
    }
    Some(match value.get("outputSchema").cloned() {
        Some(output) => tool.output_schema(move || output.clone()),
        None => tool,
    })
}

/// A prompt of the server. `None` if the prompt is not valid.
pub(crate) fn prompt(value: &Value) -> Option<Prompt<Remote>> {
    let name = value["name"].as_str()?.to_owned();
    let mut prompt = Prompt::new(&name, Remote::prompt);
    prompt = value["title"]
        .as_str()
        .into_iter()
        .fold(prompt, Prompt::title);
    prompt = value["description"]
        .as_str()
        .into_iter()
        .fold(prompt, Prompt::description);
    let arguments = value["arguments"].as_array().into_iter().flatten();
    Some(
        arguments
            .filter_map(|value| argument(&name, value))
            .fold(prompt, Prompt::argument),
    )
}

fn argument(prompt: &str, value: &Value) -> Option<Argument<Remote>> {
    let (prompt, name) = (prompt.to_owned(), value["name"].as_str()?.to_owned());
    let mut argument = Argument::<Remote>::new(&name);
    argument = value["title"]
        .as_str()
        .into_iter()
        .fold(argument, Argument::title);
    argument = value["description"]
        .as_str()
        .into_iter()
        .fold(argument, Argument::description);
    if value["required"] == true {
        argument = argument.required();
    }
    let complete = move |remote: &Remote, query: &ArgumentQuery| {
        remote.complete_argument(&prompt, &name, query)
    };
    Some(argument.complete(complete))
}

impl Remote {
    fn call(&self, name: &str, arguments: &Value) -> Result<ToolResult<Value>> {
        let params = json!({ "name": name, "arguments": arguments });
        let result = self.session.request("tools/call", &params, Some(name))?;
        let content = result["content"]
            .as_array()
            .into_iter()
            .flatten()
            .map(block)
            .collect::<Result<_>>()?;
        let meta = result["_meta"].as_object().cloned().unwrap_or_default();
        Ok(ToolResult {
            content,
            structured: result.get("structuredContent").cloned(),
            is_error: result["isError"] == true,
            metadata: resources::metadata(meta),
        })
    }

    fn prompt(&self, request: &PromptRequest) -> Result<PromptResult> {
        let arguments: Map<_, _> = request
            .arguments
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        let params = json!({ "name": request.name, "arguments": arguments });
        let result = self
            .session
            .request("prompts/get", &params, Some(&request.name))?;
        let mut prompt = PromptResult::new();
        prompt = result["description"]
            .as_str()
            .into_iter()
            .fold(prompt, PromptResult::description);
        for message in result["messages"].as_array().into_iter().flatten() {
            let content = block(&message["content"])?;
            prompt = if message["role"] == "assistant" {
                prompt.assistant(content)
            } else {
                prompt.user(content)
            };
        }
        Ok(prompt)
    }

    fn complete_argument(
        &self,
        prompt: &str,
        name: &str,
        query: &ArgumentQuery,
    ) -> Result<Completion> {
        let reference = json!({ "type": "ref/prompt", "name": prompt });
        let filled = query
            .filled
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        completion(&self.session, &reference, (name, &query.prefix), filled)
    }
}

/// A piece of content in a result of a tool or in a prompt.
fn block(value: &Value) -> Result<Block> {
    let invalid = || {
        Error::failed("the server returned a content of a kind that this provider does not know")
    };
    let text = |key: &str| value[key].as_str().ok_or_else(invalid);
    let data = || resources::bytes(text("data")?).ok_or_else(invalid);
    let block = match text("type")? {
        "text" => Block::text(text("text")?),
        "image" => Block::image(text("mimeType")?, data()?),
        "audio" => Block::audio(text("mimeType")?, data()?),
        "resource_link" => Block::link(resources::entry(value).ok_or_else(invalid)?),
        "resource" => Block::embedded(embedded(&value["resource"])?),
        _ => return Err(invalid()),
    };
    let found = resources::Annotations::deserialize(&value["annotations"]).unwrap_or_default();
    let annotations = Annotations {
        audience: found
            .audience
            .iter()
            .filter_map(|role| resources::role(role))
            .collect(),
        priority: found.priority,
        last_modified: found.last_modified,
    };
    Ok(if value.get("annotations").is_some() {
        block.annotations(annotations)
    } else {
        block
    })
}

fn embedded(value: &Value) -> Result<EmbeddedResource> {
    let content = resources::content(value)?;
    Ok(EmbeddedResource {
        uri: content.uri.unwrap_or_default(),
        mime_type: content.mime_type,
        body: content.body,
        metadata: content.metadata,
    })
}
