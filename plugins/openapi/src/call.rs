//! A call of an operation: the request from the arguments of a tool, and its result from the response.

use std::borrow::Cow;

use larder_provider::http::{Request, Response};
use larder_provider::{Block, Body as Content, EmbeddedResource, Error, Result, ToolResult};
use larder_web::{Client, PathTemplate, encode_value, media_type};
use serde_json::{Map, Value, json};

use crate::operation::{Body, Inputs, Operation, Parameter, Place};

/// The maximum length of an error of the API in a result.
const MAX_ERROR: usize = 4000;
/// The maximum size of a structured result. The host accepts 1 MiB.
const MAX_STRUCTURED: usize = 1_000_000;

/// Calls an operation. An error response is a result too, so that the model can correct its arguments.
pub(crate) fn call(
    client: &Client,
    operation: &Operation,
    inputs: &Inputs,
    arguments: &Map<String, Value>,
    is_structured: bool,
) -> Result<ToolResult<Value>> {
    let url = url(client, operation, inputs, arguments)?;
    let headers = headers(inputs, arguments)?;
    let prepare = |request| {
        headers
            .iter()
            .fold(request, |request: Request, (name, value)| {
                request.header(name, value)
            })
    };
    let response = match operation.method.as_str() {
        "GET" => client.follow(&url, prepare)?,
        method => {
            let request = prepare(client.request(method, &url));
            let body = inputs
                .body
                .as_ref()
                .and_then(|body| Some((body, arguments.get(body.argument)?)));
            client.send(&match body {
                Some((body, value)) => request
                    .header("content-type", &body.media_type)
                    .body(encode_body(body, value)?),
                None => request,
            })?
        }
    };
    Ok(result(response, &url, is_structured))
}

/// The URL of the operation. No argument can lead to another path.
fn url(
    client: &Client,
    operation: &Operation,
    inputs: &Inputs,
    arguments: &Map<String, Value>,
) -> Result<String> {
    let value = |name: &str| {
        let parameter = inputs
            .parameters
            .iter()
            .find(|it| it.place == Place::Path && it.name == name);
        let value = parameter.and_then(|it| arguments.get(&it.argument));
        Ok(Cow::Owned(value.map(join).ok_or_else(|| {
            Error::Invalid(format!("`{name}` is missing"))
        })?))
    };
    let path = PathTemplate::parse(&operation.path)?.expand(value)?;
    let mut query = String::new();
    for parameter in inputs
        .parameters
        .iter()
        .filter(|it| it.place == Place::Query)
    {
        for (name, value) in pairs(parameter, arguments.get(&parameter.argument)) {
            query.push(if query.is_empty() { '?' } else { '&' });
            query.push_str(&format!("{}={value}", encode_value(&name)));
        }
    }
    client
        .base
        .join(&path, &query)
        .ok_or_else(|| Error::invalid("the arguments make the URL too long"))
}

fn headers(inputs: &Inputs, arguments: &Map<String, Value>) -> Result<Vec<(String, String)>> {
    let parameters = inputs
        .parameters
        .iter()
        .filter(|it| it.place == Place::Header);
    let header = |it: &Parameter| Some((it.name.clone(), join(arguments.get(&it.argument)?)));
    let headers: Vec<_> = parameters.filter_map(header).collect();
    Client::check_headers(&headers).map_err(Error::invalid)?;
    Ok(headers)
}

/// The pairs of the query for a value, by the style of its parameter. The values are encoded.
fn pairs(parameter: &Parameter, value: Option<&Value>) -> Vec<(String, String)> {
    let name = || parameter.name.clone();
    let encode_all = |items: &mut dyn Iterator<Item = String>, separator: &str| {
        items
            .map(|item| encode_value(&item))
            .collect::<Vec<_>>()
            .join(separator)
    };
    match value {
        None | Some(Value::Null) => Vec::new(),
        Some(value) if parameter.is_json => vec![(name(), encode_value(&value.to_string()))],
        Some(Value::Array(items)) if parameter.is_exploded => items
            .iter()
            .map(|item| (name(), encode_value(&text(item))))
            .collect(),
        Some(Value::Array(items)) => {
            let separator = match parameter.style.as_str() {
                "spaceDelimited" => "%20",
                "pipeDelimited" => "%7C",
                _ => ",",
            };
            vec![(name(), encode_all(&mut items.iter().map(text), separator))]
        }
        Some(Value::Object(map)) if parameter.style == "deepObject" => map
            .iter()
            .map(|(key, value)| {
                (
                    format!("{}[{key}]", parameter.name),
                    encode_value(&text(value)),
                )
            })
            .collect(),
        Some(Value::Object(map)) if parameter.is_exploded => map
            .iter()
            .map(|(key, value)| (key.clone(), encode_value(&text(value))))
            .collect(),
        Some(Value::Object(map)) => {
            let mut items = map
                .iter()
                .flat_map(|(key, value)| [key.clone(), text(value)]);
            vec![(name(), encode_all(&mut items, ","))]
        }
        Some(value) => vec![(name(), encode_value(&text(value)))],
    }
}

/// A value in a path or a header: the style `simple`.
fn join(value: &Value) -> String {
    match value {
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(","),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| format!("{key},{}", text(value)))
            .collect::<Vec<_>>()
            .join(","),
        value => text(value),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

fn encode_body(body: &Body, value: &Value) -> Result<Vec<u8>> {
    let encoded = match (body.media_type.as_str(), value) {
        ("application/x-www-form-urlencoded", Value::Object(map)) => {
            let pairs: Vec<_> = map
                .iter()
                .map(|(key, value)| (key.as_str(), text(value)))
                .collect();
            let query = larder_web::query(pairs.iter().map(|(key, value)| (*key, value.as_str())));
            query.trim_start_matches('?').to_owned()
        }
        ("application/x-www-form-urlencoded", _) => {
            return Err(Error::invalid("`body` must be an object"));
        }
        (media_type, Value::String(text)) if media_type.starts_with("text/") => text.clone(),
        (_, value) => value.to_string(),
    };
    Ok(encoded.into_bytes())
}

fn result(response: Response, url: &str, is_structured: bool) -> ToolResult<Value> {
    let (status, is_json) = (response.status, is_json(&response));
    if !(200..300).contains(&status) {
        let body: String = String::from_utf8_lossy(&response.body)
            .chars()
            .take(MAX_ERROR)
            .collect();
        return ToolResult::error(
            format!("The API responds with status {status}.\n\n{body}").trim_end(),
        );
    }
    let body: Option<Value> = is_json
        .then(|| serde_json::from_slice(&response.body).ok())
        .flatten();
    let body = body.filter(|_| response.body.len() <= MAX_STRUCTURED);
    let structured = is_structured.then(|| match body {
        Some(body) => json!({ "status": status, "body": body }),
        None => json!({ "status": status }),
    });
    let content = match response.body.is_empty() {
        true => Block::text(format!("The API responds with status {status}.")),
        false => block(response, url),
    };
    ToolResult {
        content: vec![content],
        structured,
        is_error: false,
        metadata: Vec::new(),
    }
}

fn is_json(response: &Response) -> bool {
    media_type(response).is_some_and(|mime| mime == "application/json" || mime.ends_with("+json"))
}

fn block(response: Response, url: &str) -> Block {
    let content = larder_web::content(response, None);
    let mime = content.mime_type.unwrap_or_default();
    match content.body {
        Content::Text(text) => Block::text(text),
        Content::Blob(bytes) if mime.starts_with("image/") => Block::image(mime, bytes),
        Content::Blob(bytes) if mime.starts_with("audio/") => Block::audio(mime, bytes),
        Content::Blob(bytes) => EmbeddedResource::blob(url, bytes).mime(mime).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(style: &str, is_exploded: bool) -> Parameter {
        Parameter {
            name: "a".into(),
            argument: "a".into(),
            place: Place::Query,
            is_required: false,
            description: String::new(),
            schema: json!({}),
            style: style.into(),
            is_exploded,
            is_json: false,
        }
    }

    #[test]
    fn values_follow_the_style() {
        let check = |style: &str, is_exploded: bool, value: Value, expected: &str| {
            let pairs = pairs(&parameter(style, is_exploded), Some(&value));
            let text: Vec<_> = pairs
                .into_iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            assert_eq!(text.join("&"), expected, "{style} {is_exploded} {value}");
        };
        check("form", true, json!("x&y=z"), "a=x%26y%3Dz");
        check("form", true, json!(["1", 2]), "a=1&a=2");
        check("form", false, json!(["1,5", 2]), "a=1%2C5,2");
        check("spaceDelimited", false, json!([1, 2]), "a=1%202");
        check("pipeDelimited", false, json!([1, 2]), "a=1%7C2");
        check("deepObject", true, json!({ "k": "v w" }), "a[k]=v%20w");
        check("form", true, json!({ "k": true }), "k=true");
        check("form", false, json!({ "k": 1 }), "a=k,1");
        check("form", true, Value::Null, "");
    }

    #[test]
    fn an_error_of_the_api_is_for_the_model() {
        let response = |status: u16, mime: &str, body: &str| Response {
            status,
            headers: vec![("content-type".into(), mime.into())],
            body: body.into(),
        };
        let failed = result(response(422, "text/plain", "no `name`"), "https://x", true);
        assert_eq!(
            failed,
            ToolResult::error("The API responds with status 422.\n\nno `name`")
        );
        let done = result(response(200, "application/json", "[1]"), "https://x", true);
        assert_eq!(
            (done.structured, done.content),
            (
                Some(json!({ "status": 200, "body": [1] })),
                vec![Block::text("[1]")]
            )
        );
        let empty = result(response(204, "", ""), "https://x", false);
        assert_eq!(
            (empty.structured, empty.content),
            (None, vec![Block::text("The API responds with status 204.")])
        );
        let image = result(response(200, "image/png", "x"), "https://x", false);
        assert_eq!(image.content, [Block::image("image/png", "x")]);
    }
}
