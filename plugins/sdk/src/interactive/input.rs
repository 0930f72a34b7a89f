//! Responses of the client.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub use crate::bindings::interaction_types::{InputResponse, ProvidedInput as Input};
use crate::{Error, Result};

/// The response to a request that was made with [`InputRequest::elicit`](super::InputRequest::elicit).
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitOutcome<T> {
    /// The user filled in the form.
    Accepted(T),
    /// The user declined.
    Declined,
    /// The user closed the form without an answer.
    Cancelled,
}

impl Input {
    /// The response to a request that was made with [`InputRequest::elicit`](super::InputRequest::elicit). Fails if the
    /// client could not answer, or if the content does not have the type `T`.
    pub fn elicited<T: DeserializeOwned>(&self, key: &str) -> Result<ElicitOutcome<T>> {
        let ElicitResult { action, content } = self.result(key)?;
        Ok(match action {
            Action::Accept => ElicitOutcome::Accepted(
                T::deserialize(content).map_err(|error| misfit(key, &error))?,
            ),
            Action::Decline => ElicitOutcome::Declined,
            Action::Cancel => ElicitOutcome::Cancelled,
        })
    }

    /// The content of an accepted form; `None` if the user declined or cancelled, or if the client could not
    /// answer.
    pub fn accepted<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        match self.outcome(key) {
            Some(Ok(_)) => match self.elicited(key)? {
                ElicitOutcome::Accepted(content) => Ok(Some(content)),
                ElicitOutcome::Declined | ElicitOutcome::Cancelled => Ok(None),
            },
            Some(Err(_)) | None => Ok(None),
        }
    }

    /// The result of any request. Fails if the client could not answer.
    pub fn result<T: DeserializeOwned>(&self, key: &str) -> Result<T> {
        match self.outcome(key) {
            Some(Ok(json)) => serde_json::from_str(json).map_err(|error| misfit(key, &error)),
            Some(Err(json)) => Err(Error::Failed(format!(
                "the client did not answer `{key}`: {json}"
            ))),
            None => Err(Error::Invalid(format!("there is no response for `{key}`"))),
        }
    }

    fn outcome(&self, key: &str) -> Option<&std::result::Result<String, String>> {
        self.responses
            .iter()
            .find(|response| response.key == key)
            .map(|response| &response.outcome)
    }

    /// Whether the state is this one.
    pub fn has_state(&self, state: impl AsRef<[u8]>) -> bool {
        self.state.as_deref() == Some(state.as_ref())
    }
}

fn misfit(key: &str, error: &serde_json::Error) -> Error {
    Error::Invalid(format!(
        "the response for `{key}` is not as requested: {error}"
    ))
}

#[derive(Deserialize)]
struct ElicitResult {
    action: Action,
    #[serde(default)]
    content: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Accept,
    Decline,
    Cancel,
}

/// For tests.
impl Input {
    /// Creates the input of a user who filled in a form.
    ///
    /// ```
    /// # use larder_provider::{Call, Input, NoArguments, serde_json::json};
    /// let input = Input::accept("version", json!({ "version": "1.0.0" })).state("c0713b0e");
    /// let second_call = Call::new(NoArguments {}).input(input);
    /// ```
    pub fn accept(key: &str, content: Value) -> Self {
        Self::response(key, Ok(json!({ "action": "accept", "content": content })))
    }

    /// Creates the input of a user who declined.
    pub fn decline(key: &str) -> Self {
        Self::response(key, Ok(json!({ "action": "decline" })))
    }

    /// Creates the input of a client with any response: the result or the error of a request.
    pub fn response(key: &str, outcome: std::result::Result<Value, Value>) -> Self {
        let outcome = outcome
            .map(|json| json.to_string())
            .map_err(|json| json.to_string());
        Self {
            responses: vec![InputResponse {
                key: key.to_owned(),
                outcome,
            }],
            state: None,
        }
    }

    /// Sets the state of the first call.
    pub fn state(mut self, state: impl Into<Vec<u8>>) -> Self {
        self.state = Some(state.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Form {
        version: String,
    }

    #[test]
    fn an_accepted_form_is_typed() {
        let check = |input: Input, expected: Result<Option<&str>, &str>| {
            let accepted = input
                .accepted::<Form>("version")
                .map(|form| form.map(|form| form.version));
            let expected = expected
                .map(|version| version.map(str::to_owned))
                .map_err(Error::invalid);
            assert_eq!(accepted, expected, "{input:?}");
        };
        let response = |json| Input::response("version", Ok(json));
        check(
            Input::accept("version", json!({ "version": "1" })),
            Ok(Some("1")),
        );
        check(Input::decline("version"), Ok(None));
        check(
            response(json!({ "action": "decline", "content": {}, "_meta": {} })),
            Ok(None),
        );
        check(response(json!({ "action": "cancel" })), Ok(None));
        check(
            Input::response("version", Err(json!({ "code": -1 }))),
            Ok(None),
        );
        check(Input::accept("other", json!({ "version": "1" })), Ok(None));
        let misfit = "the response for `version` is not as requested: ";
        let missing = format!("{misfit}missing field `version`");
        check(Input::accept("version", json!({})), Err(&missing));
        let unknown = "unknown variant `no`, expected one of `accept`, `decline`, `cancel` at line 1 column 14";
        check(
            response(json!({ "action": "no" })),
            Err(&format!("{misfit}{unknown}")),
        );
    }

    #[test]
    fn tells_what_the_client_could_not_answer() {
        let error = |input: Input| {
            input
                .result::<Value>("a")
                .map_err(|error| error.to_string())
        };
        let code = Input::response("a", Err(json!({ "code": -1 })));
        assert_eq!(
            error(code),
            Err("the client did not answer `a`: {\"code\":-1}".into())
        );
        assert_eq!(
            error(Input::decline("b")),
            Err("invalid: there is no response for `a`".into())
        );
    }
}
