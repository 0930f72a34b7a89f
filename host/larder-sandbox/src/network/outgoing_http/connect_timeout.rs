//! Time limits for connecting. The HTTP client has one limit for all of its connections, but a guest can set a limit
//! for each request.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tower_layer::Layer;
use tower_service::Service;

tokio::task_local! {
    static LIMIT: Duration;
}

/// Connecting took too long.
#[derive(Debug, thiserror::Error)]
#[error("connecting took too long")]
pub(super) struct ConnectTimedOut;

/// Adds [`ConnectWithTimeout`] to a client.
#[derive(Clone)]
pub(super) struct ConnectTimeoutLayer;

/// Connects within the limit of the request that needs the connection.
#[derive(Clone)]
pub(super) struct ConnectWithTimeout<S>(S);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Sends a request, and limits the time for connecting if that is necessary.
pub(super) async fn with_connect_timeout<T>(
    limit: Option<Duration>,
    send: impl Future<Output = T>,
) -> T {
    match limit {
        // The client connects within the future that sends the request, so the limit can be stored in the task, where
        // the connector finds it.
        Some(limit) => LIMIT.scope(limit, send).await,
        None => send.await,
    }
}

impl<S> Layer<S> for ConnectTimeoutLayer {
    type Service = ConnectWithTimeout<S>;

    fn layer(&self, connector: S) -> Self::Service {
        ConnectWithTimeout(connector)
    }
}

impl<S, R> Service<R> for ConnectWithTimeout<S>
where
    S: Service<R, Error = BoxError>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, target: R) -> Self::Future {
        let connection = self.0.call(target);
        match LIMIT.try_get() {
            Ok(limit) => Box::pin(async move {
                tokio::time::timeout(limit, connection)
                    .await
                    .unwrap_or_else(|_| Err(ConnectTimedOut.into()))
            }),
            Err(_) => Box::pin(connection),
        }
    }
}
