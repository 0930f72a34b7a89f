//! RFC 6570 URI templates, matched backwards: a template and a URI give the values of the variables.
//! Levels 1 to 4 as far as they can be reversed. Nothing here normalises a template or a URI.
//!
//! What RFC 6570 leaves open is decided so: an earlier variable takes as much as it can, but gives way
//! to an optional expression right behind it; `{x}` and `{+x}` take at least one character; variables at
//! the end of a list may be missing, and so may a whole expression of `# . / ; ? &`; `{;x,y}` and
//! `{?x,y}` match in any order; only `{x*}` takes lists; with `{?x}` behind it, `{+y}` ends at the `?`.

mod captures;
mod effort;
mod expand;
mod parse;
mod program;
mod run;
mod stretch;
#[cfg(test)]
mod tests;

pub use captures::{Captures, Reason, Unsafe};
pub use effort::Effort;
pub use parse::BadPattern;

use std::cmp::Reverse;
use std::sync::Arc;

use parse::Part;
use program::Program;

/// The longest template that is accepted.
const LONGEST: usize = 4 * 1024;

/// The longest URI that is matched: no longer one is accepted anywhere.
const LONGEST_URI: usize = 8 * 1024;

/// The most variables in one template.
const MOST_VARIABLES: usize = 64;

/// A template, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    text: Arc<str>,
    parts: Arc<[Part]>,
    program: Arc<Program>,
}

/// How much a template says about its URIs; the greater is the more specific.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Specificity {
    literal: usize,
    variables: Reverse<usize>,
}

impl Pattern {
    /// Reads a template whose URIs have a scheme: one that is written out.
    pub fn parse(text: &str) -> Result<Self, BadPattern> {
        let parts = parse::parts(text)?;
        let pattern =
            Self { text: text.into(), program: Program::compile(&parts).into(), parts: parts.into() };
        parse::gives_uris(&pattern).map(|()| pattern)
    }

    /// The template as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What every URI of this template begins with: the text before the first expression.
    pub fn literal_prefix(&self) -> &str {
        match self.parts.first() {
            Some(Part::Literal(text)) => text,
            _ => "",
        }
    }

    /// The measure by which the most specific of several templates wins: more literal text first,
    /// then fewer variables.
    pub fn specificity(&self) -> Specificity {
        let literal = |part: &Part| match part {
            Part::Literal(text) => text.len(),
            Part::Expression(_) => 0,
        };
        Specificity {
            literal: self.parts.iter().map(literal).sum(),
            variables: Reverse(self.variables().count()),
        }
    }

    /// The names of the variables, each once, in the order in which they first appear.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.program.names()
    }

    /// The values with which this template gives the URI.
    ///
    /// None as well when that would take unreasonably many steps, which only a template that
    /// means to be slow brings about.
    pub fn matches(&self, uri: &str) -> Option<Captures> {
        self.matches_within(uri, &mut Effort::default())
    }

    /// The same for one of many templates, as far as the effort goes for all of them.
    pub fn matches_within(&self, uri: &str, effort: &mut Effort) -> Option<Captures> {
        if uri.len() > LONGEST_URI || !uri.starts_with(self.literal_prefix()) {
            return None;
        }
        run::run(&self.program, uri, effort)
    }

    /// The URI that these values give; several values under one name are a list.
    pub fn expand(&self, values: &[(String, String)]) -> String {
        expand::expand(&self.parts, values)
    }
}
