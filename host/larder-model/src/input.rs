//! Requests of a provider to the client, which end its call, and the answers for the repeated call.

use serde_json::value::RawValue;

/// The result of a call that may need input from the client first.
#[derive(Debug, Clone)]
pub enum Answer<T> {
    /// The call is complete.
    Complete(T),
    /// The client has to answer, and then the call is made again.
    InputRequired(InputRequired),
}

/// What the client has to answer before the call is made again.
#[derive(Debug, Clone)]
pub struct InputRequired {
    /// At least one and at most 16 requests with different keys.
    pub requests: Vec<InputRequest>,
    /// Returned to the provider unchanged. At most 64 KiB. It must not be readable by clients.
    pub state: Option<Vec<u8>>,
}

impl InputRequired {
    /// Returns about how many bytes it has.
    pub fn size(&self) -> usize {
        let requests = self
            .requests
            .iter()
            .map(|request| request.key.len() + request.params.get().len());
        requests.sum::<usize>() + self.state.as_ref().map_or(0, Vec::len)
    }
}

/// A request to the client.
#[derive(Debug, Clone)]
pub struct InputRequest {
    /// Identifies the answer: 1 to 64 letters, digits, `.`, `_` and `-`.
    pub key: String,
    /// The kind of request.
    pub method: InputMethod,
    /// A JSON object.
    pub params: Box<RawValue>,
}

/// The requests that a provider can make to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputMethod {
    /// `elicitation/create`: asks the person.
    Elicitation,
    /// `sampling/createMessage`: asks the model.
    Sampling,
    /// `roots/list`: asks for the folders of the client.
    Roots,
}

impl InputMethod {
    /// Returns the method of this name in the protocol.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Elicitation, Self::Sampling, Self::Roots]
            .into_iter()
            .find(|method| method.as_str() == name)
    }

    /// Returns its name in the protocol.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation/create",
            Self::Sampling => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }
}

/// The input for a repeated call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProvidedInput {
    /// The answers of the client.
    pub responses: Vec<InputResponse>,
    /// The state of the [`InputRequired`] that the client answers.
    pub state: Option<Vec<u8>>,
}

/// The answer to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputResponse {
    /// The key of the request.
    pub key: String,
    /// JSON text: the result, or the error of a client that could not answer.
    pub outcome: Result<String, String>,
}
