//! Requests for a prompt, and the results of a prompt.

use super::{Block, InputRequest, InputRequired};
pub use crate::bindings::prompts::exports::larder::provider::prompt_provider::{
    ArgumentQuery, Message, PromptAnswer, PromptRequest, PromptResult,
};
use crate::{Error, Result, Role};

impl PromptRequest {
    /// Creates a request for tests.
    ///
    /// ```
    /// # use larder_provider::{Error, PromptRequest};
    /// let request = PromptRequest::new("summarize", &[("note", "seven")]);
    /// assert_eq!(request.argument("note"), Ok("seven"));
    /// assert_eq!(request.argument("style"), Err(Error::invalid("`style` is missing")));
    /// assert_eq!(request.optional("style"), None);
    /// ```
    pub fn new(name: impl Into<String>, arguments: &[(&str, &str)]) -> Self {
        let arguments = arguments
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()));
        Self {
            name: name.into(),
            arguments: arguments.collect(),
            input: None,
        }
    }

    /// The value of an argument. Fails if the argument is missing.
    pub fn argument(&self, name: &str) -> Result<&str> {
        self.optional(name)
            .ok_or_else(|| Error::Invalid(format!("`{name}` is missing")))
    }

    /// The value of an argument, if there is one.
    pub fn optional(&self, name: &str) -> Option<&str> {
        self.arguments
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

impl ArgumentQuery {
    /// The value of another argument that is already filled in.
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.filled
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

impl PromptResult {
    /// Creates a prompt without messages.
    ///
    /// ```
    /// # use larder_provider::{EmbeddedResource, PromptResult};
    /// let result = PromptResult::new()
    ///     .description("A summary of seven")
    ///     .user("Summarize this note.")
    ///     .user(EmbeddedResource::text("note:7", "# Seven").mime("text/markdown"));
    /// assert_eq!(result.messages.len(), 2);
    /// ```
    pub fn new() -> Self {
        Self {
            description: None,
            messages: Vec::new(),
            metadata: Vec::new(),
        }
    }

    /// Sets a description for people.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds a message of the user.
    pub fn user(self, content: impl Into<Block>) -> Self {
        self.message(Role::User, content)
    }

    /// Adds a message of the assistant.
    pub fn assistant(self, content: impl Into<Block>) -> Self {
        self.message(Role::Assistant, content)
    }

    fn message(mut self, role: Role, content: impl Into<Block>) -> Self {
        self.messages.push(Message {
            role,
            content: content.into(),
        });
        self
    }

    /// Adds a metadata key with its value as JSON text.
    pub fn metadata(mut self, key: impl Into<String>, json: impl Into<String>) -> Self {
        self.metadata.push((key.into(), json.into()));
        self
    }
}

impl Default for PromptResult {
    fn default() -> Self {
        Self::new()
    }
}

impl From<PromptResult> for PromptAnswer {
    fn from(result: PromptResult) -> Self {
        Self::Complete(result)
    }
}

impl From<InputRequired> for PromptAnswer {
    fn from(input: InputRequired) -> Self {
        Self::InputRequired(input)
    }
}

impl From<InputRequest> for PromptAnswer {
    fn from(request: InputRequest) -> Self {
        Self::InputRequired(request.into())
    }
}
