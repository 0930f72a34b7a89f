//! Running requests that clients can cancel by id.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use crate::wire::message::{Id, Params};
use crate::wire::rpc_error::{INTERNAL_ERROR, RpcError};

/// The running and waiting requests of one client.
#[derive(Debug)]
pub(crate) struct CancellableRequests {
    tokens: Mutex<HashMap<Id, CancellationToken>>,
    max_requests: usize,
}

/// A request that runs or waits. Its id is in use until this value is dropped.
#[derive(Debug)]
pub(crate) struct CancellableRequest {
    requests: Arc<CancellableRequests>,
    id: Id,
    token: CancellationToken,
}

impl CancellableRequests {
    /// Creates a table for up to `max_requests` requests.
    pub(crate) fn new(max_requests: usize) -> Arc<Self> {
        Arc::new(Self {
            tokens: Mutex::default(),
            max_requests,
        })
    }

    /// Registers a request. Fails if its id is in use, or if there are too many requests.
    pub(crate) fn register(self: &Arc<Self>, id: &Id) -> Result<CancellableRequest, RpcError> {
        let mut requests = self.lock();
        if requests.len() >= self.max_requests {
            return Err(RpcError::new(
                INTERNAL_ERROR,
                "too many requests are under way: wait for some to end",
            ));
        }
        if requests.contains_key(id) {
            return Err(RpcError::duplicate_id());
        }
        let token = CancellationToken::new();
        requests.insert(id.clone(), token.clone());
        Ok(CancellableRequest {
            requests: self.clone(),
            id: id.clone(),
            token,
        })
    }

    /// Cancels the request that a `notifications/cancelled` names. An unknown id is no error.
    pub(crate) fn cancel(&self, params: &Params<'_>) {
        let Some(id) = params.fields.get("requestId").and_then(Id::read) else {
            return;
        };
        let token = self.lock().get(&id).cloned();
        if let Some(token) = token {
            token.cancel();
        }
    }

    pub(crate) fn cancel_all(&self) {
        self.lock().values().for_each(CancellationToken::cancel);
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, CancellationToken>> {
        self.tokens.lock()
    }
}

impl CancellableRequest {
    pub(crate) async fn cancelled(&self) {
        self.token.cancelled().await;
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Runs `work` until it completes or the request is cancelled. Takes a pinned reference: if `work` were passed by
    /// value, this future would contain it three times.
    pub(crate) async fn until_cancelled<F: Future>(&self, work: Pin<&mut F>) -> Option<F::Output> {
        self.token.run_until_cancelled(work).await
    }
}

impl Drop for CancellableRequest {
    fn drop(&mut self) {
        self.requests.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::fields::Fields;
    use crate::wire::raw_json::RawJson;

    fn id(text: &str) -> Id {
        Id::read(RawJson::read(text).unwrap()).unwrap()
    }

    #[tokio::test]
    async fn cancels_only_the_named_request() {
        let requests = CancellableRequests::new(2);
        let one = requests.register(&id("1")).unwrap();
        let other = requests.register(&id("\"1\"")).unwrap();
        assert!(requests.register(&id("3")).is_err(), "the table is full");
        for text in [
            r#"{"requestId":1}"#,
            r#"{"requestId":2}"#,
            r#"{"requestId":{}}"#,
            "{}",
        ] {
            let params = Params {
                fields: Fields::parse(text).unwrap(),
                ..Params::default()
            };
            requests.cancel(&params);
        }
        assert_eq!(
            one.until_cancelled(std::pin::pin!(std::future::pending::<()>()))
                .await,
            None
        );
        assert!(!other.is_cancelled());
        drop((one, other));
        assert_eq!(requests.len(), 0);
        let _one = requests.register(&id("1")).unwrap();
        assert_eq!(
            requests.register(&id("1")).unwrap_err(),
            RpcError::duplicate_id()
        );
    }
}
