//! Expands a template with values to a URI: RFC 6570, section 3.2.

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

use super::parse::{Expression, Modifier, Operator, Part, Variable};

const NOT_UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
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

pub(super) fn expand(parts: &[Part], values: &[(String, String)]) -> String {
    let mut uri = String::new();
    for part in parts {
        match part {
            Part::Literal(text) => uri.push_str(text),
            Part::Expression(expression) => expand_expression(&mut uri, expression, values),
        }
    }
    uri
}

fn expand_expression(uri: &mut String, expression: &Expression, values: &[(String, String)]) {
    let operator = expression.operator;
    let mut prefix = operator.first();
    for variable in &expression.variables {
        let values: Vec<&str> =
            values.iter().filter(|(name, _)| **name == *variable.name).map(|(_, value)| &**value).collect();
        if values.is_empty() {
            continue;
        }
        for item in items(operator, variable, &values) {
            uri.push_str(prefix);
            uri.push_str(&item);
            prefix = operator.separator();
        }
    }
}

/// Returns the encoded texts between the separators.
fn items(operator: Operator, variable: &Variable, values: &[&str]) -> Vec<String> {
    let encoded = values.iter().map(|value| match variable.modifier {
        Modifier::Prefix(most) => encode(operator, &value.chars().take(most).collect::<String>()),
        Modifier::None | Modifier::Explode => encode(operator, value),
    });
    let named = |value: String| match (operator.named(), value.is_empty(), operator) {
        (false, _, _) => value,
        (true, true, Operator::Parameter) => variable.name.to_string(),
        (true, _, _) => format!("{}={value}", variable.name),
    };
    match variable.modifier {
        Modifier::Explode => encoded.map(named).collect(),
        Modifier::None | Modifier::Prefix(_) => vec![named(encoded.collect::<Vec<_>>().join(","))],
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
