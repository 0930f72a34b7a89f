//! From values to a URI: RFC 6570, section 3.2.

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

use super::parse::{Expression, Operator, Part, Shape, Variable};

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
            Part::Expression(expression) => fill(&mut uri, expression, values),
        }
    }
    uri
}

fn fill(uri: &mut String, expression: &Expression, values: &[(String, String)]) {
    let operator = expression.operator;
    let mut before = operator.first();
    for variable in &expression.variables {
        let values: Vec<&str> =
            values.iter().filter(|(name, _)| **name == *variable.name).map(|(_, value)| &**value).collect();
        if values.is_empty() {
            continue;
        }
        for item in items(operator, variable, &values) {
            uri.push_str(before);
            uri.push_str(&item);
            before = operator.separator();
        }
    }
}

/// What stands between two separators.
fn items(operator: Operator, variable: &Variable, values: &[&str]) -> Vec<String> {
    let encoded = values.iter().map(|value| match variable.shape {
        Shape::Prefix(most) => encode(operator, &value.chars().take(most).collect::<String>()),
        Shape::Whole | Shape::Exploded => encode(operator, value),
    });
    let named = |value: String| match (operator.named(), value.is_empty(), operator) {
        (false, _, _) => value,
        (true, true, Operator::Parameter) => variable.name.to_string(),
        (true, _, _) => format!("{}={value}", variable.name),
    };
    match variable.shape {
        Shape::Exploded => encoded.map(named).collect(),
        Shape::Whole | Shape::Prefix(_) => vec![named(encoded.collect::<Vec<_>>().join(","))],
    }
}

/// With `{+x}` and `{#x}`, what is encoded already stays so.
fn encode(operator: Operator, value: &str) -> String {
    if !operator.reserved() {
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
