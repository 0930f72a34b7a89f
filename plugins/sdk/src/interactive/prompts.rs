//! The set of prompts of a provider.

use super::{ArgumentQuery, Prompt, PromptAnswer, PromptRequest};
use crate::bindings::prompts::exports::larder::provider::prompt_provider as wit;
use crate::{Error, Freshness, Result};

/// The prompts of a provider; see [`Prompt`].
pub struct Prompts<P> {
    prompts: Vec<Prompt<P>>,
    freshness: Option<Freshness>,
}

impl<P> Prompts<P> {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self {
            prompts: Vec::new(),
            freshness: None,
        }
    }

    /// Adds a prompt.
    pub fn prompt(mut self, prompt: Prompt<P>) -> Self {
        self.prompts.push(prompt);
        self
    }

    /// Sets how long the list of prompts may be cached, and for which callers. Without this, the list is not cached.
    pub fn freshness(mut self, freshness: Freshness) -> Self {
        self.freshness = Some(freshness);
        self
    }

    /// The single page of `list-prompts`.
    pub(super) fn page(self) -> wit::PromptPage {
        let prompts = self.prompts.into_iter().map(Prompt::declaration).collect();
        wit::PromptPage {
            prompts,
            next_cursor: None,
            freshness: self.freshness,
        }
    }

    pub(super) fn get(&self, provider: &P, request: &PromptRequest) -> Result<PromptAnswer> {
        let prompt = self.find(&request.name)?;
        for argument in prompt.arguments.iter().filter(|argument| argument.required) {
            request.argument(&argument.name)?;
        }
        (prompt.function)(provider, request)
    }

    pub(super) fn complete(&self, provider: &P, query: &ArgumentQuery) -> Result<wit::Suggestions> {
        let arguments = &self.find(&query.prompt)?.arguments;
        let argument = arguments
            .iter()
            .find(|argument| argument.name == query.argument);
        argument
            .ok_or(Error::NotFound)?
            .suggestions(provider, query)
    }

    fn find(&self, name: &str) -> Result<&Prompt<P>> {
        self.prompts
            .iter()
            .find(|prompt| prompt.name == name)
            .ok_or(Error::NotFound)
    }
}

impl<P> Default for Prompts<P> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Argument, PromptResult};

    fn prompts() -> Prompts<()> {
        let write = |_: &(), request: &PromptRequest| {
            Ok(PromptResult::new().user(request.optional("note").unwrap_or("nothing")))
        };
        Prompts::new().prompt(
            Prompt::new("summarize", write)
                .description("Summarizes a note.")
                .argument(Argument::new("note").required().description("A note."))
                .argument(
                    Argument::new("style")
                        .title("Style")
                        .values(["plain", "pretty", "formal"]),
                ),
        )
    }

    #[test]
    fn lists_arguments_in_their_order() {
        let page = prompts().page();
        let prompt = &page.prompts[0];
        assert_eq!(
            (prompt.name.as_str(), prompt.description.as_deref()),
            ("summarize", Some("Summarizes a note."))
        );
        let arguments: Vec<_> = prompt
            .arguments
            .iter()
            .map(|it| (it.name.as_str(), it.required))
            .collect();
        assert_eq!(arguments, [("note", true), ("style", false)]);
        assert_eq!(prompt.arguments[0].description.as_deref(), Some("A note."));
        assert_eq!(prompt.arguments[1].title.as_deref(), Some("Style"));
    }

    #[test]
    fn gets_a_prompt_with_its_required_arguments() {
        let get = |name, arguments: &[_]| prompts().get(&(), &PromptRequest::new(name, arguments));
        assert_eq!(
            get("summarize", &[("note", "a")]),
            Ok(PromptResult::new().user("a").into())
        );
        assert_eq!(
            get("summarize", &[("style", "b")]),
            Err(Error::invalid("`note` is missing"))
        );
        assert_eq!(get("other", &[]), Err(Error::NotFound));
    }

    #[test]
    fn completes_arguments() {
        let check = |prompt: &str, argument: &str, prefix: &str, expected: Result<&[&str]>| {
            let (prompt, argument) = (prompt.to_owned(), argument.to_owned());
            let query = ArgumentQuery {
                prompt,
                argument,
                prefix: prefix.to_owned(),
                filled: vec![],
            };
            let values = prompts()
                .complete(&(), &query)
                .map(|suggestions| suggestions.values);
            let expected = expected.map(|values| values.iter().map(ToString::to_string).collect());
            assert_eq!(values, expected, "{query:?}");
        };
        check("summarize", "style", "p", Ok(&["plain", "pretty"]));
        check("summarize", "note", "p", Ok(&[]));
        check("summarize", "other", "", Err(Error::NotFound));
        check("other", "style", "", Err(Error::NotFound));
    }
}
