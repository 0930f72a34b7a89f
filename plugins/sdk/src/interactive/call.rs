//! The call of a tool, as its function receives it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Input;

/// The call of a tool with typed arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Call<A = NoArguments> {
    /// The arguments.
    pub arguments: A,
    /// The input of the client, if this call follows one that returned [`Answer::Input`](super::Answer::Input).
    pub input: Option<Input>,
}

impl<A> Call<A> {
    /// Creates a first call, for tests.
    pub fn new(arguments: A) -> Self {
        Self {
            arguments,
            input: None,
        }
    }

    /// Sets the input, for tests.
    pub fn input(mut self, input: Input) -> Self {
        self.input = Some(input);
        self
    }
}

/// The arguments of a tool that has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoArguments {}
