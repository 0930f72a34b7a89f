//! Requests for input that more than one tool or prompt makes.

use larder_provider::InputRequest;
use serde_json::{Value, json};

/// A form with these properties, all of which are required.
pub(crate) fn form(key: &str, message: &str, properties: Value) -> InputRequest {
    let required: Vec<&String> = properties
        .as_object()
        .map(|it| it.keys().collect())
        .unwrap_or_default();
    let schema = json!({ "type": "object", "required": required, "properties": properties });
    let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    InputRequest::new(key, "elicitation/create", params)
}

/// A form with one text.
pub(crate) fn text(key: &str, message: &str, field: &str) -> InputRequest {
    form(key, message, json!({ field: { "type": "string" } }))
}

/// A form with a checkbox.
pub(crate) fn confirmation(message: &str) -> InputRequest {
    form("confirm", message, json!({ "ok": { "type": "boolean" } }))
}

/// A question to the client's model.
pub(crate) fn sample(key: &str, question: &str) -> InputRequest {
    let message = json!({ "role": "user", "content": { "type": "text", "text": question } });
    InputRequest::sample(key, json!({ "messages": [message], "maxTokens": 100 }))
}
