//! The messages of one response, as they come.

use std::fmt;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use reqwest::{Response, Url};

use super::events::Events;
use super::{LARGEST, failed};
use crate::client::error::ClientError;
use crate::client::message::Incoming;

pub(in crate::client) struct Messages {
    chunks: BoxStream<'static, reqwest::Result<Bytes>>,
    events: Events,
    url: Url,
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Messages")
    }
}

impl Messages {
    pub(super) fn of(response: Response, url: Url) -> Self {
        Self { chunks: response.bytes_stream().boxed(), events: Events::default(), url }
    }

    /// The next message; none at the end.
    pub(in crate::client) async fn next(&mut self) -> Result<Option<Incoming>, ClientError> {
        loop {
            if let Some(event) = self.events.next() {
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
}
