//! Encodes spans as OTLP JSON: IDs in hexadecimal, 64-bit numbers as strings, enums as numbers.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value as Json, json};

use larder_model::trace::{AttributeValue, SpanData, SpanKind};

/// Returns the body of one export request.
pub(super) fn body(service: &str, spans: &[SpanData]) -> Vec<u8> {
    let text = |text: &str| AttributeValue::Text(text.to_owned());
    let resource = [
        ("service.name", text(service)),
        ("service.version", text(env!("CARGO_PKG_VERSION"))),
    ];
    let scope = json!({ "name": "larder", "version": env!("CARGO_PKG_VERSION") });
    let spans: Vec<_> = spans.iter().map(span).collect();
    json!({ "resourceSpans": [{
        "resource": { "attributes": attributes(&resource) },
        "scopeSpans": [{ "scope": scope, "spans": spans }],
    }] })
    .to_string()
    .into_bytes()
}

fn span(span: &SpanData) -> Json {
    let mut all = attributes(&span.attributes);
    all.extend(
        span.error
            .iter()
            .map(|error| attribute("error.type", &AttributeValue::Text(error.clone()))),
    );
    let mut json = json!({
        "traceId": span.trace_id(), "spanId": span.span_id(), "flags": flags(span), "name": span.name,
        "kind": kind(span), "startTimeUnixNano": nanos(span.started), "endTimeUnixNano": nanos(span.ended),
        "attributes": all, "status": status(span),
    });
    if let Some(parent) = span.parent_id() {
        json["parentSpanId"] = parent.into();
    }
    if let Some(state) = span.tracestate() {
        json["traceState"] = state.into();
    }
    json
}

fn flags(span: &SpanData) -> i32 {
    // 1: sampled. 256: bit 512 is valid. 512: the parent is in another process.
    1 | 256 | if span.is_parent_remote() { 512 } else { 0 }
}

fn kind(span: &SpanData) -> i32 {
    match span.kind {
        SpanKind::Internal => 1,
        SpanKind::Server => 2,
    }
}

fn status(span: &SpanData) -> Json {
    if span.error.is_some() {
        json!({ "code": 2 })
    } else {
        json!({})
    }
}

fn attributes(attributes: &[(&'static str, AttributeValue)]) -> Vec<Json> {
    attributes
        .iter()
        .map(|(key, value)| attribute(key, value))
        .collect()
}

fn attribute(key: &str, value: &AttributeValue) -> Json {
    let value = match value {
        AttributeValue::Text(text) => json!({ "stringValue": text }),
        AttributeValue::Number(number) => json!({ "intValue": number.to_string() }),
    };
    json!({ "key": key, "value": value })
}

fn nanos(at: SystemTime) -> String {
    at.duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos()
        .to_string()
}
