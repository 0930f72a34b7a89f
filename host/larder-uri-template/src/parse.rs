//! Parses a template by the grammar of RFC 6570, section 2.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::{MAX_TEMPLATE_BYTES, MAX_VARIABLES, UriTemplate, Variable};

/// Error of parsing a URI template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a URI template: {why} (at byte {at})")]
pub struct BadUriTemplate {
    text: String,
    at: usize,
    why: &'static str,
}

impl BadUriTemplate {
    /// Returns the same error for another form of the text, in which secrets are redacted.
    pub fn with_text(self, text: &str) -> Self {
        error(text, (self.at, self.why))
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Literal text, with non-ASCII characters percent-encoded.
    Literal(Box<str>),
    Expression(Expression),
}

impl Part {
    /// Whether a URI may contain no text of this part.
    pub(super) fn is_optional(&self) -> bool {
        matches!(self, Self::Expression(e) if !e.operator.first().is_empty())
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expression {
    pub(super) operator: Operator,
    pub(super) variables: Box<[VarSpec]>,
    /// Whether the path of the URI ends before this expression.
    pub(super) after_path: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct VarSpec {
    pub(super) name: Box<str>,
    pub(super) modifier: Modifier,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Modifier {
    None,
    /// `{x:3}`: at most this many characters.
    Prefix(usize),
    /// `{x*}`: a list or a map.
    Explode,
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
    /// The text before the first value.
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

    /// The text between two values.
    pub(super) fn separator(self) -> &'static str {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => ",",
            Self::Label => ".",
            Self::Path => "/",
            Self::Parameter => ";",
            Self::Query | Self::Continuation => "&",
        }
    }

    /// Whether each value is written with the name of its variable, as in `x=1`.
    pub(super) fn named(self) -> bool {
        matches!(self, Self::Parameter | Self::Query | Self::Continuation)
    }

    /// Whether reserved characters are not percent-encoded.
    pub(super) fn allows_reserved(self) -> bool {
        matches!(self, Self::Reserved | Self::Fragment)
    }
}

/// The position and the reason of an error, without the text of the template.
type SyntaxError = (usize, &'static str);

pub(super) fn parts(text: &str) -> Result<Vec<Part>, BadUriTemplate> {
    parse(text).map_err(|at_and_why| error(text, at_and_why))
}

/// Checks that the template has a literal scheme and that it can expand to a valid URI.
pub(super) fn check_expansions(template: &UriTemplate) -> Result<(), BadUriTemplate> {
    let scheme = template
        .literal_prefix()
        .split_once(':')
        .map_or("", |(scheme, _)| scheme);
    if !is_scheme(scheme) {
        return Err(error(
            template.as_str(),
            (0, "it must begin with a literal scheme, such as `notes:`"),
        ));
    }
    // A host, a port and an address in brackets accept different values, so several values are tried.
    let is_valid_with = |value: Option<&str>| {
        let values: Vec<_> = value
            .iter()
            .flat_map(|v| template.variables().map(|name| Variable::new(name, *v)))
            .collect();
        fluent_uri::Uri::parse(template.expand(&values)).is_ok()
    };
    if [Some("1"), Some("::1"), None]
        .into_iter()
        .any(is_valid_with)
    {
        Ok(())
    } else {
        Err(error(
            template.as_str(),
            (0, "its literal text is not valid in a URI by RFC 3986"),
        ))
    }
}

fn error(text: &str, (at, why): SyntaxError) -> BadUriTemplate {
    BadUriTemplate {
        text: text.escape_debug().take(200).collect(),
        at,
        why,
    }
}

fn is_scheme(text: &str) -> bool {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"+-.".contains(&b);
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(is_allowed)
}

fn parse(text: &str) -> Result<Vec<Part>, SyntaxError> {
    if text.len() > MAX_TEMPLATE_BYTES {
        return Err((MAX_TEMPLATE_BYTES, "it is longer than 4 KiB"));
    }
    let mut parts = vec![];
    let mut at = 0;
    let mut count = 0;
    let mut after_path = false;
    while at < text.len() {
        let rest = &text[at..];
        if let Some(inner) = rest.strip_prefix('{') {
            let (body, _) = inner
                .split_once('}')
                .ok_or((at, "a `{` without a matching `}`"))?;
            let (operator, variables) = expression(body, at + 1)?;
            count += variables.len();
            if count > MAX_VARIABLES {
                return Err((at, "it has more than 64 variables"));
            }
            parts.push(Part::Expression(Expression {
                operator,
                variables,
                after_path,
            }));
            at += body.len() + 2;
        } else {
            let run = &rest[..rest.find('{').unwrap_or(rest.len())];
            parts.push(Part::Literal(literal(run, at)?));
            after_path |= run.contains(['?', '#']);
            at += run.len();
        }
    }
    Ok(parts)
}

fn literal(run: &str, at: usize) -> Result<Box<str>, SyntaxError> {
    const NOT_ASCII: &AsciiSet = CONTROLS;
    for (i, c) in run.char_indices() {
        match c {
            '}' => return Err((at + i, "a `}` without a matching `{`")),
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

fn expression(body: &str, at: usize) -> Result<(Operator, Box<[VarSpec]>), SyntaxError> {
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
            return Err((
                at,
                "this operator is reserved by RFC 6570 and has no meaning yet",
            ));
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

fn variable(spec: &str, at: usize) -> Result<VarSpec, SyntaxError> {
    let (name, modifier) = match (spec.strip_suffix('*'), spec.split_once(':')) {
        (Some(name), _) => (name, Modifier::Explode),
        (None, Some((name, length))) => {
            (name, Modifier::Prefix(prefix(length, at + name.len() + 1)?))
        }
        (None, None) => (spec, Modifier::None),
    };
    if is_variable_name(name) {
        Ok(VarSpec {
            name: name.into(),
            modifier,
        })
    } else {
        Err((
            at,
            "a variable name consists of letters, digits and `_`, with single `.` between them",
        ))
    }
}

fn is_variable_name(name: &str) -> bool {
    let mut words = name.split('.');
    words.all(|word| !word.is_empty() && is_word(word.as_bytes()))
}

fn prefix(length: &str, at: usize) -> Result<usize, SyntaxError> {
    let fits =
        length.len() <= 4 && !length.starts_with('0') && length.bytes().all(|b| b.is_ascii_digit());
    let length = length.parse().ok().filter(|_| fits);
    length.ok_or((at, "a prefix length is a number from 1 to 9999"))
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
