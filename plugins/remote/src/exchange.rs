//! One request to the server, and its response: JSON, or the events of a stream.

use larder_provider::http::{Request, Response};
use larder_provider::{Error, Result, time_left};
use serde_json::Value;

use crate::settings::Settings;

/// The id of all requests. Each request is sent alone, so all requests can have the same id.
pub(crate) const ID: u64 = 1;

/// The answer of the server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Result(Value),
    /// A JSON-RPC error.
    Error {
        code: i64,
        message: String,
        data: Value,
    },
    /// No JSON-RPC message, with this status.
    Other(u16),
}

impl Settings {
    /// Sends a message. Returns the answer and the response, whose headers may contain a session.
    pub(crate) fn exchange(
        &self,
        message: &Value,
        headers: &[(&str, &str)],
    ) -> Result<(Answer, Response)> {
        let request = self
            .request("POST", headers)
            .header("content-type", "application/json");
        let response = self.client.send(&request.body(message.to_string()))?;
        let answer = answer(&response);
        match (&answer, response.status) {
            (Answer::Other(_), 401 | 403) => Err(Error::Denied(
                "the MCP server refuses access: check the secrets of this provider".into(),
            )),
            (Answer::Other(status), 408 | 429 | 500..) => Err(Error::Unavailable(format!(
                "the MCP server responds with status {status}"
            ))),
            _ => Ok((answer, response)),
        }
    }

    /// A request to the address of the server, with its credentials.
    pub(crate) fn request(&self, method: &str, headers: &[(&str, &str)]) -> Request {
        // A search has little time. The server may be another Larder, which needs most of this time.
        let most = time_left() - time_left() / 10;
        let request = self
            .client
            .request(method, &self.url)
            .timeout(self.client.timeout.min(most));
        let request = request.header("accept", "application/json, text/event-stream");
        headers.iter().fold(request, |request, (name, value)| {
            request.header(name, value)
        })
    }
}

fn answer(response: &Response) -> Answer {
    let is_stream = larder_web::media_type(response).as_deref() == Some("text/event-stream");
    let message = match is_stream {
        true => std::str::from_utf8(&response.body)
            .ok()
            .and_then(|text| events(text).find(is_answer)),
        false => serde_json::from_slice(&response.body).ok(),
    };
    let Some(message) = message else {
        return Answer::Other(response.status);
    };
    if let Some(error) = message.get("error") {
        let message = error["message"]
            .as_str()
            .unwrap_or("an error without a message");
        return Answer::Error {
            code: error["code"].as_i64().unwrap_or_default(),
            message: message.chars().take(500).collect(),
            data: error["data"].clone(),
        };
    }
    match message.get("result") {
        Some(result) => Answer::Result(result.clone()),
        None => Answer::Other(response.status),
    }
}

/// Whether a message is the response, and not a notification or a request of the server.
fn is_answer(message: &Value) -> bool {
    message["id"] == ID && message.get("method").is_none()
}

/// The messages of an event stream (HTML, "server-sent events").
fn events(text: &str) -> impl Iterator<Item = Value> {
    let mut lines = text
        .trim_start_matches('\u{feff}')
        .split('\n')
        .map(|line| line.trim_end_matches('\r'));
    std::iter::from_fn(move || {
        let mut data = String::new();
        let mut has_ended = true;
        for line in lines.by_ref() {
            has_ended = false;
            if line.is_empty() && !data.is_empty() {
                break;
            }
            if let Some(more) = line.strip_prefix("data:") {
                data.push_str(more.strip_prefix(' ').unwrap_or(more));
                data.push('\n');
            }
        }
        (!has_ended || !data.is_empty()).then_some(data)
    })
    .filter_map(|data| serde_json::from_str(&data).ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn response(status: u16, mime: &str, body: &str) -> Response {
        let headers = vec![("Content-Type".to_owned(), mime.to_owned())];
        Response {
            status,
            headers,
            body: body.into(),
        }
    }

    #[test]
    fn reads_json_and_streams() {
        let result = r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#;
        let check = |mime: &str, body: &str, expected: Answer| {
            assert_eq!(answer(&response(200, mime, body)), expected, "{body}");
        };
        check(
            "application/json",
            result,
            Answer::Result(json!({ "a": 1 })),
        );
        let stream = format!(
            ": hello\r\nid: 7\r\n\r\ndata: {{\"method\":\"notifications/progress\",\"id\":1}}\n\nevent: message\ndata:{result}\n"
        );
        check(
            "text/event-stream; charset=utf-8",
            &stream,
            Answer::Result(json!({ "a": 1 })),
        );
        let split = result.replace(",\"result\"", ",\ndata: \"result\"");
        check(
            "text/event-stream",
            &format!("data: {split}\n\n"),
            Answer::Result(json!({ "a": 1 })),
        );
        for wrong in ["", "data: {\n\n", ":", "\n\n\n"] {
            check("text/event-stream", wrong, Answer::Other(200));
        }
        check("application/json", "[]", Answer::Other(200));
        let error = r#"{"id":1,"error":{"code":-32002,"message":"no"}}"#;
        let expected = Answer::Error {
            code: -32002,
            message: "no".into(),
            data: Value::Null,
        };
        check("application/json", error, expected);
    }
}
