//! HTTP connections. Their number is limited, and a connection that makes no progress is closed. When the
//! server stops, each connection is closed after a response with `connection: close`.

mod idle_timer;
mod state;
mod timeout_stream;

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use http::HeaderValue;
use http::header::CONNECTION;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Semaphore;

use self::idle_timer::HeadTimeouts;
pub(crate) use self::state::{ConnectionState, RequestGuard};
use self::timeout_stream::{TimeoutStream, Timeouts};
use crate::Endpoint;
use larder_runtime::connection_slots::ConnectionSlots;
use larder_runtime::listener::{Accept, ClientAddress, ClientStream, Listener};
use larder_runtime::metrics::GaugeGuard;
use larder_runtime::yield_batch;

/// Maximum time until a request head is complete, including the idle time before it.
const HEAD_TIMEOUTS: HeadTimeouts = HeadTimeouts {
    unproven: Duration::from_secs(5),
    proven: Duration::from_secs(30),
};
/// Maximum size of a request head. The longest URI in a header takes a third of it.
const MAX_HEAD: usize = 32 << 10;
/// Maximum number of surplus connections that are rejected with a response at the same time.
const MAX_REJECTIONS: usize = 64;
/// Maximum time for rejecting one connection.
const REJECTION_TIMEOUT: Duration = Duration::from_secs(1);
/// The response to surplus connections.
const REJECTION: &str = concat!(
    "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n",
    "content-type: application/json\r\ncontent-length: 119\r\n\r\n",
    r#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"the server has no more connections for now: try again in a second"}}"#
);
/// Delay after a failed `accept`.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);
/// Maximum number of connections that are accepted after the server was told to stop. These connections waited before.
const MAX_LAST_CONNECTIONS: usize = 1024;
/// How long connections are accepted when the server stops, and how long a connection without requests stays open. A
/// client that continuously sends requests gets a response in this time, which says that the connection is closed.
pub(super) const MAX_CLOSING_TIME: Duration = Duration::from_millis(500);
/// Interval of the search for idle sessions.
const SWEEP_INTERVAL: Duration = Duration::from_secs(30);

impl Endpoint {
    /// Serves HTTP until the server stops. Requests in flight continue in the drain.
    pub async fn serve_http(&self, listener: impl Into<Listener>) -> io::Result<()> {
        match listener.into() {
            Listener::Tcp(listener) => self.serve_connections(listener).await,
            Listener::Unix(socket) => self.serve_connections(socket).await,
        }
    }

    async fn serve_connections(&self, listener: impl Accept) -> io::Result<()> {
        let drain = &self.0.drain;
        let acceptor = Acceptor::new(self.clone());
        let mut sweep = tokio::time::interval(SWEEP_INTERVAL);
        let endpoint = self.clone();
        drain.spawn(async move {
            let inner = &endpoint.0;
            inner
                .authenticator
                .maintain(|may_call| inner.sessions.retain_callers(may_call))
                .await;
        });
        loop {
            let accepted = tokio::select! {
                () = drain.stopping() => break,
                _ = sweep.tick() => { self.0.sessions.sweep(); continue }
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, client)) => acceptor.serve_or_reject(stream, client),
                Err(error) => {
                    tracing::warn!(%error, "accept failed");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            }
        }
        // Load balancers find out with their next health check that the server stops. Until then, they open
        // connections.
        let time = self.closing_time();
        let _ = tokio::time::timeout(time, acceptor.accept_all(&listener)).await;
        // Waiting connections would be reset when the listener is dropped.
        for _ in 0..MAX_LAST_CONNECTIONS {
            let Some(Ok((stream, client))) = listener.accept().now_or_never() else {
                break;
            };
            acceptor.serve_or_reject(stream, client);
        }
        Ok(())
    }

    /// How long the server continues to serve clients that have not been told yet that it stops.
    fn closing_time(&self) -> Duration {
        MAX_CLOSING_TIME.min(self.0.settings.load().shutdown_grace / 2)
    }
}

/// Gives slots to new connections.
struct Acceptor {
    endpoint: Endpoint,
    slots: ConnectionSlots,
    rejection_permits: Arc<Semaphore>,
}

impl Acceptor {
    fn new(endpoint: Endpoint) -> Self {
        let replaced = endpoint.0.metrics.server().connections_replaced.clone();
        let slots = ConnectionSlots::new(endpoint.0.fixed.connections, replaced);
        Self {
            endpoint,
            slots,
            rejection_permits: Arc::new(Semaphore::new(MAX_REJECTIONS)),
        }
    }

    /// Accepts connections until this future is dropped.
    async fn accept_all(&self, listener: &impl Accept) {
        loop {
            match listener.accept().await {
                Ok((stream, client)) => self.serve_or_reject(stream, client),
                Err(_) => tokio::time::sleep(ACCEPT_RETRY_DELAY).await,
            }
        }
    }

    fn serve_or_reject(&self, stream: impl ClientStream, client: ClientAddress) {
        let inner = &self.endpoint.0;
        let slot = match self.slots.take(client.source()) {
            Some(slot) => slot,
            None => {
                inner.metrics.server().connections_refused.inc();
                self.endpoint.report_refused_connection(client);
                return self.reject(stream);
            }
        };
        let gauge = GaugeGuard::new(&inner.metrics.server().connections);
        let endpoint = self.endpoint.clone();
        slot.serve(&inner.drain, |slot| async move {
            serve(stream, ConnectionState::new(client, slot), endpoint).await;
            drop(gauge);
        });
    }

    /// Rejects a connection with a response. If too many are being rejected, only closes the connection.
    fn reject(&self, stream: impl ClientStream) {
        if let Ok(permit) = self.rejection_permits.clone().try_acquire_owned() {
            self.endpoint.0.drain.spawn(async move {
                let _ = tokio::time::timeout(REJECTION_TIMEOUT, reject(stream)).await;
                drop(permit);
            });
        }
    }
}

/// Rejects a surplus connection with status 503 and a `retry-after` header. Reads the request first, because otherwise
/// the client would get a connection reset instead of the response.
async fn reject(mut stream: impl ClientStream) -> io::Result<()> {
    let mut buffer = [0; 4 << 10];
    let _ = stream.read(&mut buffer).await?;
    stream.write_all(REJECTION.as_bytes()).await?;
    stream.shutdown().await?;
    while stream.read(&mut buffer).await? > 0 {}
    Ok(())
}

pub(crate) async fn serve(
    stream: impl ClientStream,
    connection: ConnectionState,
    endpoint: Endpoint,
) {
    let drain = endpoint.0.drain.clone();
    stream.tune();
    let timeouts = Timeouts {
        stall: endpoint.0.settings.load().stall_timeout,
        head: HEAD_TIMEOUTS,
    };
    let timeout_stream = TimeoutStream::new(stream, timeouts, connection.clone());
    let service = service_fn(|request| {
        let endpoint = endpoint.clone();
        let guard = connection.begin();
        async move {
            let mut response = endpoint.respond_to(request, Some(guard.connection())).await;
            yield_batch::delay_response().await;
            if endpoint.0.drain.is_stopping() {
                // hyper closes the connection after this response.
                response
                    .headers_mut()
                    .insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response.map(|body| body.with_guard(guard)))
        }
    });
    // hyper would reset its header timer for each request; `IdleTimer` only checks whether there was a
    // request.
    let serving = http1::Builder::new()
        .header_read_timeout(None)
        .max_header_size(MAX_HEAD)
        .serve_connection(TokioIo::new(timeout_stream), service);
    let mut serving = std::pin::pin!(serving);
    let ended = match drain.run_until_stopping(serving.as_mut()).await {
        Some(ended) => ended,
        None => {
            match serve_until_unused(serving.as_mut(), &connection, endpoint.closing_time()).await {
                Some(ended) => ended,
                None => {
                    serving.as_mut().graceful_shutdown();
                    serving.await
                }
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(client = %connection.client(), %error, "connection failed");
    }
}

/// Serves a connection until it has had no requests for some time, and then returns `None`. Otherwise returns the
/// result of the connection.
///
/// hyper's `graceful_shutdown` alone would lose requests: between two requests it closes a connection at once, although
/// the next request may be on its way or in the receive buffer. It also closes a connection after a response without an
/// announcement that the connection closes.
async fn serve_until_unused<T>(
    mut serving: Pin<&mut impl Future<Output = T>>,
    connection: &ConnectionState,
    time: Duration,
) -> Option<T> {
    loop {
        let started = connection.started();
        if let Ok(ended) = tokio::time::timeout(time, serving.as_mut()).await {
            return Some(ended);
        }
        if !connection.has_requests() && connection.started() == started {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejection_has_its_content_length() {
        let (head, body) = REJECTION.split_once("\r\n\r\n").unwrap();
        assert!(
            head.contains(&format!("content-length: {}", body.len())),
            "{}",
            body.len()
        );
        serde_json::from_str::<serde_json::Value>(body).unwrap();
    }
}
