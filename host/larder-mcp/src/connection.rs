//! HTTP connections. Their number is limited, and a connection that makes no progress is closed. All
//! connections are closed when the server stops.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use smallvec::SmallVec;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::sync::Semaphore;
use tokio::time::Sleep;

use super::Endpoint;
use super::in_flight::{IdleTimer, InFlight};
use super::listener::{Accept, ClientAddress, ClientStream, Listener};
use larder_runtime::metrics::GaugeGuard;
use larder_runtime::yield_batch;

/// Maximum time until a request head is complete, including the idle time before it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
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
/// Vectored writes up to this size are copied into one buffer: the copy is faster than a vectored system
/// call.
const COALESCE_LIMIT: usize = 2 << 10;
/// Delay after a failed `accept`.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);
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
        let connection_permits = Arc::new(Semaphore::new(self.0.config.connections));
        let mut sweep = tokio::time::interval(SWEEP_INTERVAL);
        let endpoint = self.clone();
        drain.spawn(async move {
            let inner = &endpoint.0;
            inner.authenticator.maintain(|may_call| inner.sessions.retain_callers(may_call)).await;
        });
        let rejection_permits = Arc::new(Semaphore::new(MAX_REJECTIONS));
        loop {
            let accepted = tokio::select! {
                () = drain.stopping() => return Ok(()),
                _ = sweep.tick() => { self.0.sessions.sweep(); continue }
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, client)) => match connection_permits.clone().try_acquire_owned() {
                    Ok(permit) => {
                        let serving = serve(stream, client, self.clone());
                        let gauge = GaugeGuard::new(&self.0.metrics.server().connections);
                        drain.spawn(async move {
                            serving.await;
                            drop((permit, gauge));
                        });
                    }
                    Err(_) => {
                        self.0.metrics.server().connections_refused.inc();
                        // Further connections are closed without a response.
                        if let Ok(permit) = rejection_permits.clone().try_acquire_owned() {
                            drain.spawn(async move {
                                let _ = tokio::time::timeout(REJECTION_TIMEOUT, reject(stream)).await;
                                drop(permit);
                            });
                        }
                    }
                },
                Err(error) => {
                    tracing::warn!(%error, "accept failed");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            }
        }
    }
}

/// Rejects a surplus connection with status 503 and a `retry-after` header. Reads the request first:
/// otherwise the client would get a connection reset instead of the response.
async fn reject(mut stream: impl ClientStream) -> io::Result<()> {
    let mut buffer = [0; 4 << 10];
    let _ = stream.read(&mut buffer).await?;
    stream.write_all(REJECTION.as_bytes()).await?;
    stream.shutdown().await?;
    while stream.read(&mut buffer).await? > 0 {}
    Ok(())
}

async fn serve(stream: impl ClientStream, client: ClientAddress, endpoint: Endpoint) {
    let drain = endpoint.0.drain.clone();
    stream.tune();
    let in_flight = InFlight::default();
    let timeout_stream =
        TimeoutStream::new(stream, (endpoint.0.config.stall_timeout, HEAD_TIMEOUT), in_flight.clone());
    let service = service_fn(|request| {
        let (endpoint, guard) = (endpoint.clone(), in_flight.begin());
        async move {
            let response = endpoint.respond_to(request, client.is_unix()).await;
            yield_batch::yield_once().await;
            Ok::<_, Infallible>(response.map(|body| body.with_guard(guard)))
        }
    });
    // hyper would reset its header timer for each request; `IdleTimer` only checks whether there was a
    // request.
    let serving = http1::Builder::new()
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(timeout_stream), service);
    let mut serving = std::pin::pin!(serving);
    let ended = match drain.run_until_stopping(serving.as_mut()).await {
        Some(ended) => ended,
        None => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%client, %error, "connection failed");
    }
}

/// A stream that fails when the client reads nothing for too long, or takes too long to send a request head.
struct TimeoutStream<S> {
    stream: S,
    /// Maximum time without progress of a write.
    stall_timeout: Duration,
    stall_timer: Option<Pin<Box<Sleep>>>,
    idle_timer: IdleTimer,
}

impl<S> TimeoutStream<S> {
    fn new(stream: S, (stall_timeout, head_timeout): (Duration, Duration), in_flight: InFlight) -> Self {
        let idle_timer = IdleTimer::new(in_flight, head_timeout);
        Self { stream, stall_timeout, stall_timer: None, idle_timer }
    }

    fn check_progress<T>(
        &mut self,
        poll: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if poll.is_ready() {
            self.stall_timer = None;
            return poll;
        }
        let stall_timeout = self.stall_timeout;
        let stall_timer = self.stall_timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(stall_timeout)));
        ready!(stall_timer.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buf);
        // While a response is being sent, the client need not send a request.
        let is_responding = self.stall_timer.is_some() || self.idle_timer.has_requests();
        if read.is_ready() || is_responding {
            return read;
        }
        ready!(self.idle_timer.poll_expired(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check_progress(poll, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let size: usize = parts.iter().map(|part| part.len()).sum();
        let poll = if size <= COALESCE_LIMIT {
            let mut whole = SmallVec::<[u8; COALESCE_LIMIT]>::new();
            parts.iter().for_each(|part| whole.extend_from_slice(part));
            Pin::new(&mut self.stream).poll_write(context, &whole)
        } else {
            Pin::new(&mut self.stream).poll_write_vectored(context, parts)
        };
        self.check_progress(poll, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::DuplexStream;

    use super::*;
    use crate::body::Body;

    #[test]
    fn rejection_has_its_content_length() {
        let (head, body) = REJECTION.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{}", body.len());
        serde_json::from_str::<serde_json::Value>(body).unwrap();
    }

    fn timeout_stream(stream: DuplexStream, stall_timeout: Duration) -> TimeoutStream<DuplexStream> {
        TimeoutStream::new(stream, (stall_timeout, stall_timeout), InFlight::default())
    }

    /// Sends `sent` over a new connection and returns what the client receives.
    async fn exchange(sent: &str, head_timeout: Duration, response_time: Duration) -> String {
        let (stream, mut client) = tokio::io::duplex(1 << 10);
        let in_flight = InFlight::default();
        let timeout_stream =
            TimeoutStream::new(stream, (Duration::from_secs(60), head_timeout), in_flight.clone());
        let service = service_fn(|_| {
            let guard = in_flight.begin();
            async move {
                tokio::time::sleep(response_time).await;
                let body = Body::from(b"here".to_vec()).with_guard(guard);
                Ok::<_, Infallible>(hyper::Response::new(body))
            }
        });
        let builder = http1::Builder::new();
        let serving = builder.serve_connection(TokioIo::new(timeout_stream), service);
        let mut received = String::new();
        let client_side = async {
            client.write_all(sent.as_bytes()).await?;
            client.read_to_string(&mut received).await
        };
        let both = async { tokio::join!(serving, client_side) };
        let ended = tokio::time::timeout(Duration::from_secs(60), both).await;
        assert!(ended.is_ok(), "the connection must be closed");
        received
    }

    #[tokio::test]
    async fn closes_a_connection_without_a_request_head_but_not_during_a_response() {
        let head_timeout = Duration::from_millis(100);
        assert_eq!(exchange("", head_timeout, Duration::ZERO).await, "");
        assert_eq!(exchange("GET / HTTP/1.1\r\nhost:", head_timeout, Duration::ZERO).await, "");
        // After the response, the timeout applies to the next request.
        let received = exchange("GET / HTTP/1.1\r\nhost: h\r\n\r\n", head_timeout, head_timeout * 4).await;
        assert!(received.ends_with("\r\n\r\nhere"), "{received}");
    }

    #[tokio::test]
    async fn closes_a_connection_that_does_not_read_but_not_a_slow_one() {
        let stall_timeout = Duration::from_millis(200);
        let (stream, _silent) = tokio::io::duplex(1);
        let stalled = timeout_stream(stream, stall_timeout).write_all(b"more than fits").await;
        assert_eq!(stalled.unwrap_err().kind(), io::ErrorKind::TimedOut);

        let (stream, mut slow) = tokio::io::duplex(1);
        let mut timeout_stream = timeout_stream(stream, Duration::from_secs(60));
        let reading = async {
            let mut all = [0; 14];
            slow.read_exact(&mut all).await.map(|_| all)
        };
        let (written, read) = tokio::join!(timeout_stream.write_all(b"more than fits"), reading);
        assert!(written.is_ok() && timeout_stream.stall_timer.is_none());
        assert_eq!(&read.unwrap(), b"more than fits");
    }
}
