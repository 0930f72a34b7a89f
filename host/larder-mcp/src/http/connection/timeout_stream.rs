//! A stream that fails when its client reads too slowly, or takes too long to send a request head.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use smallvec::SmallVec;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::idle_timer::{HeadTimeouts, IdleTimer};
use super::state::ConnectionState;

/// Vectored writes up to this size are copied into one buffer: the copy is faster than a vectored system
/// call.
const COALESCE_LIMIT: usize = 2 << 10;
/// The minimum rate, in bytes per second, at which a client must read. The rate is an average over the stall timeout.
const MIN_RATE: f64 = 1024.0;

/// The limits of a connection in time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    /// The time over which the rate of a slow client is measured.
    pub(super) stall: Duration,
    pub(super) head: HeadTimeouts,
}

pub(super) struct TimeoutStream<S> {
    stream: S,
    stall_timeout: Duration,
    /// Present as soon as a write has to wait, and until everything is written.
    backlog: Option<Backlog>,
    idle_timer: IdleTimer,
}

/// The progress of writes to a client that reads too slowly.
struct Backlog {
    timer: Pin<Box<Sleep>>,
    /// Bytes that were written since the timer was started.
    written: usize,
}

impl<S> TimeoutStream<S> {
    pub(super) fn new(stream: S, timeouts: Timeouts, connection: ConnectionState) -> Self {
        Self {
            stream,
            stall_timeout: timeouts.stall,
            backlog: None,
            idle_timer: IdleTimer::new(connection, timeouts.head),
        }
    }

    fn check_rate(
        &mut self,
        poll: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(result) = poll {
            if let (Some(backlog), Ok(written)) = (&mut self.backlog, &result) {
                backlog.written += written;
            }
            return Poll::Ready(result);
        }
        let timeout = self.stall_timeout;
        let backlog = self.backlog.get_or_insert_with(|| Backlog {
            timer: Box::pin(tokio::time::sleep(timeout)),
            written: 0,
        });
        loop {
            ready!(backlog.timer.as_mut().poll(context));
            if (backlog.written as f64) < MIN_RATE * timeout.as_secs_f64() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            backlog.written = 0;
            backlog.timer.as_mut().reset(Instant::now() + timeout);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buf);
        // While a response is being sent, no request of the client is expected.
        let is_responding = self.backlog.is_some() || self.idle_timer.has_requests();
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
        self.check_rate(poll, context)
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
        self.check_rate(poll, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// hyper flushes when all data were written.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.backlog = None;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

    use super::super::state::tests::new_connection;
    use super::*;
    use crate::http::body::Body;

    const MINUTE: Duration = Duration::from_secs(60);

    fn timeouts(stall: Duration, head: Duration) -> Timeouts {
        Timeouts {
            stall,
            head: HeadTimeouts {
                unproven: head,
                proven: head,
            },
        }
    }

    fn timeout_stream(stream: DuplexStream, stall: Duration) -> TimeoutStream<DuplexStream> {
        TimeoutStream::new(stream, timeouts(stall, MINUTE), new_connection())
    }

    /// Sends `sent` over a new connection and returns what the client receives.
    async fn exchange(sent: &str, head_timeout: Duration, response_time: Duration) -> String {
        let (stream, mut client) = tokio::io::duplex(1 << 10);
        let connection = new_connection();
        let timeout_stream =
            TimeoutStream::new(stream, timeouts(MINUTE, head_timeout), connection.clone());
        let service = service_fn(|_| {
            let guard = connection.begin();
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
        let ended = tokio::time::timeout(MINUTE, both).await;
        assert!(ended.is_ok(), "the connection must be closed");
        received
    }

    #[tokio::test(start_paused = true)]
    async fn closes_a_connection_without_a_request_head_but_not_during_a_response() {
        let head_timeout = Duration::from_millis(100);
        assert_eq!(exchange("", head_timeout, Duration::ZERO).await, "");
        assert_eq!(
            exchange("GET / HTTP/1.1\r\nhost:", head_timeout, Duration::ZERO).await,
            ""
        );
        // After the response, the timeout applies to the next request.
        let received = exchange(
            "GET / HTTP/1.1\r\nhost: h\r\n\r\n",
            head_timeout,
            head_timeout * 4,
        )
        .await;
        assert!(received.ends_with("\r\n\r\nhere"), "{received}");
    }

    /// Writes to a client that reads this many bytes every ten milliseconds.
    async fn write_to_slow_client(stall_timeout: Duration, bytes: usize) -> io::Result<()> {
        let (stream, mut client) = tokio::io::duplex(1 << 10);
        let mut stream = timeout_stream(stream, stall_timeout);
        let reading = async {
            let mut buffer = vec![0; bytes];
            while client.read_exact(&mut buffer).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let writing = async {
            stream.write_all(&[b'x'; 20_000]).await?;
            stream.flush().await?;
            assert!(stream.backlog.is_none());
            Ok(())
        };
        tokio::select! {
            written = writing => written,
            () = reading => panic!("the stream was closed without an error"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn closes_a_connection_that_reads_nothing_or_too_slowly() {
        let stall_timeout = Duration::from_millis(500);
        let (stream, _silent) = tokio::io::duplex(1);
        let stalled = timeout_stream(stream, stall_timeout)
            .write_all(b"more than fits")
            .await;
        assert_eq!(stalled.unwrap_err().kind(), io::ErrorKind::TimedOut);
        let slow = write_to_slow_client(stall_timeout, 1).await;
        assert_eq!(slow.unwrap_err().kind(), io::ErrorKind::TimedOut);
        write_to_slow_client(stall_timeout, 200).await.unwrap();
    }
}
