//! What a client can do for a call of a tool or a prompt: show a form, call its model, name its folders, receive log
//! messages.
//!
//! The modules are what a running request exchanges with its client: messages, requests with their answers,
//! cancellations, and the encrypted state of a call that waits for input. They use `outgoing` and `wire`.

pub(crate) mod call_stream;
pub(crate) mod cancellation;
pub(crate) mod input_state;
mod requests;
pub(crate) mod sealing;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

pub(super) use self::requests::{AskError, ClientRequests};
use crate::wire::fields::Fields;
use crate::wire::json_writer::object;
use crate::wire::message::Response;
use crate::wire::raw_json::RawJson;
use crate::wire::rpc_error::{INVALID_PARAMS, RpcError};
use larder_model::input::{InputMethod, InputRequest};
use larder_model::interaction::{Interaction, LogMessage, Severity, shows_apps};

const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
/// Maximum number of log messages that wait for a slow client. Further messages are dropped.
const LOG_QUEUE: usize = 64;
/// The lowest severity for a legacy client that has not chosen a severity.
const DEFAULT_LEVEL: Severity = Severity::Info;

/// What a legacy client can do, the severity that it chose, and the requests to it.
#[derive(Debug)]
pub(super) struct LegacyClientSide {
    capabilities: Value,
    /// None if the client has not chosen a severity.
    log_level: Mutex<Option<Severity>>,
    pub(super) requests: ClientRequests,
}

impl LegacyClientSide {
    /// `capabilities` are the capabilities in `initialize`, as JSON.
    pub(super) fn new(capabilities: Option<&RawValue>) -> Self {
        let capabilities = capabilities.and_then(|json| serde_json::from_str(json.get()).ok());
        Self {
            capabilities: normalized(capabilities.unwrap_or_default()),
            log_level: Mutex::default(),
            requests: ClientRequests::default(),
        }
    }

    /// Whether the client shows the pages of apps.
    pub(super) fn shows_apps(&self) -> bool {
        shows_apps(&self.capabilities)
    }

    /// Sets the lowest severity of log messages.
    pub(super) fn set_log_level(&self, level: Severity) {
        *self.log_level.lock() = Some(level);
    }

    /// Passes the answer to a request of the server on.
    pub(super) fn resolve(&self, response: &Response<'_>) {
        let Some(id) = &response.id else {
            return;
        };
        let text = |json: RawJson<'_>| json.get().to_owned();
        self.requests
            .resolve(id.json(), response.outcome.map(text).map_err(text));
    }

    /// Returns the client's side of a call, and its log messages.
    pub(super) fn interaction(&self) -> (Interaction, mpsc::Receiver<LogMessage>) {
        let (sender, receiver) = mpsc::channel(LOG_QUEUE);
        let level = *self.log_level.lock();
        let capabilities = self.capabilities.clone();
        let log_level = Some(level.unwrap_or(DEFAULT_LEVEL));
        (
            Interaction {
                capabilities,
                log_level,
                log: Some(sender),
            },
            receiver,
        )
    }
}

/// Returns the capabilities in the metadata of a modern request.
pub(super) fn client_capabilities(meta: &Fields<'_>) -> Value {
    let capabilities = meta.get(CAPABILITIES_KEY);
    let capabilities = capabilities.and_then(|json| serde_json::from_str(json.get()).ok());
    normalized(capabilities.unwrap_or_default())
}

/// Returns the client's side of a modern request, and its log messages if the client wants log messages.
pub(super) fn modern_interaction(
    meta: &Fields<'_>,
) -> Result<(Interaction, Option<mpsc::Receiver<LogMessage>>), RpcError> {
    let level = meta
        .text(LOG_LEVEL_KEY)?
        .map(|name| parse_level(&name))
        .transpose()?;
    let (sender, receiver) = match level {
        Some(_) => Some(mpsc::channel(LOG_QUEUE)).unzip(),
        None => (None, None),
    };
    let capabilities = client_capabilities(meta);
    Ok((
        Interaction {
            capabilities,
            log_level: level,
            log: sender,
        },
        receiver,
    ))
}

/// Parses the name of a severity.
pub(super) fn parse_level(name: &str) -> Result<Severity, RpcError> {
    let found = LEVELS.into_iter().find(|(_, known)| *known == name);
    found.map(|(severity, _)| severity).ok_or_else(|| {
        let names: Vec<_> = LEVELS.into_iter().map(|(_, name)| name).collect();
        RpcError::new(
            INVALID_PARAMS,
            format!("the log level is not one of {}", names.join(", ")),
        )
    })
}

const LEVELS: [(Severity, &str); 8] = [
    (Severity::Debug, "debug"),
    (Severity::Info, "info"),
    (Severity::Notice, "notice"),
    (Severity::Warning, "warning"),
    (Severity::Error, "error"),
    (Severity::Critical, "critical"),
    (Severity::Alert, "alert"),
    (Severity::Emergency, "emergency"),
];

fn level_name(level: Severity) -> Option<&'static str> {
    LEVELS
        .into_iter()
        .find(|(severity, _)| *severity == level)
        .map(|(_, name)| name)
}

/// Encodes a log message as a notification.
pub(super) fn log_notification(message: &LogMessage) -> Vec<u8> {
    object(|o| {
        o.text("jsonrpc", "2.0");
        o.text("method", "notifications/message");
        o.object("params", |o| {
            o.text("level", level_name(message.severity).unwrap_or("info"));
            o.optional_text("logger", message.logger.as_deref());
            o.raw("data", &message.data);
        });
    })
}

/// Returns the capabilities that are needed for requests to a client and that the client lacks.
pub(super) fn missing_capabilities(
    interaction: Option<&Interaction>,
    requests: &[InputRequest],
) -> Value {
    let mut missing = json!({});
    for request in requests {
        for (pointer, capability) in needed(request) {
            if !interaction.is_some_and(|interaction| interaction.supports(pointer)) {
                merge(&mut missing, capability);
            }
        }
    }
    missing
}

/// The capabilities that are needed for a request: JSON pointers, and the capabilities in the form in which a client
/// declares them.
fn needed(request: &InputRequest) -> Vec<(&'static str, Value)> {
    let params: Value = serde_json::from_str(request.params.get()).unwrap_or_default();
    match request.method {
        InputMethod::Elicitation if params["mode"] == "url" => {
            vec![("/elicitation/url", json!({ "elicitation": { "url": {} } }))]
        }
        InputMethod::Elicitation => vec![(
            "/elicitation/form",
            json!({ "elicitation": { "form": {} } }),
        )],
        InputMethod::Sampling => {
            let with_tools = params.get("tools").is_some() || params.get("toolChoice").is_some();
            let plain = ("/sampling", json!({ "sampling": {} }));
            let tools = ("/sampling/tools", json!({ "sampling": { "tools": {} } }));
            std::iter::once(plain)
                .chain(with_tools.then_some(tools))
                .collect()
        }
        InputMethod::Roots => vec![("/roots", json!({ "roots": {} }))],
    }
}

/// Adds the members of nested objects.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert_with(|| json!({})), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// Completes capabilities: a client that supports elicitation and does not say which kinds supports forms.
fn normalized(capabilities: Value) -> Value {
    let mut capabilities = match capabilities {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    if let Some(Value::Object(kinds)) = capabilities.get_mut("elicitation")
        && kinds.is_empty()
    {
        kinds.insert("form".to_owned(), json!({}));
    }
    Value::Object(capabilities)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: InputMethod, params: &str) -> InputRequest {
        InputRequest {
            key: "a".into(),
            method,
            params: RawValue::from_string(params.into()).unwrap(),
        }
    }

    #[test]
    fn names_the_capabilities_that_are_missing() {
        let forms = request(InputMethod::Elicitation, "{}");
        let url = request(InputMethod::Elicitation, r#"{"mode":"url"}"#);
        let sampling = request(InputMethod::Sampling, "{}");
        let tools = request(InputMethod::Sampling, r#"{"tools":[]}"#);
        let missing = |capabilities: &str, requests: &[InputRequest]| {
            let side =
                LegacyClientSide::new(Some(&RawValue::from_string(capabilities.into()).unwrap()));
            missing_capabilities(Some(&side.interaction().0), requests)
        };
        assert_eq!(
            missing(r#"{"elicitation":{}}"#, std::slice::from_ref(&forms)),
            json!({})
        );
        assert_eq!(
            missing(r#"{"elicitation":{}}"#, &[forms.clone(), url.clone()]),
            json!({ "elicitation": { "url": {} } })
        );
        assert_eq!(
            missing(
                r#"{"elicitation":{"url":{}},"sampling":{"tools":{}}}"#,
                &[url, tools.clone()]
            ),
            json!({})
        );
        assert_eq!(missing("{}", &[sampling]), json!({ "sampling": {} }));
        assert_eq!(
            missing(r#"{"sampling":{}}"#, &[tools]),
            json!({ "sampling": { "tools": {} } })
        );
        assert_eq!(
            missing_capabilities(None, &[forms]),
            json!({ "elicitation": { "form": {} } })
        );
    }

    #[test]
    fn reads_the_log_level_of_a_modern_request() {
        let meta = |text| Fields::parse(text).unwrap();
        let text = r#"{"io.modelcontextprotocol/logLevel":"warning","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}"#;
        let (interaction, log) = modern_interaction(&meta(text)).unwrap();
        assert!(interaction.supports("/roots") && log.is_some());
        assert!(
            interaction.log_for(Severity::Info).is_none()
                && interaction.log_for(Severity::Error).is_some()
        );
        assert!(modern_interaction(&meta("{}")).unwrap().1.is_none());
        assert!(
            modern_interaction(&meta(r#"{"io.modelcontextprotocol/logLevel":"loud"}"#)).is_err()
        );
    }
}
