//! The prompts.

use larder_provider::{
    Argument, Block, EmbeddedResource, Prompt, PromptAnswer, PromptRequest, PromptResult, Prompts,
    Result,
};
use serde_json::Value;

use crate::media::PIXEL;
use crate::questions;
use crate::tools::changes::has_added_prompt;

pub(crate) fn all<P: 'static>() -> Prompts<P> {
    let argument = |name: &str| {
        Argument::new(name)
            .description("An argument.")
            .required()
            .values(["hello", "world"])
    };
    let uri = Argument::new("resourceUri")
        .description("The URI of the resource.")
        .required();
    let prompts = Prompts::new()
        .prompt(prompt("test_simple_prompt", "A text.", simple))
        .prompt(
            prompt(
                "test_prompt_with_arguments",
                "A text with two arguments.",
                with_arguments,
            )
            .argument(argument("arg1"))
            .argument(argument("arg2")),
        )
        .prompt(
            prompt(
                "test_prompt_with_embedded_resource",
                "A resource.",
                with_resource,
            )
            .argument(uri),
        )
        .prompt(prompt("test_prompt_with_image", "A picture.", with_image))
        .prompt(prompt(
            "test_input_required_result_prompt",
            "Asks for its context.",
            with_input,
        ));
    match has_added_prompt() {
        true => prompts.prompt(prompt(
            "test_added_prompt",
            "Was added while the server runs.",
            simple,
        )),
        false => prompts,
    }
}

fn prompt<P: 'static, R: Into<PromptAnswer> + 'static>(
    name: &str,
    description: &str,
    function: fn(&PromptRequest) -> Result<R>,
) -> Prompt<P> {
    Prompt::new(name, move |_: &P, request: &PromptRequest| {
        function(request)
    })
    .description(description)
}

fn simple(_request: &PromptRequest) -> Result<PromptResult> {
    Ok(PromptResult::new().user("This is a simple prompt for testing."))
}

fn with_arguments(request: &PromptRequest) -> Result<PromptResult> {
    let (first, second) = (request.argument("arg1")?, request.argument("arg2")?);
    Ok(PromptResult::new().user(format!(
        "Prompt with arguments: arg1='{first}', arg2='{second}'"
    )))
}

fn with_resource(request: &PromptRequest) -> Result<PromptResult> {
    let uri = request.argument("resourceUri")?;
    let resource =
        EmbeddedResource::text(uri, "Embedded resource content for testing.").mime("text/plain");
    Ok(PromptResult::new()
        .user(resource)
        .user("Please process the embedded resource above."))
}

fn with_image(_request: &PromptRequest) -> Result<PromptResult> {
    Ok(PromptResult::new()
        .user(Block::image("image/png", PIXEL))
        .user("Please analyze the image above."))
}

fn with_input(request: &PromptRequest) -> Result<PromptAnswer> {
    let input = request.input.as_ref();
    let answer = input
        .map(|input| input.accepted::<Value>("user_context"))
        .transpose()?
        .flatten();
    Ok(match answer {
        Some(answer) => PromptResult::new()
            .user(format!("Use this context: {}", answer["context"]))
            .into(),
        None => {
            let message = "What context should the prompt use?";
            questions::text("user_context", message, "context").into()
        }
    })
}

#[cfg(test)]
mod tests {
    use larder_provider::Input;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_prompt_with_input_asks_first() {
        let first = PromptRequest::new("test_input_required_result_prompt", &[]);
        assert!(matches!(
            with_input(&first),
            Ok(PromptAnswer::InputRequired(_))
        ));
        let input = Some(Input::accept(
            "user_context",
            json!({ "context": "a test" }),
        ));
        let Ok(PromptAnswer::Complete(result)) = with_input(&PromptRequest { input, ..first })
        else {
            panic!()
        };
        assert_eq!(
            result,
            PromptResult::new().user("Use this context: \"a test\"")
        );
    }
}
