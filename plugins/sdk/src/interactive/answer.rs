//! The answer of a tool: a result, or a request for input.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Block, InputRequest, InputRequired};

/// The result of a tool: content for the model, and optionally a structured value whose type becomes the
/// output schema of the tool.
///
/// ```
/// # use larder_provider::ToolResult;
/// #[derive(serde::Serialize, schemars::JsonSchema)]
/// struct Sum {
///     sum: i64,
/// }
///
/// let done = ToolResult::structured(Sum { sum: 3 }).content("The sum is 3.");
/// let failed = ToolResult::<Sum>::error("The sum is too large.");
/// # assert!(failed.is_error && !done.is_error);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult<T = ()> {
    /// The content. If it is empty, the content is the structured value as JSON text.
    pub content: Vec<Block>,
    /// The structured value.
    pub structured: Option<T>,
    /// Whether the tool failed. The content then explains the failure to the model.
    pub is_error: bool,
    /// Keys with JSON text.
    pub metadata: Vec<(String, String)>,
}

impl<T> ToolResult<T> {
    /// Creates a result with one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![Block::text(text)],
            structured: None,
            is_error: false,
            metadata: Vec::new(),
        }
    }

    /// Creates a result with a structured value.
    pub fn structured(value: T) -> Self {
        Self {
            content: Vec::new(),
            structured: Some(value),
            is_error: false,
            metadata: Vec::new(),
        }
    }

    /// Creates a result that tells the model why the tool failed, and what it can do about it. In contrast, an
    /// [`Error`](crate::Error) ends the request, and the model may not see it.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::text(text)
        }
    }

    /// Adds a piece of content.
    pub fn content(mut self, block: impl Into<Block>) -> Self {
        self.content.push(block.into());
        self
    }

    /// Adds a metadata key with its value as JSON text.
    pub fn metadata(mut self, key: impl Into<String>, json: impl Into<String>) -> Self {
        self.metadata.push((key.into(), json.into()));
        self
    }
}

/// The return value of a tool that may need input from the client. The host makes the call again with the input; see
/// [`InputRequest`].
#[derive(Debug, Clone, PartialEq)]
pub enum Answer<T = ()> {
    /// The result.
    Complete(ToolResult<T>),
    /// The tool needs input.
    Input(InputRequired),
}

impl<T> From<ToolResult<T>> for Answer<T> {
    fn from(result: ToolResult<T>) -> Self {
        Self::Complete(result)
    }
}

impl<T> From<InputRequired> for Answer<T> {
    fn from(input: InputRequired) -> Self {
        Self::Input(input)
    }
}

impl<T> From<InputRequest> for Answer<T> {
    fn from(request: InputRequest) -> Self {
        Self::Input(request.into())
    }
}

/// The types that the function of a tool can return: a text, a [`ToolResult`] or an [`Answer`].
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    note = "a tool returns `Result<String>`, `Result<ToolResult<T>>` or `Result<Answer<T>>`",
    note = "return a structured value with `ToolResult::structured(value)`"
)]
pub trait ToolOutput {
    /// The type of the structured value. It is `()` if there is no structured value.
    type Structured: Serialize + JsonSchema + 'static;

    /// Converts this value.
    fn into_answer(self) -> Answer<Self::Structured>;
}

impl ToolOutput for String {
    type Structured = ();

    fn into_answer(self) -> Answer {
        ToolResult::text(self).into()
    }
}

impl<T: Serialize + JsonSchema + 'static> ToolOutput for ToolResult<T> {
    type Structured = T;

    fn into_answer(self) -> Answer<T> {
        self.into()
    }
}

impl<T: Serialize + JsonSchema + 'static> ToolOutput for Answer<T> {
    type Structured = T;

    fn into_answer(self) -> Self {
        self
    }
}
