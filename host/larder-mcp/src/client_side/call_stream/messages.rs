//! The messages of a call before its response: progress, log messages, and requests to a legacy client.

use std::collections::VecDeque;

use tokio::sync::mpsc;

use super::StreamItem;
use crate::client_side::log_notification;
use crate::wire::fields::Fields;
use crate::wire::json_writer::object;
use crate::wire::message::Id;
use crate::wire::rpc_error::{INVALID_PARAMS, RpcError};
use larder_model::interaction::LogMessage;
use larder_model::resource::Progress;

/// Maximum number of progress reports that wait for a slow client. Further reports are dropped, because the next report
/// replaces them.
const QUEUE_CAPACITY: usize = 16;
/// Maximum number of requests to the client that wait to be sent.
const REQUEST_QUEUE: usize = 16;

/// Encodes the messages of one call.
#[derive(Debug, Default)]
pub(crate) struct CallMessages {
    progress: Option<ProgressReceiver>,
    log: Option<mpsc::Receiver<LogMessage>>,
    requests: Option<mpsc::Receiver<Vec<u8>>>,
}

#[derive(Debug)]
struct ProgressReceiver {
    token: Id,
    events: mpsc::Receiver<Progress>,
    last: f64,
}

impl CallMessages {
    /// Reads the progress token, if there is one, and returns the sender for the call's progress reports.
    pub(crate) fn new(
        meta: &Fields<'_>,
    ) -> Result<(Self, Option<mpsc::Sender<Progress>>), RpcError> {
        let Some(raw) = meta.get("progressToken") else {
            return Ok((Self::default(), None));
        };
        let token = Id::read(raw).ok_or_else(|| {
            RpcError::new(
                INVALID_PARAMS,
                "`_meta.progressToken` must be a string or an integer",
            )
        })?;
        let (sender, events) = mpsc::channel(QUEUE_CAPACITY);
        let progress = Some(ProgressReceiver {
            token,
            events,
            last: f64::NEG_INFINITY,
        });
        Ok((
            Self {
                progress,
                ..Self::default()
            },
            Some(sender),
        ))
    }

    /// Adds log messages for the client.
    pub(crate) fn set_log(&mut self, log: Option<mpsc::Receiver<LogMessage>>) {
        self.log = log;
    }

    /// Adds requests to the client, and returns their sender.
    pub(crate) fn add_requests(&mut self) -> mpsc::Sender<Vec<u8>> {
        let (sender, receiver) = mpsc::channel(REQUEST_QUEUE);
        self.requests = Some(receiver);
        sender
    }

    /// Whether the client requested messages, so that its response may have to be a stream.
    pub(crate) fn are_requested(&self) -> bool {
        self.progress.is_some() || self.log.is_some()
    }

    /// Waits for the next message. Returns `None` when there are no more.
    pub(super) async fn next(&mut self) -> Option<StreamItem> {
        tokio::select! {
            biased;
            Some(bytes) = next_progress(&mut self.progress) => Some(StreamItem::Message(bytes)),
            Some(message) = receive(&mut self.log) => Some(StreamItem::Message(log_notification(&message))),
            Some(bytes) = receive(&mut self.requests) => Some(StreamItem::Question(bytes)),
            else => None,
        }
    }

    /// Lets requests to the client fail.
    pub(super) fn drop_requests(&mut self) {
        self.requests = None;
    }

    /// Returns the pending notifications. Requests to the client that were not sent are omitted, because nobody waits
    /// for their answers any more.
    pub(super) fn drain(&mut self) -> VecDeque<Vec<u8>> {
        let Self {
            progress,
            log,
            requests: _,
        } = std::mem::take(self);
        let mut pending = VecDeque::new();
        if let Some(mut receiver) = progress {
            while let Ok(report) = receiver.events.try_recv() {
                pending.extend(receiver.notification(&report));
            }
        }
        if let Some(mut log) = log {
            while let Ok(message) = log.try_recv() {
                pending.push_back(log_notification(&message));
            }
        }
        pending
    }
}

async fn next_progress(progress: &mut Option<ProgressReceiver>) -> Option<Vec<u8>> {
    let receiver = progress.as_mut()?;
    loop {
        let report = receiver.events.recv().await?;
        if let Some(bytes) = receiver.notification(&report) {
            return Some(bytes);
        }
    }
}

async fn receive<T>(receiver: &mut Option<mpsc::Receiver<T>>) -> Option<T> {
    receiver.as_mut()?.recv().await
}

impl ProgressReceiver {
    /// Encodes a report. The protocol requires that progress increases, so other reports are dropped.
    fn notification(&mut self, progress: &Progress) -> Option<Vec<u8>> {
        if !progress.done.is_finite() || progress.done <= self.last {
            return None;
        }
        self.last = progress.done;
        Some(object(|o| {
            o.text("jsonrpc", "2.0");
            o.text("method", "notifications/progress");
            o.object("params", |o| {
                o.json("progressToken", self.token.json());
                o.number("progress", progress.done);
                if let Some(total) = progress.total {
                    o.number("total", total);
                }
                o.optional_text("message", progress.message.as_deref());
            });
        }))
    }
}
