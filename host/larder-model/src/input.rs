//! Requests of a provider to the client, which end its call, and the answers for the repeated call.

use serde_json::value::RawValue;

/// The result of a call that may first need input from the client.
#[derive(Debug, Clone)]
pub enum Answer<T> {
    /// The call is complete.
    Complete(T),
    /// The client has to answer requests, and then the call is made again.
    InputRequired(InputRequired),
}

/// The requests that the client has to answer before the call is made again.
#[derive(Debug, Clone)]
pub struct InputRequired {
    /// At least one and at most 16 requests with different keys.
    pub requests: Vec<InputRequest>,
    /// The state of the call, which is returned to the provider unchanged. At most 64 KiB. Clients must not be able to
    /// read it.
    pub state: Option<Vec<u8>>,
}

impl InputRequired {
    /// Returns the approximate number of bytes of the requests and the state.
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
    /// The key that identifies the answer: 1 to 64 letters, digits, `.`, `_` and `-`.
    pub key: String,
    /// The kind of request.
    pub method: InputMethod,
    /// A JSON object.
    pub params: Box<RawValue>,
}

/// The requests that a provider can make to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputMethod {
    /// `elicitation/create`: requests input from the user.
    Elicitation,
    /// `sampling/createMessage`: requests a message from the model.
    Sampling,
    /// `roots/list`: requests the folders of the client.
    Roots,
}

impl InputMethod {
    /// Returns the method of this name in the protocol.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Elicitation, Self::Sampling, Self::Roots]
            .into_iter()
            .find(|method| method.as_str() == name)
    }

    /// Returns the name of the method in the protocol.
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
    /// The state in the [`InputRequired`] that the client answers.
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
