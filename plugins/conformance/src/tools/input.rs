//! Tools that request input from the client once, and return its response.

use larder_provider::{Answer, Call, InputRequest, Result, Tool, ToolResult, Tools};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tool;
use crate::questions::{form, sample, text};

/// Identifies the only request of a call.
const ANSWER: &str = "answer";

pub(super) fn add<P: 'static>(tools: Tools<P>) -> Tools<P> {
    let sampling = Tool::new("test_sampling", |_: &P, call: &Call<Question>| {
        sampling(call)
    });
    let elicitation = Tool::new("test_elicitation", |_: &P, call: &Call<Form>| {
        elicitation(call)
    });
    tools
        .tool(sampling.description("Asks the client's model."))
        .tool(elicitation.description("Asks the user."))
        .tool(tool(
            "test_elicitation_url",
            "Asks the user to open a page.",
            page,
        ))
        .tool(tool(
            "test_elicitation_sep1034_defaults",
            "Asks with defaults.",
            defaults,
        ))
        .tool(tool(
            "test_elicitation_sep1330_enums",
            "Asks for choices.",
            choices,
        ))
        .tool(tool(
            "test_missing_capability",
            "Asks the client's model.",
            model_only,
        ))
        .tool(tool(
            "test_streaming_elicitation",
            "Asks the user.",
            user_only,
        ))
}

#[derive(Deserialize, JsonSchema)]
struct Question {
    /// The question to the model.
    prompt: String,
}

#[derive(Deserialize, JsonSchema)]
struct Form {
    /// The message to the user.
    message: String,
}

fn sampling(call: &Call<Question>) -> Result<Answer> {
    once(call, sample(ANSWER, &call.arguments.prompt), |answer| {
        format!("LLM response: {}", answer["content"]["text"])
    })
}

fn elicitation(call: &Call<Form>) -> Result<Answer> {
    let properties = json!({
        "username": { "type": "string", "description": "User's response" },
        "email": { "type": "string", "description": "User's email address" },
    });
    once(
        call,
        form(ANSWER, &call.arguments.message, properties),
        |answer| format!("User response: {answer}"),
    )
}

fn page(call: &Call) -> Result<Answer> {
    let params = json!({
        "mode": "url",
        "message": "Please sign in on this page.",
        "url": "https://example.com/sign-in",
    });
    once(
        call,
        InputRequest::new(ANSWER, "elicitation/create", params),
        completed,
    )
}

fn defaults(call: &Call) -> Result<Answer> {
    let properties = json!({
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true },
    });
    once(
        call,
        form(ANSWER, "Please check these values.", properties),
        completed,
    )
}

fn choices(call: &Call) -> Result<Answer> {
    let options = ["option1", "option2", "option3"];
    let titled = |noun: &str| {
        let choice = |(n, ordinal)| json!({ "const": format!("value{n}"), "title": format!("{ordinal} {noun}") });
        [(1, "First"), (2, "Second"), (3, "Third")].map(choice)
    };
    let names = ["Option One", "Option Two", "Option Three"];
    let properties = json!({
        "untitledSingle": { "type": "string", "enum": options },
        "titledSingle": { "type": "string", "oneOf": titled("Option") },
        "legacyEnum": { "type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": names },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
    });
    once(call, form(ANSWER, "Please choose.", properties), completed)
}

fn model_only(call: &Call) -> Result<Answer> {
    once(call, sample(ANSWER, "Say hello."), |answer| {
        answer.to_string()
    })
}

fn user_only(call: &Call) -> Result<Answer> {
    once(call, text(ANSWER, "What is your name?", "name"), completed)
}

fn completed(answer: &Value) -> String {
    format!(
        "Elicitation completed: action={}, content={}",
        answer["action"], answer["content"]
    )
}

/// Makes the request in the first call, and formats the response in the second.
fn once<A>(
    call: &Call<A>,
    request: InputRequest,
    format: impl Fn(&Value) -> String,
) -> Result<Answer> {
    let Some(input) = &call.input else {
        return Ok(request.into());
    };
    Ok(ToolResult::text(format(&input.result(ANSWER)?)).into())
}

#[cfg(test)]
mod tests {
    use larder_provider::{Input, NoArguments};

    use super::*;

    fn check(function: fn(&Call) -> Result<Answer>, response: Value, expected: &str) {
        let first = function(&Call::new(NoArguments {}));
        assert!(matches!(first, Ok(Answer::Input(_))), "{first:?}");
        let again = Call::new(NoArguments {}).input(Input::response(ANSWER, Ok(response)));
        assert_eq!(function(&again), Ok(ToolResult::text(expected).into()));
    }

    #[test]
    fn asks_first_and_then_returns_the_response() {
        let declined = "Elicitation completed: action=\"decline\", content=null";
        check(defaults, json!({ "action": "decline" }), declined);
        check(choices, json!({ "action": "decline" }), declined);
        check(user_only, json!({ "action": "decline" }), declined);
        check(page, json!({ "action": "decline" }), declined);
        check(model_only, json!({ "model": "m" }), r#"{"model":"m"}"#);
    }
}
