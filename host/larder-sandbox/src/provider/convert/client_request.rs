//! Checks the parameters of requests to the client, which shows them to a person or to a model. The checks are as
//! strict as the checks of the strictest client. So a request that a strict client would reject, or that would be
//! dangerous for a client without checks, is an error of the provider.

use serde_json::{Map, Value};

use larder_model::input::InputMethod;
use larder_model::uri::Uri;

/// Maximum bytes of a message to a person.
const MAX_MESSAGE: usize = 16 << 10;
/// Maximum bytes of the address of a page.
const MAX_URL: usize = 4 << 10;
/// Maximum bytes of the id of a page.
const MAX_ID: usize = 256;
/// Maximum number of fields of a form.
const MAX_FIELDS: usize = 100;

/// Members of the schemas of all fields.
const COMMON: &[&str] = &["type", "title", "description", "default"];
const STRING: &[&str] = &[
    "minLength",
    "maxLength",
    "format",
    "enum",
    "enumNames",
    "oneOf",
];
/// The protocol does not define `format` for numbers. Clients ignore it, and generators of schemas write it.
const NUMBER: &[&str] = &["minimum", "maximum", "format"];
const CHOICES: &[&str] = &["minItems", "maxItems", "items"];
const STRING_FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// What the schema of a form may have.
const SCHEMA_MEMBERS: [&str; 7] = [
    "$schema",
    "type",
    "title",
    "description",
    "properties",
    "required",
    "additionalProperties",
];

type Object = Map<String, Value>;

/// Returns why a client must not get this request; none if the client may get it.
pub(super) fn check(method: InputMethod, params: &Object) -> Result<(), &'static str> {
    match method {
        InputMethod::Elicitation => check_elicitation(params),
        InputMethod::Sampling => check_sampling(params),
        InputMethod::Roots => check_members(params, &[]),
    }
}

fn check_elicitation(params: &Object) -> Result<(), &'static str> {
    if !text_of(params, "message").is_some_and(is_message) {
        return Err("its `message` is missing, too long or has control characters");
    }
    match params.get("mode").map(Value::as_str) {
        None | Some(Some("form")) => check_form(params),
        Some(Some("url")) => check_page(params),
        Some(_) => Err("its `mode` is neither `form` nor `url`"),
    }
}

/// A message may have several lines.
fn is_message(text: &str) -> bool {
    let is_allowed = |c: char| matches!(c, '\n' | '\t') || !c.is_control();
    (1..=MAX_MESSAGE).contains(&text.len()) && text.chars().all(is_allowed)
}

fn check_page(params: &Object) -> Result<(), &'static str> {
    check_members(params, &["mode", "message", "url", "elicitationId"])?;
    if !text_of(params, "url").is_some_and(is_page) {
        return Err(
            "its `url` is not a URL with `https`, without credentials and of at most 4 KiB",
        );
    }
    if params.get("elicitationId").is_none_or(is_id) {
        Ok(())
    } else {
        Err("its `elicitationId` is not a short text without control characters")
    }
}

fn is_id(id: &Value) -> bool {
    id.as_str().is_some_and(|id| is_word(id, MAX_ID))
}

fn is_page(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("https://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // People may take the text before an `@` for the host.
    let has_plain_host = !authority.is_empty() && !authority.contains('@');
    has_plain_host && url.len() <= MAX_URL && Uri::parse(url).is_ok_and(|uri| uri.is_portable())
}

fn is_word(text: &str, max: usize) -> bool {
    (1..=max).contains(&text.len()) && !text.chars().any(char::is_control)
}

fn check_form(params: &Object) -> Result<(), &'static str> {
    check_members(params, &["mode", "message", "requestedSchema"])?;
    let schema =
        object(params.get("requestedSchema")).ok_or("its `requestedSchema` is not an object")?;
    check_members(schema, &SCHEMA_MEMBERS)?;
    let fields = object(schema.get("properties")).filter(|_| is(schema, "type", "object"));
    let fields =
        fields.ok_or("its `requestedSchema` is not that of an object with `properties`")?;
    if fields.len() > MAX_FIELDS {
        return Err("its form has more than 100 fields");
    }
    let required = schema.get("required");
    if !required.is_none_or(|required| are_names_of(fields, required)) {
        return Err("its form requires a field that it does not have");
    }
    if are_form_fields(fields) {
        Ok(())
    } else {
        Err("a field of its form is neither a text, a number, a boolean nor a choice of texts")
    }
}

fn are_form_fields(fields: &Object) -> bool {
    let mut fields = fields.iter();
    fields.all(|(name, field)| is_word(name, MAX_ID) && is_form_field(field))
}

fn are_names_of(fields: &Object, names: &Value) -> bool {
    let is_field = |name: &Value| name.as_str().is_some_and(|name| fields.contains_key(name));
    names
        .as_array()
        .is_some_and(|names| names.iter().all(is_field))
}

fn is_form_field(field: &Value) -> bool {
    let Some(field) = object(Some(field)) else {
        return false;
    };
    let (own, is_default): (&[&str], fn(&Value) -> bool) = match text_of(field, "type") {
        Some("string") => (STRING, Value::is_string),
        Some("number") => (NUMBER, Value::is_number),
        Some("integer") => (NUMBER, |value| value.is_i64() || value.is_u64()),
        Some("boolean") => (&[], Value::is_boolean),
        Some("array") if field.contains_key("items") => (CHOICES, is_texts),
        _ => return false,
    };
    let is_text = is(field, "type", "string");
    field.iter().all(|(name, value)| match name.as_str() {
        name if !COMMON.contains(&name) && !own.contains(&name) => false,
        "title" | "description" => value.is_string(),
        "default" => is_default(value),
        "minimum" | "maximum" => value.is_number(),
        "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_u64(),
        "format" if is_text => is_string_format(value),
        "format" => value.is_string(),
        "enum" | "enumNames" => is_texts(value),
        "oneOf" => has_titles(value),
        "items" => has_choices(value),
        _ => true,
    })
}

fn has_choices(items: &Value) -> bool {
    let Some(items) = object(Some(items)) else {
        return false;
    };
    let mut members = items.iter();
    members.all(|(name, value)| is_choice_member(name, value))
        && (items.contains_key("enum") || items.contains_key("anyOf"))
}

fn is_choice_member(name: &str, value: &Value) -> bool {
    match name {
        "type" => value == "string",
        "enum" => is_texts(value),
        "anyOf" => has_titles(value),
        _ => false,
    }
}

fn has_titles(choices: &Value) -> bool {
    choices
        .as_array()
        .is_some_and(|choices| choices.iter().all(has_title))
}

fn has_title(choice: &Value) -> bool {
    let texts = object(Some(choice)).filter(|choice| choice.len() == 2);
    texts.is_some_and(|choice| is_text_of(choice, "const") && is_text_of(choice, "title"))
}

fn check_sampling(params: &Object) -> Result<(), &'static str> {
    let messages = params
        .get("messages")
        .and_then(Value::as_array)
        .filter(|all| !all.is_empty());
    if !messages.is_some_and(|messages| messages.iter().all(is_sampling_message)) {
        return Err("its `messages` are missing or invalid");
    }
    if params.get("maxTokens").is_some_and(Value::is_u64) {
        Ok(())
    } else {
        Err("its `maxTokens` is missing or invalid")
    }
}

fn is_sampling_message(message: &Value) -> bool {
    let mut roles = ["user", "assistant"].iter();
    roles.any(|role| message["role"] == *role) && is_sampling_content(&message["content"])
}

fn is_sampling_content(content: &Value) -> bool {
    content.is_object() || content.as_array().is_some_and(|all| !all.is_empty())
}

/// Checks that an object has no members except these and metadata.
fn check_members(object: &Object, known: &[&str]) -> Result<(), &'static str> {
    let is_known = |(name, value): (&String, &Value)| match name.as_str() {
        "_meta" => value.is_object(),
        name => known.contains(&name),
    };
    if object.iter().all(is_known) {
        Ok(())
    } else {
        Err("it has a member that the protocol does not define")
    }
}

fn object(value: Option<&Value>) -> Option<&Object> {
    value.and_then(Value::as_object)
}

fn is(object: &Object, member: &str, expected: &str) -> bool {
    object.get(member).is_some_and(|value| value == expected)
}

fn is_string_format(format: &Value) -> bool {
    let format = format.as_str();
    format.is_some_and(|format| STRING_FORMATS.contains(&format))
}

fn text_of<'v>(object: &'v Object, member: &str) -> Option<&'v str> {
    object.get(member).and_then(Value::as_str)
}

fn is_text_of(object: &Object, member: &str) -> bool {
    object.get(member).is_some_and(Value::is_string)
}

fn is_texts(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|values| values.iter().all(Value::is_string))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check_that(is_valid: bool, method: InputMethod, params: &Value) {
        let checked = check(method, params.as_object().unwrap());
        assert_eq!(checked.is_ok(), is_valid, "{params}: {checked:?}");
    }

    #[test]
    fn a_page_has_an_https_url() {
        let page = |url: &str| json!({ "mode": "url", "message": "Sign in", "url": url });
        for good in [
            "https://example.com",
            "https://example.com:8443/a?b=c#d",
            "https://xn--bcher-kva.example/",
        ] {
            check_that(true, InputMethod::Elicitation, &page(good));
        }
        let long = format!("https://example.com/{}", "x".repeat(MAX_URL));
        for bad in [
            "",
            "x",
            "//x",
            "https:",
            "https://",
            "https:///x",
            "https://?x",
            "http://example.com",
            "http://127.0.0.1:7879/",
            "HTTPS://example.com",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "data:text/html,x",
            "https://bank.example@evil.example/",
            "https://a:b@c.example",
            "https://example.com/\r\nx",
            "https://example.com/\u{202e}",
            "https://exa mple.com",
            "https://a\\@b",
            " https://example.com",
            "https://example.com:99999",
            &long,
        ] {
            check_that(false, InputMethod::Elicitation, &page(bad));
        }
        for (member, value) in [
            ("url", json!(1)),
            ("elicitationId", json!("a\nb")),
            ("more", json!(1)),
        ] {
            let mut changed = page("https://example.com");
            changed[member] = value;
            check_that(false, InputMethod::Elicitation, &changed);
        }
    }

    #[test]
    fn a_form_has_a_message_and_a_flat_schema() {
        let form = |properties: Value| {
            let schema = json!({ "type": "object", "properties": properties });
            json!({ "message": "Which?", "requestedSchema": schema })
        };
        let titled = json!([{ "const": "a", "title": "A" }]);
        for good in [
            json!({}),
            json!({ "type": "string", "minLength": 1, "maxLength": 9, "format": "email", "default": "a" }),
            json!({ "type": "integer", "minimum": 1, "maximum": 9, "default": 2, "format": "uint32" }),
            json!({ "type": "number", "title": "N", "description": "n" }),
            json!({ "type": "boolean", "default": true }),
            json!({ "type": "string", "enum": ["a"], "enumNames": ["A"] }),
            json!({ "type": "string", "oneOf": titled }),
            json!({ "type": "array", "minItems": 1, "items": { "type": "string", "enum": ["a"] }, "default": ["a"] }),
            json!({ "type": "array", "items": { "anyOf": titled } }),
        ] {
            let fields = if good == json!({}) {
                good
            } else {
                json!({ "field": good })
            };
            check_that(true, InputMethod::Elicitation, &form(fields));
        }
        for bad in [
            json!(true),
            json!({}),
            json!({ "type": "object", "properties": {} }),
            json!({ "type": "array", "items": { "type": "object" } }),
            json!({ "type": "array", "items": { "type": "string" } }),
            json!({ "type": "array" }),
            json!({ "type": ["string", "null"] }),
            json!({ "type": "null" }),
            json!({ "type": "string", "$ref": "#" }),
            json!({ "type": "string", "pattern": "(a+)+" }),
            json!({ "type": "string", "format": "password" }),
            json!({ "type": "string", "default": 1 }),
            json!({ "type": "integer", "default": 1.5 }),
            json!({ "type": "string", "oneOf": [{ "const": "a", "title": "A", "not": {} }] }),
            json!({ "anyOf": [{ "type": "string" }] }),
        ] {
            check_that(
                false,
                InputMethod::Elicitation,
                &form(json!({ "field": bad })),
            );
        }
        check_that(
            false,
            InputMethod::Elicitation,
            &form(json!({ "a\r\nb": { "type": "string" } })),
        );
    }

    #[test]
    fn required_members_are_there() {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] });
        let form = json!({ "mode": "form", "message": "One\ntwo", "requestedSchema": schema, "_meta": {} });
        check_that(true, InputMethod::Elicitation, &form);
        for (member, value) in [
            ("mode", json!("page")),
            ("mode", json!(1)),
            ("message", json!("")),
            ("message", json!("a\u{1b}[2J")),
            ("message", json!("x".repeat(MAX_MESSAGE + 1))),
            ("requestedSchema", json!({ "type": "object" })),
            ("requestedSchema", json!({ "properties": {} })),
            (
                "requestedSchema",
                json!({ "type": "object", "properties": {}, "required": ["a"] }),
            ),
            (
                "requestedSchema",
                json!({ "type": "object", "properties": {}, "$defs": {} }),
            ),
            ("url", json!("https://example.com")),
            ("_meta", json!(1)),
        ] {
            let mut changed = form.clone();
            changed[member] = value;
            check_that(false, InputMethod::Elicitation, &changed);
        }
        check_that(false, InputMethod::Elicitation, &json!({}));
        check_that(
            false,
            InputMethod::Elicitation,
            &json!({ "message": "Who are you?" }),
        );
        let message = json!({ "role": "user", "content": { "type": "text", "text": "Hello" } });
        check_that(
            true,
            InputMethod::Sampling,
            &json!({ "messages": [message], "maxTokens": 9 }),
        );
        for bad in [
            json!({}),
            json!({ "messages": [], "maxTokens": 9 }),
            json!({ "messages": [message] }),
        ] {
            check_that(false, InputMethod::Sampling, &bad);
        }
        check_that(true, InputMethod::Roots, &json!({ "_meta": {} }));
        check_that(false, InputMethod::Roots, &json!({ "uri": "file:///" }));
    }
}
