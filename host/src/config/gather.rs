//! Reads the file so that one look finds every fault: what cannot be understood is
//! noted, taken out, and the rest is read again.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::{DeserializeOwned, IntoDeserializer as _};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::substitute::substitute;
use super::{Env, Fault};

/// Nobody mends more at once, and reading again has a price.
const MOST: usize = 100;

/// The text, to say where something stands in it.
pub(super) struct Source<'a> {
    text: &'a str,
    whole: DeTable<'a>,
}

impl Source<'_> {
    /// A fault at this place of the text.
    pub(super) fn fault(&self, at: &Range<usize>, what: impl Into<String>) -> Fault {
        let line = self.text.get(..at.start).map(|before| before.matches('\n').count() + 1);
        let place = path_in_table(&self.whole, at).unwrap_or_default();
        Fault { line, place, what: what.into() }
    }
}

/// What is written in the text, as far as it can be understood, and what cannot be.
/// Where the syntax is broken, or far too much is wrong, there is only that: all that follows from it would be noise.
/// Variables are put in where there is an environment to take them from.
pub(super) fn read<'a, T: DeserializeOwned + Default>(
    text: &'a str,
    env: Option<&Env>,
) -> Result<(T, Source<'a>, Vec<Fault>), Vec<Fault>> {
    let (mut whole, errors) = DeTable::parse_recoverable(text);
    let source = Source { text, whole: whole.get_ref().clone() };
    if !errors.is_empty() {
        let fault = |e: &toml::de::Error| Fault { place: String::new(), ..source.fault(&at(e), e.message()) };
        return Err(errors.iter().map(fault).collect());
    }
    let mut faults = Vec::new();
    if let Some(env) = env {
        fill_in(whole.get_mut(), env, &source, &mut faults);
    }
    match understand(whole, &source, &mut faults) {
        Some(written) => Ok((written, source, faults)),
        None => Err(faults),
    }
}

fn understand<'a, T: DeserializeOwned + Default>(
    mut whole: Spanned<DeTable<'a>>,
    source: &Source<'_>,
    faults: &mut Vec<Fault>,
) -> Option<T> {
    while faults.len() < MOST {
        let error = match T::deserialize(whole.clone().into_deserializer()) {
            Ok(file) => return Some(file),
            Err(error) => error,
        };
        let at = at(&error);
        faults.push(source.fault(&at, without_value(error.message())));
        let mut found = false;
        sift(whole.get_mut(), &mut |key, value| {
            let stands_here = value.span() == at || key == Some(&at);
            found |= stands_here;
            !stands_here
        });
        if !found {
            break;
        }
    }
    None
}

/// What is said of a value that does not fit, without the value: it may be a secret that a slip put there.
fn without_value(message: &str) -> Cow<'_, str> {
    let kinds = ["invalid type: ", "invalid value: "];
    let Some(kind) = kinds.into_iter().find(|kind| message.starts_with(kind)) else {
        return message.into();
    };
    // The last one is not part of the value.
    let (given, expected) = message[kind.len()..].rsplit_once(", expected ").unwrap_or_default();
    let given = given.split(['`', '"']).next().unwrap_or_default().trim_end();
    format!("{kind}{given}, expected {expected}").into()
}

fn at(error: &toml::de::Error) -> Range<usize> {
    error.span().unwrap_or(0..0)
}

/// Puts variables into every text. A text that lacks one is taken out, so that it is not reported twice.
fn fill_in(table: &mut DeTable<'_>, env: &Env, source: &Source<'_>, faults: &mut Vec<Fault>) {
    sift(table, &mut |_, value| {
        let at = value.span();
        let DeValue::String(text) = value.get_mut() else { return true };
        match substitute(text, env) {
            Ok(filled) => *text = filled.into(),
            Err(what) => {
                faults.push(source.fault(&at, what));
                return false;
            }
        }
        true
    });
}

/// Whether to keep a value; told the place of its key if it has one.
type Keep<'k, 'i> = &'k mut dyn FnMut(Option<&Range<usize>>, &mut Spanned<DeValue<'i>>) -> bool;

/// Looks at every value, outermost first, and takes out those that are not to be kept.
fn sift<'i>(table: &mut DeTable<'i>, keep: Keep<'_, 'i>) {
    for (key, mut value) in std::mem::take(table) {
        if keep(Some(&key.span()), &mut value) {
            sift_value(value.get_mut(), keep);
            table.insert(key, value);
        }
    }
}

fn sift_value<'i>(value: &mut DeValue<'i>, keep: Keep<'_, 'i>) {
    match value {
        DeValue::Table(table) => sift(table, keep),
        DeValue::Array(items) => {
            for mut item in std::mem::replace(items, DeArray::new()) {
                if keep(None, &mut item) {
                    sift_value(item.get_mut(), keep);
                    items.push(item);
                }
            }
        }
        _ => {}
    }
}

/// The key that stands at this place, such as `provider.wiki.dirs[0]`.
fn path_in_table(table: &DeTable<'_>, at: &Range<usize>) -> Option<String> {
    table.iter().find_map(|(key, value)| {
        if key.span() == *at || value.span() == *at {
            return Some(key.get_ref().to_string());
        }
        let below = path_in_value(value.get_ref(), at)?;
        let dot = if below.starts_with('[') { "" } else { "." };
        Some(format!("{}{dot}{below}", key.get_ref()))
    })
}

fn path_in_value(value: &DeValue<'_>, at: &Range<usize>) -> Option<String> {
    match value {
        DeValue::Table(table) => path_in_table(table, at),
        DeValue::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            if item.span() == *at {
                return Some(format!("[{index}]"));
            }
            let below = path_in_value(item.get_ref(), at)?;
            let dot = if below.starts_with('[') { "" } else { "." };
            Some(format!("[{index}]{dot}{below}"))
        }),
        _ => None,
    }
}
