//! Spans as OTLP says them in JSON: identifiers in hexadecimal, 64-bit numbers as texts, enums as numbers.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value as Json, json};

use crate::trace::{Kind, Span, Value};

/// The body of one request to a collector.
pub(super) fn body(service: &str, spans: &[Span]) -> Vec<u8> {
    let text = |text: &str| Value::Text(text.to_owned());
    let resource = [("service.name", text(service)), ("service.version", text(env!("CARGO_PKG_VERSION")))];
    let scope = json!({ "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") });
    let spans: Vec<_> = spans.iter().map(span).collect();
    json!({ "resourceSpans": [{
        "resource": { "attributes": attributes(&resource) },
        "scopeSpans": [{ "scope": scope, "spans": spans }],
    }] })
    .to_string()
    .into_bytes()
}

fn span(span: &Span) -> Json {
    let kind = match span.kind {
        Kind::Internal => 1,
        Kind::Server => 2,
    };
    let mut said = attributes(&span.said);
    said.extend(span.error.iter().map(|error| attribute("error.type", &Value::Text(error.clone()))));
    // 1: sampled; 256: whether the parent is another process's is known; 512: it is.
    let flags = 1 | 256 | if span.is_parent_remote() { 512 } else { 0 };
    let status = if span.error.is_some() { json!({ "code": 2 }) } else { json!({}) };
    let mut json = json!({
        "traceId": span.trace(), "spanId": span.id(), "flags": flags, "name": span.name, "kind": kind,
        "startTimeUnixNano": nanos(span.began), "endTimeUnixNano": nanos(span.ended),
        "attributes": said, "status": status,
    });
    if let Some(parent) = span.parent() {
        json["parentSpanId"] = parent.into();
    }
    if let Some(state) = span.state() {
        json["traceState"] = state.into();
    }
    json
}

fn attributes(said: &[(&'static str, Value)]) -> Vec<Json> {
    said.iter().map(|(key, value)| attribute(key, value)).collect()
}

fn attribute(key: &str, value: &Value) -> Json {
    let value = match value {
        Value::Text(text) => json!({ "stringValue": text }),
        Value::Number(number) => json!({ "intValue": number.to_string() }),
    };
    json!({ "key": key, "value": value })
}

fn nanos(at: SystemTime) -> String {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}
