//! JSON-RPC messages of a client.

use std::ops::ControlFlow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::era::Era;
use super::error::{ClientError, RpcError};
use super::results::{Answer, Progress};

/// The key of a version in `_meta`. In a read request it has the version that the client has, in the result the current
/// version.
pub(super) const VERSION_KEY: &str = "dev.larder/version";
/// The error code with which a Larder server reports that the client has the current version.
pub(super) const NOT_MODIFIED: i64 = -31001;

/// A callback for the messages that arrive before an answer. `Break` cancels the request.
pub(super) type OnMessage<'a> = &'a mut (dyn FnMut(&ServerMessage) -> ControlFlow<()> + Send);

pub(super) fn ignore_message(_: &ServerMessage) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Returns the parameter that the `mcp-name` header repeats, if the method has one.
pub(super) fn header_name(method: &str, params: &Map<String, Value>) -> Option<String> {
    let key = match method {
        "resources/read" => "uri",
        "prompts/get" | "tools/call" => "name",
        _ => return None,
    };
    params.get(key)?.as_str().map(str::to_owned)
}

/// A message to the server. HTTP headers repeat its method and name.
#[derive(Debug)]
pub(super) struct ClientMessage<'a> {
    pub(super) id: Option<u64>,
    pub(super) method: &'a str,
    pub(super) name: Option<&'a str>,
    pub(super) body: String,
}

impl<'a> ClientMessage<'a> {
    pub(super) fn request(
        id: u64,
        era: Era,
        method: &'a str,
        mut params: Value,
        name: Option<&'a str>,
    ) -> Self {
        add_meta(&mut params, era);
        let body =
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
        Self {
            id: Some(id),
            method,
            name,
            body,
        }
    }

    pub(super) fn notification(method: &'a str, params: Option<Value>) -> Self {
        let mut body = json!({ "jsonrpc": "2.0", "method": method });
        if let Some(params) = params {
            body["params"] = params;
        }
        Self {
            id: None,
            method,
            name: None,
            body: body.to_string(),
        }
    }

    /// The notification that cancels a request.
    pub(super) fn cancellation(id: u64) -> Self {
        Self::notification("notifications/cancelled", Some(json!({ "requestId": id })))
    }
}

/// Adds the entries of `_meta` that each request needs.
fn add_meta(params: &mut Value, era: Era) {
    if let Some(mut metadata) = era.metadata() {
        if let Value::Object(own) = params["_meta"].take() {
            metadata.extend(own);
        }
        params["_meta"] = metadata.into();
    }
}

/// A notification from the server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Notification {
    /// The method.
    pub method: String,
    /// The parameters. Null if there are none.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub params: Value,
}

/// A message from the server.
#[derive(Debug, Deserialize)]
pub(super) struct ServerMessage {
    id: Option<Value>,
    pub(super) method: Option<String>,
    #[serde(default)]
    pub(super) params: Value,
    result: Option<Box<RawValue>>,
    error: Option<RpcError>,
}

impl ServerMessage {
    pub(super) fn parse(text: &[u8]) -> Result<Self, ClientError> {
        serde_json::from_slice(text).map_err(|error| ClientError::NotMcp(error.to_string()))
    }

    /// Returns whether this is the answer to a request. An error without an id is an answer to any request.
    pub(super) fn answers(&self, id: Option<u64>) -> bool {
        let is_match = match &self.id {
            Some(answered) => answered.as_u64() == id,
            None => self.error.is_some(),
        };
        self.method.is_none() && is_match
    }

    /// Returns whether this is an answer or a progress report.
    pub(super) fn belongs_to_a_request(&self) -> bool {
        self.method
            .as_deref()
            .is_none_or(|method| method == "notifications/progress")
    }

    /// Returns the notification, if the message is a notification that belongs to no request.
    pub(super) fn notification(self) -> Option<Notification> {
        let method = self
            .method
            .filter(|method| self.id.is_none() && method != "notifications/progress")?;
        Some(Notification {
            method,
            params: self.params,
        })
    }

    /// Returns the message of an error.
    pub(super) fn error_message(self) -> Option<String> {
        self.error.map(|error| error.message)
    }

    /// Returns the progress report, if the message is a progress report with this token.
    pub(super) fn progress(&self, token: u64) -> Option<Progress> {
        let is_match = self.params["progressToken"].as_u64() == Some(token);
        if !is_match || self.method.as_deref() != Some("notifications/progress") {
            return None;
        }
        serde_json::from_value(self.params.clone()).ok()
    }

    /// Returns the reply, if the message is a request of the server.
    pub(super) fn reply(&self) -> Option<String> {
        let id = self.id.as_ref()?;
        let method = self.method.as_deref()?;
        let reply = match method {
            "ping" => json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
            _ => {
                let message = "this client does not support requests from servers";
                let error = json!({ "code": -32601, "message": message });
                json!({ "jsonrpc": "2.0", "id": id, "error": error })
            }
        };
        Some(reply.to_string())
    }

    /// Deserializes the result of a method that requires no input.
    pub(super) fn result<T: DeserializeOwned>(self, method: &str) -> Result<T, ClientError> {
        match self.answer(method)? {
            Answer::Complete(result) => Ok(result),
            Answer::InputRequired(_) => {
                let why = format!("{method} requires input, which this client does not support");
                Err(ClientError::NotMcp(why))
            }
        }
    }

    /// Deserializes the result of a method, or the requests for input that the server sends instead.
    pub(super) fn answer<T: DeserializeOwned>(
        self,
        method: &str,
    ) -> Result<Answer<T>, ClientError> {
        #[derive(Deserialize)]
        struct Kind {
            #[serde(rename = "resultType")]
            result_type: Option<String>,
        }
        if let Some(error) = self.error {
            return Err(ClientError::Rpc(error));
        }
        let result = self
            .result
            .ok_or_else(|| ClientError::NotMcp("neither a result nor an error".into()))?;
        let invalid = |error: serde_json::Error| {
            ClientError::NotMcp(format!("in the result of {method}: {error}"))
        };
        let kind: Kind = serde_json::from_str(result.get()).map_err(invalid)?;
        let answer = match kind.result_type.as_deref() {
            None | Some("complete") => serde_json::from_str(result.get()).map(Answer::Complete),
            Some(_) => serde_json::from_str(result.get()).map(Answer::InputRequired),
        };
        answer.map_err(invalid)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::results::{Page, Resource};

    fn check(answer: &str, expected: Expect) {
        let result = ServerMessage::parse(answer.as_bytes())
            .and_then(|m| m.result::<Page<Resource>>("resources/list"));
        let shown = match result {
            Ok(page) => json!([page.items, page.next_cursor, page.rest]).to_string(),
            Err(error) => format!("error: {error}"),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn keeps_unknown_fields() {
        check(
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","resources":[{"uri":"a:b","name":"b","size":3,
                "_meta":{"x":[1.5,null]}}],"nextCursor":"","ttlMs":5}}"#,
            expect![[
                r#"[[{"_meta":{"x":[1.5,null]},"name":"b","size":3,"uri":"a:b"}],"",{"resultType":"complete","ttlMs":5}]"#
            ]],
        );
    }

    #[test]
    fn reports_errors_and_invalid_answers() {
        check(
            r#"{"id":1,"error":{"code":-32602,"message":"bad cursor","data":{}}}"#,
            expect!["error: the server returned an error: bad cursor (-32602)"],
        );
        check(
            r#"{"id":1,"result":{"resultType":"input_required","inputRequests":{}}}"#,
            expect![
                "error: the server's answer is not valid MCP: resources/list requires input, which this client does not support"
            ],
        );
        check(
            r#"{"id":1,"result":{"resources":[{}]}}"#,
            expect![
                "error: the server's answer is not valid MCP: in the result of resources/list: missing field `uri` at line 1 column 16"
            ],
        );
        check(
            r#"{"id":1}"#,
            expect!["error: the server's answer is not valid MCP: neither a result nor an error"],
        );
        check(
            "<html>",
            expect![
                "error: the server's answer is not valid MCP: expected value at line 1 column 1"
            ],
        );
    }

    #[test]
    fn replies_to_requests_of_the_server() {
        let reply = |text: &str| ServerMessage::parse(text.as_bytes()).unwrap().reply();
        assert_eq!(
            reply(r#"{"id":"x","method":"ping"}"#).unwrap(),
            r#"{"id":"x","jsonrpc":"2.0","result":{}}"#
        );
        assert!(
            reply(r#"{"id":1,"method":"sampling/createMessage"}"#)
                .unwrap()
                .contains("-32601")
        );
        assert_eq!(reply(r#"{"method":"notifications/message"}"#), None);
        let ping = ServerMessage::parse(br#"{"id":1,"method":"ping"}"#).unwrap();
        assert!(!ping.answers(Some(1)), "a request is not an answer");
    }
}
