//! Requests of the server to a legacy client, which answers each with a message of its own. While they wait, no guest
//! runs for the call, and the call holds no permit.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::{mpsc, oneshot};

use crate::wire::json_writer::object;
use larder_model::input::{InputMethod, InputRequest, InputResponse};

/// How long a client, or its user, may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// Maximum number of requests that wait for the answers of one client.
const MAX_PENDING: usize = 64;
/// The prefix of the ids of the server's requests.
const ID_PREFIX: &str = "larder-";

/// The JSON text of a result, or of an error.
pub(crate) type Outcome = Result<String, String>;

/// The requests to one client that wait for an answer.
#[derive(Debug, Default)]
pub(crate) struct ClientRequests {
    pending: Mutex<PendingRequests>,
}

#[derive(Debug, Default)]
struct PendingRequests {
    last_id: u64,
    waiting: HashMap<u64, oneshot::Sender<Outcome>>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AskError {
    /// The limit of waiting requests is reached.
    #[error("more than {MAX_PENDING} requests wait for answers of the client")]
    TooMany,
    /// The stream of the call has ended, or the client has not read it for a while.
    #[error("the client cannot be reached")]
    Gone,
    /// The server stops before there is an answer.
    #[error("the server is stopping")]
    Stopping,
    /// The client did not answer in time.
    #[error("the client did not answer within {} minutes", ANSWER_TIMEOUT.as_secs() / 60)]
    TimedOut,
}

/// Removes requests whose answers are not awaited any more.
struct RegistrationGuard<'a> {
    requests: &'a ClientRequests,
    ids: Vec<u64>,
}

impl ClientRequests {
    /// Sends these requests, and waits for all answers.
    pub(crate) async fn ask(
        &self,
        requests: &[InputRequest],
        stream: &mpsc::Sender<Vec<u8>>,
    ) -> Result<Vec<InputResponse>, AskError> {
        self.ask_within(ANSWER_TIMEOUT, requests, stream).await
    }

    async fn ask_within(
        &self,
        timeout: Duration,
        requests: &[InputRequest],
        stream: &mpsc::Sender<Vec<u8>>,
    ) -> Result<Vec<InputResponse>, AskError> {
        let (registered, answers) = self.register(requests.len()).ok_or(AskError::TooMany)?;
        for (id, request) in registered.ids.iter().zip(requests) {
            stream
                .send(encode(&text_of(*id), request))
                .await
                .map_err(|_| AskError::Gone)?;
        }
        let all = async {
            let mut responses = Vec::with_capacity(requests.len());
            for (request, answer) in requests.iter().zip(answers) {
                let outcome = answer.await.map_err(|_| AskError::Gone)?;
                responses.push(InputResponse {
                    key: request.key.clone(),
                    outcome,
                });
            }
            Ok(responses)
        };
        let answered = tokio::select! {
            answered = tokio::time::timeout(timeout, all) => answered,
            () = stream.closed() => return Err(AskError::Gone),
        };
        match answered {
            Ok(responses) => responses,
            Err(_) => {
                for id in registered.open_ids() {
                    // The client may be gone, so the result of sending is ignored.
                    let _ = stream.try_send(cancellation(&text_of(id)));
                }
                Err(AskError::TimedOut)
            }
        }
    }

    /// Passes the answer of a client on. `id` is the id as JSON. Unknown ids are ignored, because the call may have
    /// ended.
    pub(crate) fn resolve(&self, id: &str, outcome: Outcome) {
        let number = id
            .trim_matches('"')
            .strip_prefix(ID_PREFIX)
            .and_then(|number| number.parse::<u64>().ok());
        let waiting = number.and_then(|number| self.lock().waiting.remove(&number));
        if let Some(waiting) = waiting {
            // The receiver is gone if the call was cancelled in this moment.
            let _ = waiting.send(outcome);
        }
    }

    fn register(
        &self,
        count: usize,
    ) -> Option<(RegistrationGuard<'_>, Vec<oneshot::Receiver<Outcome>>)> {
        let mut pending = self.lock();
        if pending.waiting.len() + count > MAX_PENDING {
            return None;
        }
        let mut ids = Vec::new();
        let mut answers = Vec::new();
        for _ in 0..count {
            pending.last_id += 1;
            let (sender, receiver) = oneshot::channel();
            let id = pending.last_id;
            pending.waiting.insert(id, sender);
            ids.push(id);
            answers.push(receiver);
        }
        Some((
            RegistrationGuard {
                requests: self,
                ids,
            },
            answers,
        ))
    }

    fn lock(&self) -> MutexGuard<'_, PendingRequests> {
        self.pending.lock()
    }
}

impl RegistrationGuard<'_> {
    /// The requests that have no answer yet.
    fn open_ids(&self) -> Vec<u64> {
        let pending = self.requests.lock();
        self.ids
            .iter()
            .copied()
            .filter(|id| pending.waiting.contains_key(id))
            .collect()
    }
}

impl Drop for RegistrationGuard<'_> {
    fn drop(&mut self) {
        let mut pending = self.requests.lock();
        self.ids.iter().for_each(|id| {
            pending.waiting.remove(id);
        });
    }
}

/// Returns the id of a request as text.
fn text_of(id: u64) -> String {
    format!("{ID_PREFIX}{id}")
}

fn encode(id: &str, request: &InputRequest) -> Vec<u8> {
    object(|o| {
        o.text("jsonrpc", "2.0");
        o.text("id", id);
        o.text("method", request.method.as_str());
        o.raw("params", &legacy_params(id, request));
    })
}

/// The parameters in the form of versions before 2026-07-28: if the user is to open a page, the request has an id.
fn legacy_params<'a>(id: &str, request: &'a InputRequest) -> Cow<'a, RawValue> {
    let given = Cow::Borrowed(&*request.params);
    let Ok(Value::Object(mut members)) = serde_json::from_str(request.params.get()) else {
        return given;
    };
    let is_page = request.method == InputMethod::Elicitation
        && members.get("mode").is_some_and(|mode| mode == "url");
    if !is_page || members.contains_key("elicitationId") {
        return given;
    }
    members.insert("elicitationId".to_owned(), id.into());
    to_raw_value(&members).map_or(given, Cow::Owned)
}

fn cancellation(id: &str) -> Vec<u8> {
    object(|o| {
        o.text("jsonrpc", "2.0");
        o.text("method", "notifications/cancelled");
        o.object("params", |o| {
            o.text("requestId", id);
            o.text("reason", "the time to answer is over");
        });
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(key: &str) -> InputRequest {
        let params = RawValue::from_string("{}".into()).unwrap();
        InputRequest {
            key: key.into(),
            method: InputMethod::Roots,
            params,
        }
    }

    #[tokio::test]
    async fn each_answer_belongs_to_its_request() {
        let requests = ClientRequests::default();
        let (sender, mut sent) = mpsc::channel(8);
        let asked = [request("a"), request("b")];
        let answer = async {
            let first = String::from_utf8(sent.recv().await.unwrap()).unwrap();
            assert_eq!(
                first,
                r#"{"jsonrpc":"2.0","id":"larder-1","method":"roots/list","params":{}}"#
            );
            sent.recv().await.unwrap();
            for (id, outcome) in [
                ("\"larder-9\"", "?"),
                ("2", "?"),
                ("\"larder-2\"", "second"),
                ("\"larder-1\"", "first"),
            ] {
                requests.resolve(id, Ok(outcome.into()));
            }
        };
        let (answered, ()) = tokio::join!(requests.ask(&asked, &sender), answer);
        let outcomes: Vec<_> = answered
            .unwrap()
            .into_iter()
            .map(|one| (one.key, one.outcome.unwrap()))
            .collect();
        assert_eq!(
            outcomes,
            [("a".into(), "first".into()), ("b".into(), "second".into())]
        );
    }

    #[test]
    fn a_page_has_an_id() {
        let params = |method, params: &str| {
            let params = RawValue::from_string(params.into()).unwrap();
            legacy_params(
                "larder-7",
                &InputRequest {
                    key: "a".into(),
                    method,
                    params,
                },
            )
            .get()
            .to_owned()
        };
        for unchanged in [
            r#"{"mode":"form"}"#,
            r#"{"mode":"url","elicitationId":"x"}"#,
            "{}",
        ] {
            assert_eq!(params(InputMethod::Elicitation, unchanged), unchanged);
        }
        let page = params(InputMethod::Elicitation, r#"{"mode":"url"}"#);
        assert_eq!(page, r#"{"elicitationId":"larder-7","mode":"url"}"#);
    }

    #[tokio::test]
    async fn requests_end_with_the_call_or_after_a_while() {
        let requests = ClientRequests::default();
        let (sender, mut sent) = mpsc::channel(8);
        let short = Duration::from_millis(20);
        let asked = [request("a")];
        assert_eq!(
            requests.ask_within(short, &asked, &sender).await,
            Err(AskError::TimedOut)
        );
        assert!(sent.recv().await.is_some());
        let cancelled = String::from_utf8(sent.recv().await.unwrap()).unwrap();
        assert!(
            cancelled.contains("notifications/cancelled") && cancelled.contains("larder-1"),
            "{cancelled}"
        );
        let many: Vec<_> = (0..=MAX_PENDING).map(|n| request(&n.to_string())).collect();
        assert_eq!(requests.ask(&many, &sender).await, Err(AskError::TooMany));
        let (answered, ()) = tokio::join!(requests.ask(&asked, &sender), async {
            assert!(sent.recv().await.is_some());
            drop(sent);
        });
        assert_eq!(
            answered,
            Err(AskError::Gone),
            "the stream ended while the call waited"
        );
        assert_eq!(requests.ask(&asked, &sender).await, Err(AskError::Gone));
        assert!(requests.lock().waiting.is_empty());
    }
}
