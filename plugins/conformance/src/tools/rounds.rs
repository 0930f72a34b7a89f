//! Tools of the suite for `input_required` results: several requests, several rounds and state.

use larder_provider::{
    Answer, Call, Error, Input, InputRequest, InputRequired, Result, ToolResult, Tools,
    client_supports,
};
use serde_json::Value;

use super::tool;
use crate::questions::{confirmation, sample, text};

pub(super) fn add<P: 'static>(tools: Tools<P>) -> Tools<P> {
    let name = |name: &str| format!("test_input_required_result_{name}");
    tools
        .tool(tool(&name("elicitation"), "Asks for a name.", elicitation))
        .tool(tool(
            &name("sampling"),
            "Asks the client's model.",
            sampling,
        ))
        .tool(tool(
            &name("list_roots"),
            "Asks for the folders of the client.",
            list_roots,
        ))
        .tool(tool(
            &name("request_state"),
            "Asks, and checks its state.",
            state,
        ))
        .tool(tool(
            &name("tampered_state"),
            "Asks, and checks its state.",
            state,
        ))
        .tool(tool(
            &name("multiple_inputs"),
            "Makes three requests at once.",
            multiple,
        ))
        .tool(tool(&name("multi_round"), "Asks twice.", multi_round))
        .tool(tool(
            &name("capabilities"),
            "Asks only what the client can answer.",
            capabilities,
        ))
}

fn elicitation(call: &Call) -> Result<Answer> {
    let answer = call
        .input
        .as_ref()
        .map(|input| input.accepted::<Value>("user_name"))
        .transpose()?;
    Ok(match answer.flatten() {
        Some(answer) => {
            let name = answer["name"]
                .as_str()
                .ok_or_else(|| Error::invalid("`name` is not a text"))?;
            ToolResult::text(format!("Hello, {name}!")).into()
        }
        None => user_name().into(),
    })
}

fn sampling(call: &Call) -> Result<Answer> {
    let request = sample("capital_question", "What is the capital of France?");
    answered(call, request.into(), |input| {
        input.result("capital_question")
    })
}

fn list_roots(call: &Call) -> Result<Answer> {
    let request = InputRequest::roots("client_roots");
    answered(call, request.into(), |input| input.result("client_roots"))
}

fn state(call: &Call) -> Result<Answer> {
    const STATE: &str = "confirming";
    let request = confirmation("Please confirm").state(STATE);
    answered(call, request, |input| {
        Ok(if input.has_state(STATE) {
            "state-ok"
        } else {
            "The state is missing."
        }
        .into())
    })
}

fn multiple(call: &Call) -> Result<Answer> {
    let first = InputRequired::from(user_name());
    let requests = first.request(sample("greeting", "Generate a greeting"));
    let requests = requests
        .request(InputRequest::roots("client_roots"))
        .state("asked");
    answered(call, requests, |input| {
        let mut answers = Vec::new();
        for key in ["user_name", "greeting", "client_roots"] {
            answers.push(input.result::<Value>(key)?);
        }
        Ok(answers.into())
    })
}

fn multi_round(call: &Call) -> Result<Answer> {
    let input = call.input.as_ref();
    if input.is_some_and(|input| input.has_state("2")) {
        return answered(call, user_name().into(), |input| input.result("step2"));
    }
    Ok(if input.is_some_and(|input| input.has_state("1")) {
        text("step2", "Step 2: What is your favorite color?", "color")
            .state("2")
            .into()
    } else {
        text("step1", "Step 1: What is your name?", "name")
            .state("1")
            .into()
    })
}

fn capabilities(call: &Call) -> Result<Answer> {
    let mut requests = Vec::new();
    if client_supports("/sampling") {
        requests.push(sample("greeting", "Generate a greeting"));
    }
    if client_supports("/elicitation") {
        requests.push(user_name());
    }
    if call.input.is_some() || requests.is_empty() {
        return Ok(ToolResult::text("There is nothing to ask.").into());
    }
    Ok(InputRequired {
        requests,
        state: None,
    }
    .into())
}

fn user_name() -> InputRequest {
    text("user_name", "What is your name?", "name")
}

/// Returns the requests in the first call. In the next call, returns what `read` returns for the responses.
fn answered(
    call: &Call,
    requests: InputRequired,
    read: impl Fn(&Input) -> Result<Value>,
) -> Result<Answer> {
    let Some(input) = &call.input else {
        return Ok(requests.into());
    };
    Ok(ToolResult::text(format!("The answer is: {}", read(input)?)).into())
}

#[cfg(test)]
mod tests {
    use larder_provider::NoArguments;
    use serde_json::json;

    use super::*;

    fn call(function: fn(&Call) -> Result<Answer>, input: Option<Input>) -> String {
        match function(&Call {
            arguments: NoArguments {},
            input,
        }) {
            Ok(Answer::Input(asked)) => format!("asks {} {:?}", asked.requests[0].key, asked.state),
            Ok(Answer::Complete(result)) => format!("{:?}", result.content[0].value),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn asks_again_for_what_is_missing() {
        let named = |key| Some(Input::accept(key, json!({ "name": "Alice" })));
        assert_eq!(call(elicitation, None), "asks user_name None");
        assert_eq!(call(elicitation, named("wrong_key")), "asks user_name None");
        assert_eq!(
            call(elicitation, named("user_name")),
            r#"BlockValue::Text("Hello, Alice!")"#
        );
        let invalid = Some(Input::response("user_name", Ok(json!(12345))));
        assert!(call(elicitation, invalid).starts_with("invalid: "));
    }

    #[test]
    fn the_second_round_follows_the_first() {
        let input = |key, state: &str| Some(Input::accept(key, json!({})).state(state));
        assert_eq!(call(multi_round, None), "asks step1 Some([49])");
        assert_eq!(
            call(multi_round, input("step1", "1")),
            "asks step2 Some([50])"
        );
        assert!(call(multi_round, input("step2", "2")).contains("The answer is"));
        assert!(call(state, input("confirm", "confirming")).contains("state-ok"));
    }
}
