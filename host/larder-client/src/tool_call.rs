//! Calls of tools that report progress and may require input.

use std::ops::ControlFlow;

use serde_json::{Map, Value, json};

use super::connection::Client;
use super::era::CAPABILITIES_KEY;
use super::error::ClientError;
use super::results::{Answer, Progress, ToolResult};

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    name: String,
    arguments: Map<String, Value>,
    capabilities: Value,
    responses: Map<String, Value>,
    state: Option<String>,
}

impl ToolCall {
    /// A call with these arguments by a client that cannot provide input.
    pub fn new(name: impl Into<String>, arguments: Map<String, Value>) -> Self {
        Self {
            name: name.into(),
            arguments,
            capabilities: json!({}),
            responses: Map::new(),
            state: None,
        }
    }

    /// Declares that the client can ask its user to complete a form, and to open a page.
    #[must_use]
    pub fn with_elicitation(mut self) -> Self {
        self.capabilities = json!({ "elicitation": { "form": {}, "url": {} } });
        self
    }

    /// The same call with the answers to the requests of the server, and the state that came with the requests.
    #[must_use]
    pub fn with_responses(mut self, responses: Map<String, Value>, state: Option<String>) -> Self {
        self.responses = responses;
        self.state = state;
        self
    }

    fn params(&self) -> Value {
        let mut params = json!({
            "name": self.name,
            "arguments": self.arguments,
            "_meta": { CAPABILITIES_KEY: self.capabilities },
        });
        if !self.responses.is_empty() {
            params["inputResponses"] = json!(self.responses);
        }
        if let Some(state) = &self.state {
            params["requestState"] = json!(state);
        }
        params
    }
}

impl Client {
    /// Calls a tool, and calls `on_progress` with each progress report. The answer may be that the server requires
    /// input, in revision 2026-07-28 and if the call declares that the client can provide it.
    ///
    /// ```no_run
    /// # async fn call(client: &mut larder_client::Client) -> Result<(), larder_client::ClientError> {
    /// use std::ops::ControlFlow;
    ///
    /// use larder_client::{Answer, ToolCall};
    /// use serde_json::{Map, json};
    ///
    /// let call = ToolCall::new("ask", Map::new()).with_elicitation();
    /// let answer = client.call_tool_with(&call, |_| ControlFlow::Continue(())).await?;
    /// if let Answer::InputRequired(required) = answer {
    ///     let decline = |key: &String| (key.clone(), json!({ "action": "decline" }));
    ///     let responses = required.input_requests.keys().map(decline).collect();
    ///     let call = call.with_responses(responses, required.request_state);
    ///     client.call_tool_with(&call, |_| ControlFlow::Continue(())).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn call_tool_with(
        &mut self,
        call: &ToolCall,
        on_progress: impl FnMut(Progress) -> ControlFlow<()> + Send,
    ) -> Result<Answer<ToolResult>, ClientError> {
        self.exchange_with_progress("tools/call", call.params(), &call.name, on_progress)
            .await?
            .answer("tools/call")
    }
}
