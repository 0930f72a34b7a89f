//! Asks the user of a terminal for the input that a tool requires.

use std::io::{self, BufRead, Write};

use serde_json::{Map, Value, json};

use super::form::{self, Field};
use crate::cli::sanitize;
use larder_client::InputRequest;

/// A terminal, or any other pair of streams.
pub(super) struct Dialog<R, W> {
    pub(super) input: R,
    pub(super) output: W,
}

impl<R: BufRead, W: Write> Dialog<R, W> {
    /// Shows a request, and returns the answer of the user.
    pub(super) fn answer(&mut self, request: &InputRequest) -> io::Result<Value> {
        let params = &request.params;
        let message = params["message"].as_str().unwrap_or_default();
        writeln!(self.output, "The tool asks: {}", sanitize::line(message))?;
        let answered = match params["url"].as_str() {
            Some(url) => self.page(url)?,
            None => self.form(&params["requestedSchema"])?,
        };
        Ok(answered.unwrap_or_else(|| json!({ "action": "cancel" })))
    }

    /// Returns None if the input has ended.
    fn page(&mut self, url: &str) -> io::Result<Option<Value>> {
        writeln!(self.output, "It asks you to open {}", sanitize::line(url))?;
        let accepted = self.confirm("Have you opened it? [y/N] ", false)?;
        Ok(accepted.map(|accepted| {
            if accepted {
                json!({ "action": "accept" })
            } else {
                json!({ "action": "decline" })
            }
        }))
    }

    /// Returns None if the input has ended.
    fn form(&mut self, schema: &Value) -> io::Result<Option<Value>> {
        let mut content = Map::new();
        for field in form::fields(schema) {
            let Some(value) = self.field(&field)? else {
                return Ok(None);
            };
            if !value.is_null() {
                content.insert(field.name, value);
            }
        }
        let accepted = self.confirm("Send the answer? [Y/n] ", true)?;
        Ok(accepted.map(|accepted| {
            if accepted {
                json!({ "action": "accept", "content": content })
            } else {
                json!({ "action": "decline" })
            }
        }))
    }

    /// Asks until the value is valid. Null if there is no value.
    fn field(&mut self, field: &Field) -> io::Result<Option<Value>> {
        loop {
            let Some(text) = self.ask(&field.prompt())? else {
                return Ok(None);
            };
            let value = match &field.default {
                Some(default) if text.is_empty() => Ok(default.clone()),
                None if text.is_empty() && !field.required => Ok(Value::Null),
                _ => field.parse(&text),
            };
            match value {
                Ok(value) => return Ok(Some(value)),
                Err(problem) => writeln!(self.output, "{}", sanitize::line(&problem))?,
            }
        }
    }

    fn confirm(&mut self, question: &str, default: bool) -> io::Result<Option<bool>> {
        let answer = self.ask(question)?;
        Ok(answer.map(|answer| match answer.as_str() {
            "" => default,
            answer => matches!(answer, "y" | "Y" | "yes"),
        }))
    }

    /// Returns the line that the user entered, or None if the input has ended.
    fn ask(&mut self, question: &str) -> io::Result<Option<String>> {
        write!(self.output, "{}", sanitize::line(question))?;
        self.output.flush()?;
        let mut line = String::new();
        let length = self.input.read_line(&mut line)?;
        Ok((length > 0).then(|| line.trim().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(params: Value, typed: &str, expected: Value) -> String {
        let method = "elicitation/create".to_owned();
        let mut dialog = Dialog {
            input: typed.as_bytes(),
            output: Vec::new(),
        };
        let answer = dialog.answer(&InputRequest { method, params }).unwrap();
        assert_eq!(answer, expected);
        String::from_utf8(dialog.output).unwrap()
    }

    fn form() -> Value {
        json!({ "message": "Who\u{1b}?", "requestedSchema": {
            "required": ["age"],
            "properties": { "age": { "type": "integer" }, "name": { "type": "string" } },
        } })
    }

    #[test]
    fn asks_again_until_the_values_are_valid() {
        let expected = json!({ "action": "accept", "content": { "age": 7, "name": "Ada" } });
        let shown = check(form(), "seven\n\n7\nAda\n\n", expected);
        assert_eq!(
            shown.matches("expected a whole number").count(),
            2,
            "{shown}"
        );
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }

    #[test]
    fn the_user_can_omit_decline_and_cancel() {
        let accepted = json!({ "action": "accept", "content": { "age": 7 } });
        check(form(), "7\n\ny\n", accepted);
        check(form(), "7\n\nn\n", json!({ "action": "decline" }));
        check(form(), "7\n", json!({ "action": "cancel" }));
    }

    #[test]
    fn pages_are_opened_by_the_user() {
        let page = json!({ "mode": "url", "message": "Sign in.", "url": "https://a.example/" });
        let shown = check(page.clone(), "y\n", json!({ "action": "accept" }));
        assert!(shown.contains("https://a.example/"), "{shown}");
        check(page, "\n", json!({ "action": "decline" }));
    }
}
