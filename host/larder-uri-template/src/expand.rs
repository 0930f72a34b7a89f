//! Expands a template with values to a URI: RFC 6570, section 3.2.

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

use super::Variable;
use super::parse::{Expression, Modifier, Operator, Part, VarSpec};

const NOT_UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
const NOT_RESERVED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

pub(super) fn expand(parts: &[Part], variables: &[Variable]) -> String {
    let mut uri = String::new();
    for part in parts {
        match part {
            Part::Literal(text) => uri.push_str(text),
            Part::Expression(expression) => expand_expression(&mut uri, expression, variables),
        }
    }
    uri
}

fn expand_expression(uri: &mut String, expression: &Expression, variables: &[Variable]) {
    let operator = expression.operator;
    let mut prefix = operator.first();
    for spec in &expression.variables {
        let values = values_of(spec, variables);
        if values.is_empty() {
            continue;
        }
        for item in items(operator, spec, &values) {
            uri.push_str(prefix);
            uri.push_str(&item);
            prefix = operator.separator();
        }
    }
}

fn values_of<'v>(spec: &VarSpec, variables: &'v [Variable]) -> Vec<&'v Variable> {
    variables
        .iter()
        .filter(|variable| *variable.name == *spec.name)
        .collect()
}

/// Returns the encoded texts between the separators.
fn items(operator: Operator, spec: &VarSpec, values: &[&Variable]) -> Vec<String> {
    let encoded = |text: &String| match spec.modifier {
        Modifier::Prefix(most) => encode(operator, &text.chars().take(most).collect::<String>()),
        Modifier::None | Modifier::Explode => encode(operator, text),
    };
    if spec.modifier == Modifier::Explode {
        let item = |variable: &&Variable| match &variable.key {
            Some(key) => pair(operator, &encoded(key), &encoded(&variable.value)),
            None if operator.named() => pair(operator, &spec.name, &encoded(&variable.value)),
            None => encoded(&variable.value),
        };
        return values.iter().map(item).collect();
    }
    let texts = values
        .iter()
        .flat_map(|variable| variable.key.iter().chain([&variable.value]));
    let joined = texts.map(encoded).collect::<Vec<_>>().join(",");
    vec![if operator.named() {
        pair(operator, &spec.name, &joined)
    } else {
        joined
    }]
}

/// Returns a value with its name. An empty `{;x}` is `;x` without `=`.
fn pair(operator: Operator, name: &str, value: &str) -> String {
    match (operator, value) {
        (Operator::Parameter, "") => name.to_owned(),
        _ => format!("{name}={value}"),
    }
}

/// Percent-encodes a value. `{+x}` and `{#x}` keep existing percent-encoded triplets.
fn encode(operator: Operator, value: &str) -> String {
    if !operator.allows_reserved() {
        return utf8_percent_encode(value, NOT_UNRESERVED).to_string();
    }
    let mut encoded = String::new();
    for (i, part) in value.split('%').enumerate() {
        let is_triplet = part.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
        encoded.push_str(match (i, is_triplet) {
            (0, _) => "",
            (_, true) => "%",
            (_, false) => "%25",
        });
        encoded.extend(utf8_percent_encode(part, NOT_RESERVED));
    }
    encoded
}
