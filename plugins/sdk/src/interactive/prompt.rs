//! A prompt: its declaration and the function that writes it.

use super::{ArgumentQuery, PromptAnswer, PromptRequest};
use crate::bindings::prompts::exports::larder::provider::prompt_provider as wit;
use crate::{Completion, Icon, Result};

type Function<P> = dyn Fn(&P, &PromptRequest) -> Result<PromptAnswer>;
type Complete<P> = dyn Fn(&P, &ArgumentQuery) -> Result<Completion>;

/// A prompt that a user selects.
///
/// ```
/// use larder_provider::{Argument, ArgumentQuery, Completion, Prompt, PromptRequest, PromptResult, Prompts};
/// use larder_provider::{Provider, Result};
/// # use larder_provider::{Error, Reading, Request};
///
/// struct Notes;
///
/// impl Notes {
///     fn summarize(&self, request: &PromptRequest) -> Result<PromptResult> {
///         let style = request.optional("style").unwrap_or("plain");
///         let text = format!("Summarize the note {} in a {style} style.", request.argument("note")?);
///         Ok(PromptResult::new().user(text))
///     }
///
///     fn notes(&self, query: &ArgumentQuery) -> Result<Completion> {
///         Ok(Completion::matching(["seven", "eight"], &query.prefix))
///     }
/// }
///
/// impl Provider for Notes {
///     fn prompts(&self) -> Result<Prompts<Self>> {
///         let note = Argument::new("note").description("The name of the note.").required();
///         let style = Argument::new("style").values(["plain", "formal"]);
///         Ok(Prompts::new().prompt(
///             Prompt::new("summarize", Self::summarize)
///                 .description("Summarizes a note.")
///                 .argument(note.complete(Self::notes))
///                 .argument(style),
///         ))
///     }
/// #   fn new() -> Result<Self> { Ok(Self) }
/// #   fn read(&self, _: &Request) -> Result<Reading> { Err(Error::NotFound) }
/// }
///
/// larder_provider::export!(Notes: prompts);
/// # fn main() {}
/// ```
pub struct Prompt<P> {
    pub(super) name: String,
    title: Option<String>,
    description: Option<String>,
    pub(super) arguments: Vec<Argument<P>>,
    icons: Vec<Icon>,
    metadata: Vec<(String, String)>,
    pub(super) function: Box<Function<P>>,
}

impl<P> Prompt<P> {
    /// Creates a prompt from its name and a method of the provider, which returns a
    /// [`PromptResult`](super::PromptResult), or a [`PromptAnswer`] if it may need input from the client.
    pub fn new<R: Into<PromptAnswer>>(
        name: impl Into<String>,
        function: impl Fn(&P, &PromptRequest) -> Result<R> + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            arguments: Vec::new(),
            icons: Vec::new(),
            metadata: Vec::new(),
            function: Box::new(move |provider, request| {
                function(provider, request).map(Into::into)
            }),
        }
    }

    /// Sets a display name.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets a description for people.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds an argument.
    pub fn argument(mut self, argument: Argument<P>) -> Self {
        self.arguments.push(argument);
        self
    }

    /// Adds an icon.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.icons.push(icon);
        self
    }

    /// Adds a metadata key with its value as JSON text.
    pub fn metadata(mut self, key: impl Into<String>, json: impl Into<String>) -> Self {
        self.metadata.push((key.into(), json.into()));
        self
    }

    /// The declaration for `list-prompts`.
    pub(super) fn declaration(self) -> wit::Prompt {
        wit::Prompt {
            name: self.name,
            title: self.title,
            description: self.description,
            arguments: self
                .arguments
                .into_iter()
                .map(Argument::declaration)
                .collect(),
            icons: self.icons,
            metadata: self.metadata,
        }
    }
}

/// An argument of a [`Prompt`].
pub struct Argument<P> {
    pub(super) name: String,
    title: Option<String>,
    description: Option<String>,
    pub(super) required: bool,
    complete: Option<Box<Complete<P>>>,
}

impl<P> Argument<P> {
    /// Creates an optional argument.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            required: false,
            complete: None,
        }
    }

    /// Sets a display name.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets a description for people.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Requires the argument.
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Suggests values with a method of the provider.
    pub fn complete(
        mut self,
        complete: impl Fn(&P, &ArgumentQuery) -> Result<Completion> + 'static,
    ) -> Self {
        self.complete = Some(Box::new(complete));
        self
    }

    /// Suggests the values that begin with the entered text.
    pub fn values<T: Into<String>>(self, values: impl IntoIterator<Item = T>) -> Self {
        let values: Vec<String> = values.into_iter().map(Into::into).collect();
        self.complete(move |_, query| Ok(Completion::matching(&values, &query.prefix)))
    }

    /// Suggestions; none if the argument has no function for them.
    pub(super) fn suggestions(
        &self,
        provider: &P,
        query: &ArgumentQuery,
    ) -> Result<wit::Suggestions> {
        let completion = self
            .complete
            .as_ref()
            .map(|complete| complete(provider, query))
            .transpose()?;
        let Completion {
            values,
            total,
            more,
        } = completion.unwrap_or_default();
        Ok(wit::Suggestions {
            values,
            total,
            more,
        })
    }

    fn declaration(self) -> wit::Argument {
        wit::Argument {
            name: self.name,
            title: self.title,
            description: self.description,
            required: self.required,
        }
    }
}
