//! RFC 6570 URI templates: expansion, and matching as its inverse. Matching takes a template and a URI and returns the
//! values of the variables. Supports levels 1 to 4, except for values that cannot be inverted. Neither templates nor
//! URIs are normalised.
//!
//! RFC 6570 does not define matching. These rules make it unambiguous:
//!
//! - An earlier variable matches as much as possible, unless an optional expression follows it directly.
//! - An expression matches at least one character. Directly between two literal texts, as in `a{x}b`, it matches an
//!   empty text if the URI does not match otherwise. Its variables are then undefined.
//! - Variables at the end of a list of variables may be missing. A whole expression of `# . / ; ? &` may be
//!   missing, too.
//! - `{;x,y}` and `{?x,y}` match their variables in any order.
//! - An unencoded comma separates the items of a list. In `{x,y}`, each variable has one item, and the last variable
//!   has all remaining items. `{+x}`, `{#x}`, `{x:3}`, and `{x},` with a comma after it do not match lists.
//! - `{x*}` matches a map if its first item contains `=`, otherwise a list. Keys are not empty. In `{+x*}`, `{#x*}` and
//!   `{.x*}`, an item without `=` belongs to the value of the pair before it.
//! - `{?x*}` and `{;x*}` match pairs with any name, as a map. The names of variables that are written like `x`
//!   are not keys. If all pairs have the name `x`, they are a list.
//! - `{+y}` ends at a `?` if an expression such as `{?x}` follows.
//!
//! Values that are not in the URI cannot be inverted. Neither can values that have the same expansion as other values:
//!
//! - An empty list has the same expansion as an undefined variable. A list of one item has the same expansion as a
//!   single value.
//! - `{x}` writes a map as a list of its keys and values, and returns this list. `{+x}` and `{#x}` write lists
//!   and maps as one text, and return this text.
//! - `{x:3}` returns the three characters.
//! - If only `y` of `{x,y}` or `{/x,y}` is defined, its value is returned as the value of `x`.
//! - `{+x}` and `{#x}` do not encode `/` and do not change `%2F`. Values are always decoded, so both return `/`, which
//!   expands to another URI. All other returned values expand to the URI, except for the order of its pairs and for
//!   unnecessary percent-encoding.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables are long"))]

mod across_slashes;
mod budget;
mod capture_span;
mod captures;
mod class;
mod compile;
mod expand;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod matcher;
mod parse;
mod program;
mod safety;
#[cfg(test)]
mod tests;
mod variable;

pub use budget::MatchBudget;
pub use captures::Captures;
pub use parse::BadUriTemplate;
pub use safety::{UnsafeReason, UnsafeValue};
pub use variable::Variable;

use std::cmp::Reverse;
use std::sync::Arc;

use parse::Part;
use program::Program;

/// The maximum length of a template.
const MAX_TEMPLATE_BYTES: usize = 4 * 1024;

/// The maximum length of a URI that is matched. Longer URIs are rejected when they are parsed.
const MAX_URI_BYTES: usize = 8 * 1024;

/// The maximum number of variables in a template.
const MAX_VARIABLES: usize = 64;

/// A parsed URI template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriTemplate {
    text: Arc<str>,
    parts: Arc<[Part]>,
    program: Arc<Program>,
}

/// How specific a template is. Of two templates, the more specific one is greater: it has more literal text,
/// or as much literal text and fewer variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Specificity {
    literal_bytes: usize,
    variables: Reverse<usize>,
}

impl UriTemplate {
    /// Parses a template. Its scheme must be literal text, and with some values it must expand to a valid
    /// URI.
    pub fn parse(text: &str) -> Result<Self, BadUriTemplate> {
        let parts = parse::parts(text)?;
        let template = Self {
            text: text.into(),
            program: Program::compile(&parts).into(),
            parts: parts.into(),
        };
        parse::check_expansions(&template).map(|()| template)
    }

    /// Returns the original text of the template.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the literal text before the first expression. Every matching URI begins with it.
    pub fn literal_prefix(&self) -> &str {
        match self.parts.first() {
            Some(Part::Literal(text)) => text,
            _ => "",
        }
    }

    /// Returns the measure by which the most specific of several matching templates is selected.
    pub fn specificity(&self) -> Specificity {
        let literal = |part: &Part| match part {
            Part::Literal(text) => text.len(),
            Part::Expression(_) => 0,
        };
        Specificity {
            literal_bytes: self.parts.iter().map(literal).sum(),
            variables: Reverse(self.variables().count()),
        }
    }

    /// Returns the names of the variables without duplicates, in the order of their first appearance.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.program.variable_names()
    }

    /// Returns the values with which this template expands to the URI. `None` if there are no such values, or if
    /// finding them exceeds the step limit. Only malicious templates exceed the limit.
    pub fn matches(&self, uri: &str) -> Option<Captures> {
        self.matches_within(uri, &mut MatchBudget::default())
    }

    /// Like [`UriTemplate::matches`], with a step limit that is shared by several templates.
    pub fn matches_within(&self, uri: &str, budget: &mut MatchBudget) -> Option<Captures> {
        if uri.len() > MAX_URI_BYTES || !uri.starts_with(self.literal_prefix()) {
            return None;
        }
        matcher::find(&self.program, uri, budget)
    }

    /// Expands the template with these values. Several values with the same name are a list, or a map if they
    /// have keys.
    pub fn expand(&self, variables: &[Variable]) -> String {
        expand::expand(&self.parts, variables)
    }
}
