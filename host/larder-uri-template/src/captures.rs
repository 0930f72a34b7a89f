//! The values of a match.

use percent_encoding::percent_decode_str;

use super::Variable;
use super::capture_span::CaptureSpan;
use super::parse::Modifier;
use super::program::CaptureGroup;
use super::safety::{UnsafeValue, check_values};

/// The values with which a template expands to a URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captures {
    /// The percent-decoded values, in the order of the template. Variables that the URI does not contain are
    /// omitted.
    pub variables: Vec<Variable>,
    safety: Result<(), UnsafeValue>,
}

impl Captures {
    /// Checks whether the values are safe for a guest that uses them as parts of a path.
    pub fn check_safety(&self) -> Result<(), UnsafeValue> {
        self.safety.clone()
    }

    /// Decodes the values at these positions. `None` if the values of a repeated variable differ.
    pub(super) fn from_spans(
        groups: &[CaptureGroup],
        spans: &[CaptureSpan],
        uri: &str,
    ) -> Option<Self> {
        let variables = if is_one_value_each(groups, spans) {
            let mut variables = Vec::with_capacity(spans.len());
            for (at, span) in spans.iter().enumerate() {
                if !is_omitted(groups, spans, at) {
                    push_items(&mut variables, &groups[span.group], *span, uri)?;
                }
            }
            variables
        } else {
            grouped_variables(groups, spans, uri)?
        };
        Some(Self {
            variables,
            safety: check_values(groups, spans, uri),
        })
    }
}

/// Whether there is exactly one complete value for each variable, in order. Then no values have to be
/// compared.
fn is_one_value_each(groups: &[CaptureGroup], spans: &[CaptureSpan]) -> bool {
    let mut groups_of_spans = spans.iter().map(|span| span.group).enumerate();
    groups.len() == spans.len()
        && groups_of_spans.all(|(n, group)| n == group)
        && groups
            .iter()
            .all(|group| group.is_first && group.modifier == Modifier::None)
}

/// Whether the value is empty and the URI contains no other text of the expression: then the variable is undefined.
fn is_omitted(groups: &[CaptureGroup], spans: &[CaptureSpan], at: usize) -> bool {
    let CaptureSpan {
        group, start, end, ..
    } = spans[at];
    let is_beside = |other: Option<&CaptureSpan>| {
        other.is_some_and(|other| groups[other.group].expression == groups[group].expression)
    };
    start == end
        && groups[group].omits_empty
        && !is_beside(at.checked_sub(1).and_then(|before| spans.get(before)))
        && !is_beside(spans.get(at + 1))
}

fn push_items(
    variables: &mut Vec<Variable>,
    group: &CaptureGroup,
    span: CaptureSpan,
    uri: &str,
) -> Option<()> {
    for (start, end) in span.items(group, uri) {
        variables.push(Variable {
            name: group.name.to_string(),
            key: None,
            value: decoded(&uri[start..end])?,
        });
    }
    Some(())
}

fn decoded(raw: &str) -> Option<String> {
    Some(percent_decode_str(raw).decode_utf8().ok()?.into_owned())
}

/// Returns the variables in the order of the template if their values are consistent.
fn grouped_variables(
    groups: &[CaptureGroup],
    spans: &[CaptureSpan],
    uri: &str,
) -> Option<Vec<Variable>> {
    let mut read = vec![vec![]; groups.len()];
    let mut key = None;
    for (at, span) in spans.iter().enumerate() {
        let group = &groups[span.group];
        let values = &mut read[span.group];
        if span.is_key {
            key = Some(decoded(&uri[span.start..span.end])?);
        } else if group.modifier != Modifier::Explode && !values.is_empty() {
            // A query parameter that is not a list occurs twice.
            return None;
        } else if let Some(key) = key.take() {
            let value = decoded(&uri[span.start..span.end])?;
            values.push(Variable {
                name: group.name.to_string(),
                key: Some(key),
                value,
            });
        } else if !is_omitted(groups, spans, at) {
            push_items(values, group, *span, uri)?;
        }
    }
    read.iter_mut().for_each(|values| complete_keys(values));
    let agree = |(group, values): (&CaptureGroup, &Vec<Variable>)| {
        is_consistent(group, values, &groups[group.longest], &read[group.longest])
    };
    if !groups.iter().zip(&read).all(agree) {
        return None;
    }
    let first = groups.iter().filter(|group| group.is_first);
    Some(
        first
            .flat_map(|group| std::mem::take(&mut read[group.longest]))
            .collect(),
    )
}

/// Sets the keys of a map `{?x*}` in which the name of the variable itself is a key.
fn complete_keys(values: &mut [Variable]) {
    if values.iter().any(|value| value.key.is_some()) {
        for Variable { name, key, .. } in values {
            key.get_or_insert_with(|| name.clone());
        }
    }
}

/// Whether two appearances of a variable can have the same values.
fn is_consistent(
    group: &CaptureGroup,
    values: &[Variable],
    other: &CaptureGroup,
    whole: &[Variable],
) -> bool {
    match (group.modifier, values, whole) {
        (_, [], _) | (_, _, []) => values.is_empty() && whole.is_empty(),
        (Modifier::Prefix(most), [value], [whole]) if whole.key.is_none() => {
            value.value.chars().eq(whole.value.chars().take(most))
        }
        (Modifier::Prefix(_), _, _) => false,
        (Modifier::Explode, _, _) if other.modifier == Modifier::Explode => values == whole,
        // `{+x}` does not change the commas between the items.
        _ if group.allows_reserved || other.allows_reserved => {
            texts(values).join(",") == texts(whole).join(",")
        }
        _ => texts(values) == texts(whole),
    }
}

/// Returns the keys and values in the form in which `{x}` writes them.
fn texts(values: &[Variable]) -> Vec<&str> {
    values
        .iter()
        .flat_map(|value| value.key.iter().chain([&value.value]))
        .map(String::as_str)
        .collect()
}
