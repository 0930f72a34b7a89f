//! Prompts: messages that a provider writes for a model when a user selects one.

use std::any::Any;
use std::sync::Arc;

use crate::input::ProvidedInput;
use crate::message::Block;
use crate::resource::{Icon, Metadata, Role};

/// A prompt, as a list contains it.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// The name, which is unique among the prompts of a provider: 1 to 128 bytes without control characters.
    pub name: String,
    /// The name of the prompt for people.
    pub title: Option<String>,
    /// What the prompt is for.
    pub description: Option<String>,
    /// The arguments of the prompt. Their names differ.
    pub arguments: Vec<Argument>,
    /// Icons to show.
    pub icons: Vec<Icon>,
    /// Metadata from the provider.
    pub metadata: Metadata,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// The name of the argument: 1 to 64 letters, digits, `.`, `_` and `-`.
    pub name: String,
    /// The name of the argument for people.
    pub title: Option<String>,
    /// The description of the argument.
    pub description: Option<String>,
    /// Whether a value is required.
    pub required: bool,
}

/// A request for the messages of a prompt.
#[derive(Debug, Clone, Default)]
pub struct PromptRequest {
    /// The name of the prompt.
    pub name: String,
    /// Names and values of its arguments.
    pub arguments: Vec<(String, String)>,
    /// The answers of the client, if the provider requested input in an earlier call.
    pub input: Option<ProvidedInput>,
}

/// The messages of a prompt.
#[derive(Debug, Clone)]
pub struct PromptResult {
    /// The description of the messages.
    pub description: Option<String>,
    /// The messages, in order.
    pub messages: Vec<Message>,
    /// Metadata from the provider.
    pub metadata: Metadata,
    /// A value that is released with the result, such as charged memory.
    pub held: Option<Arc<dyn Any + Send + Sync>>,
}

/// A message.
#[derive(Debug, Clone)]
pub struct Message {
    /// The author of the message.
    pub role: Role,
    /// The content of the message.
    pub content: Block,
}

/// A request for suggestions for an argument of a prompt.
#[derive(Debug, Clone, Default)]
pub struct ArgumentQuery {
    /// The name of the prompt.
    pub prompt: String,
    /// The argument to complete.
    pub argument: String,
    /// The text entered so far.
    pub prefix: String,
    /// Arguments that already have values.
    pub filled: Vec<(String, String)>,
}
