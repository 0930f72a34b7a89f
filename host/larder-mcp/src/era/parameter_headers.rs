//! The headers `Mcp-Param-…`, which repeat arguments of a tool for proxies. They must agree with the body: a proxy may
//! have used the header for a decision, and the tool uses the argument in the body.

use http::{HeaderMap, HeaderName};
use serde_json::Value;

use super::{SingleHeader, decode, mismatch};
use crate::wire::rpc_error::{HEADER_MISMATCH, RpcError};
use larder_core::catalog::OfferedTool;

/// Checks the headers of a call.
pub(crate) fn check(
    tool: &OfferedTool,
    arguments: &Value,
    headers: &HeaderMap,
) -> Result<(), RpcError> {
    tool.header_parameters.iter().try_for_each(|parameter| {
        let mut header = SingleHeader::default();
        headers
            .get_all(&parameter.header)
            .iter()
            .for_each(|value| header.add(value));
        check_one(
            &parameter.header,
            header.text(&parameter.header)?,
            parameter.value(arguments),
        )
    })
}

fn check_one(
    name: &HeaderName,
    header: Option<&str>,
    argument: Option<&Value>,
) -> Result<(), RpcError> {
    match (header, argument) {
        (None, None) => Ok(()),
        (Some(_), None) => Err(surplus_header(name)),
        (None, Some(value)) => Err(mismatch(name.as_str(), None, &text(value))),
        (Some(header), Some(value)) => {
            if agrees(&decode(header, name.as_str())?, value) {
                Ok(())
            } else {
                Err(mismatch(name.as_str(), Some(header), &text(value)))
            }
        }
    }
}

fn surplus_header(name: &HeaderName) -> RpcError {
    let message = format!("header mismatch: {name} is sent, but the body has no such argument");
    RpcError::bad_request(HEADER_MISMATCH, message)
}

/// Whether a decoded header has this value. Numbers are compared as numbers: `42` is equal to `42.0`.
fn agrees(header: &str, value: &Value) -> bool {
    match value {
        Value::Number(number) => match (header.parse::<i64>(), number.as_i64()) {
            (Ok(header), Some(number)) => header == number,
            _ => header
                .parse::<f64>()
                .is_ok_and(|header| Some(header) == number.as_f64()),
        },
        value => header == text(value),
    }
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn compares_decoded_values() {
        let name = HeaderName::from_static("mcp-param-a");
        let check = |header: Option<&str>, value: Value, expected: bool| {
            let value = Some(&value).filter(|value| !value.is_null());
            assert_eq!(
                check_one(&name, header, value).is_ok(),
                expected,
                "{header:?} {value:?}"
            );
        };
        check(None, Value::Null, true);
        check(Some("x"), Value::Null, false);
        check(None, json!("x"), false);
        check(Some("x"), json!("x"), true);
        check(Some("=?base64?SGVsbG8=?="), json!("Hello"), true);
        check(Some("=?base64?SGVsbG8?="), json!("Hello"), false);
        check(Some("=?base64?SGVsbG8="), json!("=?base64?SGVsbG8="), true);
        check(Some("42"), json!(42), true);
        check(Some("42.0"), json!(42), true);
        check(Some("43"), json!(42), false);
        check(
            Some("9007199254740993"),
            json!(9_007_199_254_740_992_i64),
            false,
        );
        check(Some("true"), json!(true), true);
        check(Some("True"), json!(true), false);
    }
}
