//! Converts requests to the client and its answers.

use serde_json::value::RawValue;

use super::check_result_count;
use super::client_request;
use super::names::{WORD_RULE, is_word, quoted};
use super::pace::Pace;
use crate::bindings::larder::provider::interaction_types as wit;
use crate::json;
use crate::provider::omissions::Omissions;
use larder_model::input::{InputMethod, InputRequest, InputRequired, InputResponse, ProvidedInput};
use larder_model::size;
use larder_provider::CallError;

/// Maximum number of requests to the client at once.
const MAX_REQUESTS: usize = 16;
/// Maximum size of the state that is passed to the repeated call, in bytes. The client receives the state and sends it
/// back.
const MAX_STATE: usize = 64 << 10;
/// Maximum size of the parameters of one request in bytes.
const MAX_PARAMS: usize = 256 << 10;

/// Converts requests to the client. An invalid request makes the whole answer unusable, because the provider needs the
/// answers to all requests.
pub(super) async fn input_required(
    required: wit::InputRequired,
    omissions: &Omissions<'_>,
) -> Result<InputRequired, CallError> {
    check_result_count(
        required.requests.len(),
        MAX_REQUESTS,
        "requests to the client",
    )?;
    if required.requests.is_empty() {
        return Err(failed(
            "it requires input from the client, but has no request",
            omissions,
        ));
    }
    if required
        .state
        .as_ref()
        .is_some_and(|state| state.len() > MAX_STATE)
    {
        let limit = size::show(MAX_STATE as u64);
        return Err(failed(
            &format!("its state for the repeated call has more than {limit}"),
            omissions,
        ));
    }
    let mut requests = Vec::<InputRequest>::new();
    let mut pace = Pace::default();
    for request in required.requests {
        pace.item(request.params.len()).await;
        let request = input_request(request, omissions)?;
        if requests.iter().any(|other| other.key == request.key) {
            let why = format!("two requests to the client have the key `{}`", request.key);
            return Err(failed(&why, omissions));
        }
        requests.push(request);
    }
    Ok(InputRequired {
        requests,
        state: required.state,
    })
}

/// Returns the bytes of the requests and the state that a provider returns for the client.
pub(super) fn required_size(required: &wit::InputRequired) -> usize {
    let requests = required
        .requests
        .iter()
        .map(|it| it.key.len() + it.method.len() + it.params.len());
    requests.sum::<usize>() + required.state.as_ref().map_or(0, Vec::len)
}

fn input_request(
    request: wit::InputRequest,
    omissions: &Omissions<'_>,
) -> Result<InputRequest, CallError> {
    let wit::InputRequest {
        key,
        method,
        params,
    } = request;
    if !is_word(&key) {
        let key = quoted(&key, omissions);
        let why = format!("the key {key} of a request to the client is not {WORD_RULE}");
        return Err(failed(&why, omissions));
    }
    let Some(method) = InputMethod::parse(&method) else {
        let method = quoted(&method, omissions);
        let why = format!("the request `{key}` to the client has the unknown method {method}");
        return Err(failed(&why, omissions));
    };
    let params = input_params(&key, &params, omissions)?;
    // A JSON object is always read.
    let members = serde_json::from_str(params.get()).unwrap_or_default();
    client_request::check(method, &members).map_err(|why| {
        failed(
            &format!("the request `{key}` to the client: {why}"),
            omissions,
        )
    })?;
    Ok(InputRequest {
        key,
        method,
        params,
    })
}

fn input_params(
    key: &str,
    params: &str,
    omissions: &Omissions<'_>,
) -> Result<Box<RawValue>, CallError> {
    let invalid = |why: &str| {
        let why = format!("the parameters of the request `{key}` {why}");
        failed(&why, omissions)
    };
    if params.len() > MAX_PARAMS {
        let limit = size::show(MAX_PARAMS as u64);
        return Err(invalid(&format!("have more than {limit}")));
    }
    let params = json::object(params);
    params.ok_or_else(|| {
        invalid("are not a JSON object, or one of its objects has two members of the same name")
    })
}

/// Removes secrets, because a key of a request can contain a secret.
fn failed(why: &str, omissions: &Omissions<'_>) -> CallError {
    CallError::Failed(omissions.clean(why).into_owned())
}

pub(super) fn wit_provided_input(input: ProvidedInput) -> wit::ProvidedInput {
    let response = |InputResponse { key, outcome }| wit::InputResponse { key, outcome };
    wit::ProvidedInput {
        responses: input.responses.into_iter().map(response).collect(),
        state: input.state,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn request(key: &str, method: &str, params: &str) -> wit::InputRequest {
        wit::InputRequest {
            key: key.into(),
            method: method.into(),
            params: params.into(),
        }
    }

    async fn check(requests: Vec<wit::InputRequest>, state: usize, expected: Expect) {
        let required = wit::InputRequired {
            requests,
            state: Some(vec![0; state]),
        };
        let text = match input_required(required, &Omissions::default()).await {
            Ok(required) => required
                .requests
                .iter()
                .map(|it| format!("{} {}", it.key, it.params))
                .collect(),
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&text);
    }

    #[tokio::test]
    async fn an_error_contains_no_secret() {
        use larder_model::policy::{Grant, Secret};
        let secrets = [("key".to_owned(), Secret::new("hunter2-hunter2"))];
        let grant = Grant {
            secrets: secrets.into_iter().collect(),
            ..Grant::default()
        };
        let required = |method: &str, params: &str| wit::InputRequired {
            requests: vec![request("hunter2-hunter2", method, params); 2],
            state: None,
        };
        for (method, params) in [
            ("roots/list", "{}"),
            ("roots/list", "[]"),
            ("unknown", "{}"),
        ] {
            let error = input_required(required(method, params), &Omissions::new(&grant))
                .await
                .unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }

    #[tokio::test]
    async fn checks_requests_to_the_client() {
        let roots = |key: &str| request(key, "roots/list", "{ }");
        check(
            vec![request("a", "roots/list", "{ \"_meta\": { \"b\": 1 } }")],
            MAX_STATE,
            expect![[r#"a {"_meta":{"b":1}}"#]],
        )
        .await;
        check(
            vec![request("a", "elicitation/create", "{ \"b\": 1 }")],
            0,
            expect![
                "the request `a` to the client: its `message` is missing, too long or has control characters"
            ],
        )
        .await;
        check(
            vec![],
            0,
            expect!["it requires input from the client, but has no request"],
        )
        .await;
        check(
            vec![roots("a"); 17],
            0,
            expect!["it returned 17 requests to the client; the limit is 16"],
        )
        .await;
        check(
            vec![roots("a"), roots("a")],
            0,
            expect!["two requests to the client have the key `a`"],
        )
        .await;
        check(
            vec![roots("a")],
            MAX_STATE + 1,
            expect!["its state for the repeated call has more than 64 KiB"],
        )
        .await;
        check(
            vec![roots("a\nb")],
            0,
            expect![[
                r#"the key "a\nb" of a request to the client is not 1 to 64 letters, digits, `.`, `_` or `-`"#
            ]],
        )
        .await;
        check(
            vec![request("a", "tools/call", "{}")],
            0,
            expect![[r#"the request `a` to the client has the unknown method "tools/call""#]],
        )
        .await;
        check(
            vec![request("a", "roots/list", "[]")],
            0,
            expect![
                "the parameters of the request `a` are not a JSON object, or one of its objects has two members of the same name"
            ],
        )
        .await;
        // A client may use the first of two equal members.
        let page = r#"{"mode":"url","message":"m","url":"javascript:alert(1)","url":"https://example.com"}"#;
        check(
            vec![request("a", "elicitation/create", page)],
            0,
            expect![
                "the parameters of the request `a` are not a JSON object, or one of its objects has two members of the same name"
            ],
        )
        .await;
    }
}
