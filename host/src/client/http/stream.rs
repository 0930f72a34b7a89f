//! The messages of one response, as they come.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use reqwest::{Response, Url};

use super::events::Events;
use super::{LARGEST, failed};
use crate::client::error::ClientError;
use crate::client::message::Incoming;

/// How often a stream that broke is gone back to, before something comes of it.
const TRIES: u32 = 3;
/// How long to wait before that, if the server says nothing about it.
const PAUSE: Duration = Duration::from_secs(1);

pub(in crate::client) struct Messages {
    chunks: BoxStream<'static, reqwest::Result<Bytes>>,
    events: Events,
    url: Url,
    tries: u32,
}

/// Where and when to go on with a stream that broke.
#[derive(Debug)]
pub(super) struct Again {
    pub(super) last: String,
    pub(super) pause: Duration,
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Messages")
    }
}

impl Messages {
    pub(super) fn of(response: Response, url: Url) -> Self {
        Self { chunks: response.bytes_stream().fuse().boxed(), events: Events::default(), url, tries: 0 }
    }

    /// The next message; none at the end.
    pub(in crate::client) async fn next(&mut self) -> Result<Option<Incoming>, ClientError> {
        loop {
            if let Some(event) = self.events.next() {
                self.tries = 0;
                return Incoming::parse(event.as_bytes()).map(Some);
            }
            if self.events.held() > LARGEST {
                return Err(ClientError::TooLarge);
            }
            match self.chunks.next().await {
                Some(chunk) => self.events.push(&chunk.map_err(|error| failed(&self.url, &error))?),
                None => return Ok(None),
            }
        }
    }

    /// How to go on after the end, if the server named its events and has not been asked too often.
    pub(super) fn again(&mut self) -> Option<Again> {
        let last = self.events.last()?.to_owned();
        self.tries += 1;
        let pause = self.events.retry().unwrap_or(PAUSE);
        (self.tries <= TRIES).then_some(Again { last, pause })
    }

    /// Goes on with another response.
    pub(super) fn go_on(&mut self, response: Response) {
        self.chunks = response.bytes_stream().fuse().boxed();
        self.events.begin_anew();
    }
}
