//! Connections: as many as are allowed, each for as long as it makes headway, and all of them until the house closes.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Waker, Poll, ready};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use smallvec::SmallVec;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::Sleep;

use super::Endpoint;
use super::turn::{Silence, Turns};
use crate::round;

/// How long the head of a request may take, the silence before it included.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// Connections that are told at the same time that there are too many.
const REFUSALS: usize = 64;
/// How long that may take.
const REFUSAL_TIME: Duration = Duration::from_secs(1);
/// What they are told.
const FULL: &str = concat!(
    "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n",
    "content-type: application/json\r\ncontent-length: 119\r\n\r\n",
    r#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"the server has no more connections for now: try again in a second"}}"#
);
/// Bytes that are sent as one piece: the system takes longer over two than it takes to lay them together.
const SMALL: usize = 2 << 10;
/// A pause when the system gives no more connections.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// How often unused sessions are looked for.
const SWEEP_TIME: Duration = Duration::from_secs(30);

impl Endpoint {
    /// Serves HTTP until the house closes. Requests under way go on in the drain.
    pub async fn serve_http(&self, listener: TcpListener) -> io::Result<()> {
        let drain = &self.0.drain;
        let places = Arc::new(Semaphore::new(self.0.config.connections));
        let mut sweep = tokio::time::interval(SWEEP_TIME);
        let endpoint = self.clone();
        drain.spawn(async move {
            let inner = &endpoint.0;
            inner.gate.keep_up(|may_ask| inner.sessions.keep_only(may_ask)).await;
        });
        let refusals = Arc::new(Semaphore::new(REFUSALS));
        loop {
            let accepted = tokio::select! {
                () = drain.stopping() => return Ok(()),
                _ = sweep.tick() => { self.0.sessions.sweep(); continue }
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => match places.clone().try_acquire_owned() {
                    Ok(place) => {
                        let serving = serve(stream, self.clone());
                        let open = self.0.metrics.house().connections.hold();
                        drain.spawn(async move {
                            serving.await;
                            drop((place, open));
                        });
                    }
                    Err(_) => {
                        self.0.metrics.house().turned_away.one();
                        // More than these are only closed.
                        if let Ok(place) = refusals.clone().try_acquire_owned() {
                            drain.spawn(async move {
                                let _ = tokio::time::timeout(REFUSAL_TIME, turn_away(stream)).await;
                                drop(place);
                            });
                        }
                    }
                },
                Err(error) => {
                    tracing::warn!(%error, "no connection could be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

/// One too many: it is told so at once, and when to come back. What it sent is taken first, or it would hear that the
/// connection broke.
async fn turn_away(mut stream: TcpStream) -> io::Result<()> {
    let mut some = [0; 4 << 10];
    let _ = stream.read(&mut some).await?;
    stream.write_all(FULL.as_bytes()).await?;
    stream.shutdown().await?;
    while stream.read(&mut some).await? > 0 {}
    Ok(())
}

async fn serve(stream: TcpStream, endpoint: Endpoint) {
    let drain = endpoint.0.drain.clone();
    // Small answers must not wait for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let turns = Turns::default();
    let patient = Patient::new(stream, (endpoint.0.config.stall, HEAD_TIME), turns.clone());
    let ask = service_fn(|request| {
        let (endpoint, turn) = (endpoint.clone(), turns.begin());
        async move {
            let response = endpoint.respond(request).await;
            round::end().await;
            Ok::<_, Infallible>(response.map(|body| body.in_turn(turn)))
        }
    });
    // Its own clock for the head of a request is wound up for each of them: ours only looks whether there was one.
    let serving =
        http1::Builder::new().header_read_timeout(None).serve_connection(TokioIo::new(patient), ask);
    let mut serving = std::pin::pin!(serving);
    let ended = match drain.unless_stopping(serving.as_mut()).await {
        Some(ended) => ended,
        None => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}

/// A stream that breaks when its other side reads nothing for too long, or takes too long over the head of a request.
struct Patient<S> {
    stream: S,
    /// How long it may read nothing.
    most: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    silence: Silence,
}

impl<S> Patient<S> {
    fn new(stream: S, (stall, head): (Duration, Duration), turns: Turns) -> Self {
        let silence = Silence::new(turns, head);
        Self { stream, most: stall, stalled: None, silence }
    }

    fn headway<T>(&mut self, now: Poll<io::Result<T>>, waker: &mut Waker<'_>) -> Poll<io::Result<T>> {
        if now.is_ready() {
            self.stalled = None;
            return now;
        }
        let most = self.most;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(most)));
        ready!(stalled.as_mut().poll(waker));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        waker: &mut Waker<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(waker, buf);
        // Who is being answered need not ask.
        let is_answered = self.stalled.is_some() || self.silence.is_kept();
        if read.is_ready() || is_answered {
            return read;
        }
        ready!(self.silence.is_too_long(waker));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, waker: &mut Waker<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let now = Pin::new(&mut self.stream).poll_write(waker, bytes);
        self.headway(now, waker)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        waker: &mut Waker<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let size: usize = parts.iter().map(|part| part.len()).sum();
        let now = if size <= SMALL {
            let mut whole = SmallVec::<[u8; SMALL]>::new();
            parts.iter().for_each(|part| whole.extend_from_slice(part));
            Pin::new(&mut self.stream).poll_write(waker, &whole)
        } else {
            Pin::new(&mut self.stream).poll_write_vectored(waker, parts)
        };
        self.headway(now, waker)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(waker)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, waker: &mut Waker<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(waker)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::DuplexStream;

    use super::*;
    use crate::endpoint::body::Body;

    #[test]
    fn who_is_turned_away_is_told_how_much() {
        let (head, body) = FULL.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{}", body.len());
        serde_json::from_str::<serde_json::Value>(body).unwrap();
    }

    fn patient(stream: DuplexStream, most: Duration) -> Patient<DuplexStream> {
        Patient::new(stream, (most, most), Turns::default())
    }

    /// One request over a stream of its own, of which so much is sent, and of which the answer takes so long.
    async fn asked(sent: &str, head: Duration, answer: Duration) -> String {
        let (stream, mut client) = tokio::io::duplex(1 << 10);
        let turns = Turns::default();
        let patient = Patient::new(stream, (Duration::from_secs(60), head), turns.clone());
        let ask = service_fn(|_| {
            let turn = turns.begin();
            async move {
                tokio::time::sleep(answer).await;
                let body = Body::from(b"here".to_vec()).in_turn(turn);
                Ok::<_, Infallible>(hyper::Response::new(body))
            }
        });
        let builder = http1::Builder::new();
        let serving = builder.serve_connection(TokioIo::new(patient), ask);
        let mut told = String::new();
        let asking = async {
            client.write_all(sent.as_bytes()).await?;
            client.read_to_string(&mut told).await
        };
        let both = async { tokio::join!(serving, asking) };
        let ended = tokio::time::timeout(Duration::from_secs(60), both).await;
        assert!(ended.is_ok(), "it goes on for ever");
        told
    }

    #[tokio::test]
    async fn who_sends_no_head_is_given_up_and_who_waits_for_an_answer_is_not() {
        let head = Duration::from_millis(100);
        assert_eq!(asked("", head, Duration::ZERO).await, "");
        assert_eq!(asked("GET / HTTP/1.1\r\nhost:", head, Duration::ZERO).await, "");
        // And once that is there, the next request must not take too long either.
        let told = asked("GET / HTTP/1.1\r\nhost: h\r\n\r\n", head, head * 4).await;
        assert!(told.ends_with("\r\n\r\nhere"), "{told}");
    }

    #[tokio::test]
    async fn who_reads_nothing_is_given_up_and_who_reads_slowly_is_not() {
        let most = Duration::from_millis(200);
        let (stream, _silent) = tokio::io::duplex(1);
        let refused = patient(stream, most).write_all(b"more than fits").await;
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::TimedOut);

        let (stream, mut slow) = tokio::io::duplex(1);
        let mut patient = patient(stream, Duration::from_secs(60));
        let reading = async {
            let mut all = [0; 14];
            slow.read_exact(&mut all).await.map(|_| all)
        };
        let (written, read) = tokio::join!(patient.write_all(b"more than fits"), reading);
        assert!(written.is_ok() && patient.stalled.is_none());
        assert_eq!(&read.unwrap(), b"more than fits");
    }
}
