//! From the text of a template to its parts, by the grammar of RFC 6570, section 2.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::{LONGEST, MOST_VARIABLES, Pattern};

/// Why a text is not a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a URI template: {why} (at byte {at})")]
pub struct BadPattern {
    text: String,
    at: usize,
    why: &'static str,
}

impl BadPattern {
    /// The same, said of this text, in which something may have been taken out.
    pub fn about(self, text: &str) -> Self {
        bad(text, (self.at, self.why))
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// As URIs have it: what is not ASCII is percent-encoded.
    Literal(Box<str>),
    Expression(Expression),
}

impl Part {
    /// Whether there may be nothing of it in a URI.
    pub(super) fn is_optional(&self) -> bool {
        matches!(self, Self::Expression(e) if !e.operator.first().is_empty())
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expression {
    pub(super) operator: Operator,
    pub(super) variables: Box<[Variable]>,
    /// Whether the path of the URI has ended before this expression.
    pub(super) behind_path: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) name: Box<str>,
    pub(super) shape: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Whole,
    /// At most this many characters.
    Prefix(usize),
    Exploded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    Path,
    Parameter,
    Query,
    Continuation,
}

impl Operator {
    /// What stands before the first value, if any.
    pub(super) fn first(self) -> &'static str {
        match self {
            Self::Simple | Self::Reserved => "",
            Self::Fragment => "#",
            Self::Label => ".",
            Self::Path => "/",
            Self::Parameter => ";",
            Self::Query => "?",
            Self::Continuation => "&",
        }
    }

    /// What stands between two values.
    pub(super) fn separator(self) -> &'static str {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => ",",
            Self::Label => ".",
            Self::Path => "/",
            Self::Parameter => ";",
            Self::Query | Self::Continuation => "&",
        }
    }

    /// Whether values come with the names of their variables.
    pub(super) fn named(self) -> bool {
        matches!(self, Self::Parameter | Self::Query | Self::Continuation)
    }

    /// Whether reserved characters stay as they are.
    pub(super) fn reserved(self) -> bool {
        matches!(self, Self::Reserved | Self::Fragment)
    }
}

/// A fault and where it is, before the text that it is in is added.
type Fault = (usize, &'static str);

pub(super) fn parts(text: &str) -> Result<Vec<Part>, BadPattern> {
    read(text).map_err(|fault| bad(text, fault))
}

/// Whether URIs come of it. The literal text decides, whatever the values are.
pub(super) fn gives_uris(pattern: &Pattern) -> Result<(), BadPattern> {
    let scheme = pattern.literal_prefix().split_once(':').map_or("", |(scheme, _)| scheme);
    let scheme_fits = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    if !scheme_fits {
        return Err(bad(pattern.as_str(), (0, "it needs a scheme that is written out, such as `notes:`")));
    }
    // A host, a port and an address in brackets each want another kind of value.
    let filled = |value: Option<&str>| {
        let values: Vec<_> =
            value.iter().flat_map(|v| pattern.variables().map(|name| (name.into(), (*v).into()))).collect();
        fluent_uri::Uri::parse(pattern.expand(&values)).is_ok()
    };
    if [Some("1"), Some("::1"), None].into_iter().any(filled) {
        Ok(())
    } else {
        Err(bad(pattern.as_str(), (0, "its literal text gives no URI by RFC 3986, whatever the values")))
    }
}

fn bad(text: &str, (at, why): Fault) -> BadPattern {
    BadPattern { text: text.escape_debug().take(200).collect(), at, why }
}

fn read(text: &str) -> Result<Vec<Part>, Fault> {
    if text.len() > LONGEST {
        return Err((LONGEST, "it is longer than 4096 bytes"));
    }
    let (mut parts, mut at, mut count, mut behind_path) = (vec![], 0, 0, false);
    while at < text.len() {
        let rest = &text[at..];
        if let Some(inner) = rest.strip_prefix('{') {
            let (body, _) = inner.split_once('}').ok_or((at, "a `{` without its `}`"))?;
            let (operator, variables) = expression(body, at + 1)?;
            count += variables.len();
            if count > MOST_VARIABLES {
                return Err((at, "it has more than 64 variables"));
            }
            parts.push(Part::Expression(Expression { operator, variables, behind_path }));
            at += body.len() + 2;
        } else {
            let run = &rest[..rest.find('{').unwrap_or(rest.len())];
            parts.push(Part::Literal(literal(run, at)?));
            behind_path |= run.contains(['?', '#']);
            at += run.len();
        }
    }
    Ok(parts)
}

fn literal(run: &str, at: usize) -> Result<Box<str>, Fault> {
    const NOT_ASCII: &AsciiSet = CONTROLS;
    for (i, c) in run.char_indices() {
        match c {
            '}' => return Err((at + i, "a `}` without its `{`")),
            '%' if !is_triplet(&run.as_bytes()[i..]) => {
                return Err((at + i, "a `%` must be followed by two hexadecimal digits"));
            }
            '\0'..=' ' | '\x7f'..='\u{9f}' | '"' | '\'' | '<' | '>' | '\\' | '^' | '`' | '|' => {
                return Err((at + i, "this character must be percent-encoded"));
            }
            _ => {}
        }
    }
    Ok(utf8_percent_encode(run, NOT_ASCII).to_string().into())
}

fn expression(body: &str, at: usize) -> Result<(Operator, Box<[Variable]>), Fault> {
    let operator = match body.as_bytes().first() {
        None => return Err((at, "an expression without a variable")),
        Some(b'+') => Operator::Reserved,
        Some(b'#') => Operator::Fragment,
        Some(b'.') => Operator::Label,
        Some(b'/') => Operator::Path,
        Some(b';') => Operator::Parameter,
        Some(b'?') => Operator::Query,
        Some(b'&') => Operator::Continuation,
        Some(b'=' | b',' | b'!' | b'@' | b'|') => {
            return Err((at, "this operator is reserved by RFC 6570 and has no meaning yet"));
        }
        Some(_) => Operator::Simple,
    };
    let sign = usize::from(operator != Operator::Simple);
    let mut at = at + sign;
    let mut variables = vec![];
    for spec in body[sign..].split(',') {
        variables.push(variable(spec, at)?);
        at += spec.len() + 1;
    }
    Ok((operator, variables.into()))
}

fn variable(spec: &str, at: usize) -> Result<Variable, Fault> {
    let (name, shape) = match (spec.strip_suffix('*'), spec.split_once(':')) {
        (Some(name), _) => (name, Shape::Exploded),
        (None, Some((name, length))) => (name, Shape::Prefix(prefix(length, at + name.len() + 1)?)),
        (None, None) => (spec, Shape::Whole),
    };
    let fits = name.split('.').all(|word| !word.is_empty() && is_word(word.as_bytes()));
    if fits {
        Ok(Variable { name: name.into(), shape })
    } else {
        Err((at, "a variable's name is letters, digits and `_`, with single `.` between them"))
    }
}

fn prefix(length: &str, at: usize) -> Result<usize, Fault> {
    let fits = length.len() <= 4 && !length.starts_with('0') && length.bytes().all(|b| b.is_ascii_digit());
    let length = length.parse().ok().filter(|_| fits);
    length.ok_or((at, "the length of a prefix is a number from 1 to 9999"))
}

fn is_word(mut word: &[u8]) -> bool {
    while let Some(first) = word.first() {
        word = match first {
            b'%' if is_triplet(word) => &word[3..],
            b'_' => &word[1..],
            b if b.is_ascii_alphanumeric() => &word[1..],
            _ => return false,
        };
    }
    true
}

fn is_triplet(text: &[u8]) -> bool {
    matches!(text, [b'%', a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
}
