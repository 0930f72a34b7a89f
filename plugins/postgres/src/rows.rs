//! Values of PostgreSQL as JSON.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use postgres_protocol::Oid;
use serde_json::{Value, json};

/// A value that the server sent as a text. Exact decimal numbers, times and other types stay texts.
pub(crate) fn to_json(kind: Oid, bytes: Option<&[u8]>) -> Value {
    /// The numbers of types that every server has, from `pg_type.dat`.
    const BOOL: Oid = 16;
    const BYTEA: Oid = 17;
    const INTEGERS: [Oid; 4] = [20, 21, 23, 26];
    const FLOATS: [Oid; 2] = [700, 701];
    const JSON: [Oid; 2] = [114, 3802];
    let Some(bytes) = bytes else {
        return Value::Null;
    };
    let text = String::from_utf8_lossy(bytes);
    let value = match kind {
        BOOL => Some(Value::Bool(text == "t")),
        // A blob becomes an object, so that it cannot be confused with a text.
        BYTEA => blob(&text).map(|bytes| json!({ "base64": BASE64_STANDARD.encode(bytes) })),
        _ if INTEGERS.contains(&kind) => text.parse::<i64>().ok().map(Value::from),
        // Infinity and NaN are no numbers in JSON.
        _ if FLOATS.contains(&kind) => text
            .parse::<f64>()
            .ok()
            .filter(|it| it.is_finite())
            .map(Value::from),
        _ if JSON.contains(&kind) => serde_json::from_str(&text).ok(),
        _ => None,
    };
    value.unwrap_or_else(|| Value::from(text))
}

/// The bytes of a value of the type `bytea`: `\x` and two hexadecimal digits for each byte.
fn blob(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("\\x")?.as_bytes();
    let pairs = digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    pairs.collect()
}
