//! Provides the input that a tool requires: from options, or from the user of the terminal.

use std::io;

use serde_json::{Map, Value, json};

use super::dialog::Dialog;
use super::form;
use crate::cli::error::CommandError;
use crate::cli::out;
use larder_client::{InputRequest, InputRequired};

/// Where the input of a tool comes from.
pub(super) enum InputSource {
    /// The values of options, by the names of fields.
    Options(Vec<(String, String)>),
    Terminal,
    /// The tool gets an error if it requires input.
    Nobody,
}

impl InputSource {
    pub(super) fn new(answers: Vec<(String, String)>) -> Self {
        if !answers.is_empty() {
            Self::Options(answers)
        } else if out::can_ask() {
            Self::Terminal
        } else {
            Self::Nobody
        }
    }

    pub(super) fn can_answer(&self) -> bool {
        !matches!(self, Self::Nobody)
    }

    /// Returns the answers to all requests.
    pub(super) fn answers(
        &self,
        required: &InputRequired,
    ) -> Result<Map<String, Value>, CommandError> {
        let mut answers = Map::new();
        for (key, request) in &required.input_requests {
            answers.insert(key.clone(), self.answer(request)?);
        }
        Ok(answers)
    }

    fn answer(&self, request: &InputRequest) -> Result<Value, CommandError> {
        match self {
            Self::Options(values) => answer_from(values, request),
            Self::Terminal => {
                let mut dialog = Dialog {
                    input: io::stdin().lock(),
                    output: io::stderr(),
                };
                Ok(dialog.answer(request)?)
            }
            Self::Nobody => Ok(json!({ "action": "cancel" })),
        }
    }
}

/// Completes a form with the values of options. Nobody opens a page.
fn answer_from(values: &[(String, String)], request: &InputRequest) -> Result<Value, CommandError> {
    if request.params.get("url").is_some() {
        return Ok(json!({ "action": "decline" }));
    }
    let mut content = Map::new();
    for field in form::fields(&request.params["requestedSchema"]) {
        let given = values.iter().find(|(name, _)| *name == field.name);
        let value = match given {
            Some((_, text)) => Some(field.parse(text)),
            None => field.default.clone().map(Ok),
        };
        let invalid = |problem| CommandError::InputField {
            name: field.name.clone(),
            problem,
        };
        match value {
            Some(value) => {
                let value = value.map_err(invalid)?;
                content.insert(field.name, value);
            }
            None if field.required => return Err(invalid("a value is required".into())),
            None => {}
        }
    }
    Ok(json!({ "action": "accept", "content": content }))
}
