//! An error-recovering TOML parser that finds all errors in one run: a value that cannot be deserialized is
//! reported and removed, and the rest is deserialized again.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::{DeserializeOwned, IntoDeserializer as _};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::substitute::substitute;
use super::{Diagnostic, Env};
use larder_model::toml_depth::check_depth;

/// The maximum number of reported errors. Each error costs another deserialization.
const MAX_DIAGNOSTICS: usize = 100;

/// The parsed text, used to find the line and key of a span.
pub(super) struct Source<'a> {
    text: &'a str,
    root: DeTable<'a>,
}

impl<'a> Source<'a> {
    /// All keys with their original text, including invalid keys.
    pub(super) fn root(&self) -> &DeTable<'a> {
        &self.root
    }

    /// Creates a diagnostic for a span of the text.
    pub(super) fn diagnostic(&self, at: &Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            line: self.line_of(at),
            key: key_path(&self.root, at).unwrap_or_default(),
            message: message.into(),
        }
    }

    /// The number of the line, counted from 1.
    fn line_of(&self, at: &Range<usize>) -> Option<usize> {
        let before = self.text.get(..at.start)?;
        Some(before.matches('\n').count() + 1)
    }

    /// Creates a diagnostic for invalid syntax, which has no key.
    fn syntax_error(&self, error: &toml::de::Error) -> Diagnostic {
        Diagnostic {
            key: String::new(),
            ..self.diagnostic(&span(error), error.message())
        }
    }
}

/// Parses and deserializes the text. Returns the valid part together with an error for each invalid value. If the
/// syntax is invalid or there are too many errors, returns only the errors, because further errors would be
/// consequences of these. Substitutes `${NAME}` if `env` is given.
pub(super) fn parse<'a, T: DeserializeOwned + Default>(
    text: &'a str,
    env: Option<&Env>,
) -> Result<(T, Source<'a>, Vec<Diagnostic>), Vec<Diagnostic>> {
    check_depth(text).map_err(|error| vec![Diagnostic::without_line("", error.to_string())])?;
    let (mut root, errors) = DeTable::parse_recoverable(text);
    let source = Source {
        text,
        root: root.get_ref().clone(),
    };
    if !errors.is_empty() {
        let errors = errors.iter().map(|error| source.syntax_error(error));
        return Err(errors.collect());
    }
    let mut diagnostics = Vec::new();
    if let Some(env) = env {
        substitute_variables(root.get_mut(), env, &source, &mut diagnostics);
    }
    match deserialize_recovering(root, &source, &mut diagnostics) {
        Some(raw) => Ok((raw, source, diagnostics)),
        None => Err(diagnostics),
    }
}

fn deserialize_recovering<'a, T: DeserializeOwned + Default>(
    mut root: Spanned<DeTable<'a>>,
    source: &Source<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<T> {
    while diagnostics.len() < MAX_DIAGNOSTICS {
        let error = match T::deserialize(root.clone().into_deserializer()) {
            Ok(file) => return Some(file),
            Err(error) => error,
        };
        let at = span(&error);
        diagnostics.push(source.diagnostic(&at, redact_value(error.message())));
        let mut found = false;
        retain_in_table(root.get_mut(), &mut |key, value| {
            let is_culprit = value.span() == at || key == Some(&at);
            found |= is_culprit;
            !is_culprit
        });
        if !found {
            break;
        }
    }
    None
}

/// Removes the value from an error message. The value may be a secret under the wrong key.
fn redact_value(message: &str) -> Cow<'_, str> {
    let kinds = ["invalid type: ", "invalid value: "];
    let Some(kind) = kinds.into_iter().find(|kind| message.starts_with(kind)) else {
        return message.into();
    };
    // The value may contain this separator too, so the last separator is used.
    let (given, expected) = message[kind.len()..]
        .rsplit_once(", expected ")
        .unwrap_or_default();
    let given = before_quote(given);
    format!("{kind}{given}, expected {}", explain_type(expected)).into()
}

fn before_quote(text: &str) -> &str {
    let before = text.split(['`', '"']).next();
    before.unwrap_or_default().trim_end()
}

/// Replaces the name of a Rust type by the values that are allowed.
fn explain_type(expected: &str) -> Cow<'_, str> {
    match expected {
        "a nonzero u32" => format!("a whole number from 1 to {}", u32::MAX).into(),
        "u32" => format!("a whole number from 0 to {}", u32::MAX).into(),
        "i32" => format!("a whole number from {} to {}", i32::MIN, i32::MAX).into(),
        "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a sequence" => "a list in square brackets".into(),
        other => other.into(),
    }
}

fn span(error: &toml::de::Error) -> Range<usize> {
    error.span().unwrap_or(0..0)
}

/// Substitutes variables in every string. A string with an unset variable is removed, so that it is not
/// reported twice.
fn substitute_variables(
    table: &mut DeTable<'_>,
    env: &Env,
    source: &Source<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    retain_in_table(table, &mut |_, value| {
        let at = value.span();
        let DeValue::String(text) = value.get_mut() else {
            return true;
        };
        match substitute(text, env) {
            Ok(filled) => *text = filled.into(),
            Err(message) => {
                diagnostics.push(source.diagnostic(&at, message));
                return false;
            }
        }
        true
    });
}

/// Decides whether a value is kept. The first argument is the span of the key, if the value has a key.
type Predicate<'k, 'i> =
    &'k mut dyn FnMut(Option<&Range<usize>>, &mut Spanned<DeValue<'i>>) -> bool;

/// Visits every value, outermost first, and removes the values that the predicate rejects.
fn retain_in_table<'i>(table: &mut DeTable<'i>, keep: Predicate<'_, 'i>) {
    for (key, mut value) in std::mem::take(table) {
        if keep(Some(&key.span()), &mut value) {
            retain_in_value(value.get_mut(), keep);
            table.insert(key, value);
        }
    }
}

fn retain_in_value<'i>(value: &mut DeValue<'i>, keep: Predicate<'_, 'i>) {
    match value {
        DeValue::Table(table) => retain_in_table(table, keep),
        DeValue::Array(items) => retain_in_array(items, keep),
        _ => {}
    }
}

fn retain_in_array<'i>(items: &mut DeArray<'i>, keep: Predicate<'_, 'i>) {
    for mut item in std::mem::replace(items, DeArray::new()) {
        if keep(None, &mut item) {
            retain_in_value(item.get_mut(), keep);
            items.push(item);
        }
    }
}

/// Returns the path of the key or value with this span, such as `provider.wiki.dirs[0]`.
fn key_path(table: &DeTable<'_>, at: &Range<usize>) -> Option<String> {
    table.iter().find_map(|(key, value)| {
        if key.span() == *at || value.span() == *at {
            return Some(key.get_ref().to_string());
        }
        let below = key_path_in_value(value.get_ref(), at)?;
        Some(join_keys(key.get_ref(), &below))
    })
}

fn key_path_in_value(value: &DeValue<'_>, at: &Range<usize>) -> Option<String> {
    match value {
        DeValue::Table(table) => key_path(table, at),
        DeValue::Array(items) => key_path_in_array(items, at),
        _ => None,
    }
}

fn key_path_in_array(items: &DeArray<'_>, at: &Range<usize>) -> Option<String> {
    items.iter().enumerate().find_map(|(index, item)| {
        let index = format!("[{index}]");
        if item.span() == *at {
            return Some(index);
        }
        let below = key_path_in_value(item.get_ref(), at)?;
        Some(join_keys(&index, &below))
    })
}

fn join_keys(key: &str, below: &str) -> String {
    let dot = if below.starts_with('[') { "" } else { "." };
    format!("{key}{dot}{below}")
}
