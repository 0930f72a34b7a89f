//! JSON-RPC as a client writes and reads it.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::answer::Progress;
use super::error::{ClientError, Refusal};
use super::greeting::Era;
use super::listen::Notification;

/// In the metadata of a read: the version that is held. In that of its answer: the version that there is.
pub(super) const VERSION_KEY: &str = "dev.larder/version";
/// The error of a server of ours that says that the version held is the current one.
pub(super) const NOT_MODIFIED: i64 = -31001;

/// What HTTP's headers repeat of the parameters of some methods.
pub(super) fn name(method: &str, params: &Map<String, Value>) -> Option<String> {
    let key = match method {
        "resources/read" => "uri",
        "prompts/get" | "tools/call" => "name",
        _ => return None,
    };
    params.get(key)?.as_str().map(str::to_owned)
}

/// A message to the server. Its method and name stand in HTTP headers as well.
#[derive(Debug)]
pub(super) struct Outgoing<'a> {
    pub(super) id: Option<u64>,
    pub(super) method: &'a str,
    pub(super) name: Option<&'a str>,
    pub(super) body: String,
}

impl<'a> Outgoing<'a> {
    pub(super) fn request(
        id: u64,
        era: Era,
        method: &'a str,
        mut params: Value,
        name: Option<&'a str>,
    ) -> Self {
        if let Some(Value::Object(metadata)) = era.metadata() {
            match params.get_mut("_meta").and_then(Value::as_object_mut) {
                Some(own) => own.extend(metadata),
                None => params["_meta"] = Value::Object(metadata),
            }
        }
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
        Self { id: Some(id), method, name, body }
    }

    pub(super) fn notification(method: &'a str, params: Option<Value>) -> Self {
        let mut body = json!({ "jsonrpc": "2.0", "method": method });
        if let Some(params) = params {
            body["params"] = params;
        }
        Self { id: None, method, name: None, body: body.to_string() }
    }

    /// That nobody waits for the answer to a request any more.
    pub(super) fn cancellation(id: u64) -> Self {
        Self::notification("notifications/cancelled", Some(json!({ "requestId": id })))
    }
}

/// A message from the server.
#[derive(Debug, Deserialize)]
pub(super) struct Incoming {
    id: Option<Value>,
    pub(super) method: Option<String>,
    #[serde(default)]
    pub(super) params: Value,
    result: Option<Box<RawValue>>,
    error: Option<Refusal>,
}

impl Incoming {
    pub(super) fn parse(text: &[u8]) -> Result<Self, ClientError> {
        serde_json::from_slice(text).map_err(|error| ClientError::NotMcp(error.to_string()))
    }

    /// Whether this answers the request. An error without an id answers the only one there is.
    pub(super) fn answers(&self, id: Option<u64>) -> bool {
        let to_us = match &self.id {
            Some(answered) => answered.as_u64() == id,
            None => self.error.is_some(),
        };
        self.method.is_none() && to_us
    }

    /// Whether this answers some request, or tells how far one is.
    pub(super) fn is_of_another_request(&self) -> bool {
        self.method.as_deref().is_none_or(|method| method == "notifications/progress")
    }

    /// What the server says without being asked, and of no request.
    pub(super) fn notification(self) -> Option<Notification> {
        let method = self.method.filter(|method| self.id.is_none() && method != "notifications/progress")?;
        Some(Notification { method, params: self.params })
    }

    /// What the server says instead of an answer.
    pub(super) fn refusal(self) -> Option<String> {
        self.error.map(|refusal| refusal.message)
    }

    /// The report, if this is one of the request with this token.
    pub(super) fn progress(&self, token: u64) -> Option<Progress> {
        let ours = self.params["progressToken"].as_u64() == Some(token);
        if !ours || self.method.as_deref() != Some("notifications/progress") {
            return None;
        }
        serde_json::from_value(self.params.clone()).ok()
    }

    /// What to answer if this is a request of the server's.
    pub(super) fn reply(&self) -> Option<String> {
        let (id, method) = (self.id.as_ref()?, self.method.as_deref()?);
        let reply = match method {
            "ping" => json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
            _ => {
                let error = json!({ "code": -32601, "message": "this client only reads" });
                json!({ "jsonrpc": "2.0", "id": id, "error": error })
            }
        };
        Some(reply.to_string())
    }

    /// The result, in the form that is expected of this method.
    pub(super) fn result<T: DeserializeOwned>(self, method: &str) -> Result<T, ClientError> {
        #[derive(Deserialize)]
        struct Kind {
            #[serde(rename = "resultType")]
            result_type: Option<String>,
        }
        if let Some(refusal) = self.error {
            return Err(ClientError::Refused(refusal));
        }
        let result =
            self.result.ok_or_else(|| ClientError::NotMcp("neither a result nor an error".into()))?;
        let wrong =
            |error: serde_json::Error| ClientError::NotMcp(format!("in the result of {method}: {error}"));
        let kind: Kind = serde_json::from_str(result.get()).map_err(wrong)?;
        match kind.result_type.as_deref() {
            None | Some("complete") => serde_json::from_str(result.get()).map_err(wrong),
            Some(_) => {
                Err(ClientError::NotMcp(format!("{method} asks for input, which this client cannot give")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::client::{Page, Resource};

    fn check(answer: &str, expected: Expect) {
        let result =
            Incoming::parse(answer.as_bytes()).and_then(|m| m.result::<Page<Resource>>("resources/list"));
        let shown = match result {
            Ok(page) => json!([page.items, page.next_cursor, page.rest]).to_string(),
            Err(error) => format!("error: {error}"),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn an_answer_keeps_what_it_has_no_name_for() {
        check(
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","resources":[{"uri":"a:b","name":"b","size":3,
                "_meta":{"x":[1.5,null]}}],"nextCursor":"","ttlMs":5}}"#,
            expect![[
                r#"[[{"_meta":{"x":[1.5,null]},"name":"b","size":3,"uri":"a:b"}],"",{"resultType":"complete","ttlMs":5}]"#
            ]],
        );
    }

    #[test]
    fn other_answers_are_errors() {
        check(
            r#"{"id":1,"error":{"code":-32602,"message":"bad cursor","data":{}}}"#,
            expect!["error: the server says: bad cursor (-32602)"],
        );
        check(
            r#"{"id":1,"result":{"resultType":"input_required","inputRequests":{}}}"#,
            expect![
                "error: the server's answer is not MCP: resources/list asks for input, which this client cannot give"
            ],
        );
        check(
            r#"{"id":1,"result":{"resources":[{}]}}"#,
            expect![
                "error: the server's answer is not MCP: in the result of resources/list: missing field `uri` at line 1 column 16"
            ],
        );
        check(r#"{"id":1}"#, expect!["error: the server's answer is not MCP: neither a result nor an error"]);
        check("<html>", expect!["error: the server's answer is not MCP: expected value at line 1 column 1"]);
    }

    #[test]
    fn a_request_of_the_servers_is_answered() {
        let reply = |text: &str| Incoming::parse(text.as_bytes()).unwrap().reply();
        assert_eq!(
            reply(r#"{"id":"x","method":"ping"}"#).unwrap(),
            r#"{"id":"x","jsonrpc":"2.0","result":{}}"#
        );
        assert!(reply(r#"{"id":1,"method":"sampling/createMessage"}"#).unwrap().contains("-32601"));
        assert_eq!(reply(r#"{"method":"notifications/message"}"#), None);
        let ping = Incoming::parse(br#"{"id":1,"method":"ping"}"#).unwrap();
        assert!(!ping.answers(Some(1)), "a request is not an answer");
    }
}
