//! The stream of messages in one HTTP response.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use reqwest::{Response, Url};

use super::error::request_error;
use super::events::SseParser;
use crate::error::ClientError;
use crate::limits::MAX_MESSAGE_BYTES;
use crate::message::ServerMessage;

/// How many times in a row a broken stream is resumed without receiving a message.
const MAX_RESUME_ATTEMPTS: u32 = 3;
/// The delay before a stream is resumed, if the server does not send one.
const DEFAULT_RETRY_DELAY: Duration = Duration::from_secs(1);

pub(crate) struct MessageStream {
    chunks: BoxStream<'static, reqwest::Result<Bytes>>,
    events: SseParser,
    url: Url,
    attempts: u32,
}

/// Where and when to resume a broken stream.
#[derive(Debug)]
pub(super) struct ResumePoint {
    pub(super) last_event_id: String,
    pub(super) delay: Duration,
}

impl fmt::Debug for MessageStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MessageStream")
    }
}

impl MessageStream {
    pub(super) fn new(response: Response, url: Url) -> Self {
        Self {
            chunks: response.bytes_stream().fuse().boxed(),
            events: SseParser::default(),
            url,
            attempts: 0,
        }
    }

    /// Returns the next message. None at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<ServerMessage>, ClientError> {
        loop {
            if let Some(event) = self.events.next() {
                self.attempts = 0;
                return ServerMessage::parse(event.as_bytes()).map(Some);
            }
            if self.events.buffered_bytes() > MAX_MESSAGE_BYTES {
                return Err(ClientError::TooLarge);
            }
            match self.chunks.next().await {
                Some(chunk) => self
                    .events
                    .push(&chunk.map_err(|error| request_error(&self.url, &error))?),
                None => return Ok(None),
            }
        }
    }

    /// Returns where to resume the stream after its end. None if the server sent no event ids, or if no attempts are
    /// left.
    pub(super) fn resume_point(&mut self) -> Option<ResumePoint> {
        let last_event_id = self.events.last_event_id()?.to_owned();
        self.attempts = self.attempts.saturating_add(1);
        let delay = self.events.retry_delay().unwrap_or(DEFAULT_RETRY_DELAY);
        (self.attempts <= MAX_RESUME_ATTEMPTS).then_some(ResumePoint {
            last_event_id,
            delay,
        })
    }

    /// Returns how long the server wants clients to wait before they reconnect.
    pub(crate) fn retry_delay(&self) -> Option<Duration> {
        self.events.retry_delay()
    }

    /// Continues with another response.
    pub(super) fn resume(&mut self, response: Response) {
        self.chunks = response.bytes_stream().fuse().boxed();
        self.events.reset();
    }
}
