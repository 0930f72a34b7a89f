//! JSON-RPC messages: if this parser reads a message, every other parser must read it as well.

use larder_model::name::Teams;
use larder_model::resource::Caller;
use serde_json::Value;

use crate::era::method::{Method, Operation, ParsedRequest, new_call};
use crate::era::{RequestKind, classify};
use crate::wire::error_message::error;
use crate::wire::message::{self, Id, IncomingMessages, MAX_BATCH, Message, Params, Request};
use crate::wire::rpc_error::RpcError;

/// Reads an HTTP body or a line of stdio, and the parameters of the requests in it.
pub fn json_rpc(data: &[u8]) {
    let json = serde_json::from_slice::<Value>(data).ok();
    match message::read(data) {
        Ok(IncomingMessages::One(message)) => check(&message, json.as_ref()),
        Ok(IncomingMessages::Batch(batch)) => {
            assert!((1..=MAX_BATCH).contains(&batch.len()));
            let items = json.as_ref().map(|json| json.as_array().expect("an array"));
            for (at, message) in batch.iter().enumerate() {
                check(message, items.map(|items| &items[at]));
            }
        }
        Err(rpc_error) => check_error(None, &rpc_error),
    }
}

/// Checks a message. `json` is the result of another parser; none if that parser failed, which is allowed only where
/// this parser ignores a part of the text.
fn check(message: &Message<'_>, json: Option<&Value>) {
    match message {
        Message::Request(request) => {
            if let Some(json) = json {
                check_agreement(request, json);
            }
            check_request(request);
        }
        Message::Notification(notification) => {
            if let Some(json) = json {
                assert_eq!(json["method"], *notification.method);
                assert_eq!(json.get("id"), None);
            }
            check_params(&notification.params);
        }
        Message::Response(_) => {}
        Message::Malformed { id, rpc_error } => check_error(id.as_ref(), rpc_error),
    }
}

fn check_agreement(request: &Request<'_>, json: &Value) {
    assert_eq!(json["jsonrpc"], "2.0");
    assert_eq!(json["method"], *request.method);
    let id: Value = serde_json::from_str(request.id.json()).expect("an id is JSON");
    assert_eq!(json["id"], id);
    let params = json.get("params").and_then(Value::as_object);
    let uri = request.params.fields.text("uri").ok().flatten();
    assert!(uri.is_none_or(|uri| params.is_some_and(|params| params["uri"] == *uri)));
}

fn check_request(request: &Request<'_>) {
    check_params(&request.params);
    let methods = match classify(request, None) {
        Ok(RequestKind::Modern(method)) => vec![method],
        Ok(_) => Method::legacy(&request.method).into_iter().collect(),
        Err(rpc_error) => return check_error(Some(&request.id), &rpc_error),
    };
    for method in methods {
        let caller = Caller {
            subject: None,
            issuer: None,
            teams: Teams::default_team(),
            scopes: vec![],
        };
        let parsed = new_call(&request.params, caller)
            .and_then(|call| ParsedRequest::read(request, method, call));
        match parsed {
            Ok(parsed) => check_operation(&parsed.operation),
            Err(rpc_error) => check_error(Some(&request.id), &rpc_error),
        }
    }
}

fn check_operation(operation: &Operation) {
    let is_invalid = matches!(
        operation,
        Operation::InvalidUri { .. } | Operation::Unsubscribe { .. }
    );
    let uri = operation.uri().filter(|_| !is_invalid);
    assert!(uri.is_none_or(|uri| larder_model::uri::Uri::parse(uri).is_ok()));
}

fn check_params(params: &Params<'_>) {
    if params.error.is_some() {
        assert_eq!(
            (params.fields.iter().count(), params.meta.iter().count()),
            (0, 0)
        );
    }
}

/// An error response is one line of JSON.
fn check_error(id: Option<&Id>, rpc_error: &RpcError) {
    let response = error(id, rpc_error);
    assert!(!response.contains(&b'\n'));
    let json: Value = serde_json::from_slice(&response).expect("a response is JSON");
    assert_eq!(json["error"]["code"], rpc_error.code);
    assert!(
        response.len() <= 16 << 10,
        "an error response has {} bytes",
        response.len()
    );
}
