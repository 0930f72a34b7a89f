//! The line transport: one message per line, as on the standard input and output of a server.

use std::fmt;

use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite,
    AsyncWriteExt as _, BufReader,
};

use super::child::Child;
use super::error::ClientError;
use super::limits::MAX_MESSAGE_BYTES;
use super::message::{ClientMessage, OnMessage, ServerMessage};

pub(super) struct LineTransport {
    input: Box<dyn AsyncBufRead + Send + Unpin>,
    output: Box<dyn AsyncWrite + Send + Unpin>,
    /// The beginning of a line whose rest has not been read. It is kept when a `receive` future is dropped.
    partial_line: Vec<u8>,
    /// The request without an answer yet.
    pending_request: Option<u64>,
    child: Option<Box<Child>>,
}

impl fmt::Debug for LineTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LineTransport")
    }
}

impl LineTransport {
    pub(super) fn new<R, W>(input: R, output: W) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let input = Box::new(BufReader::new(input));
        let output = Box::new(output);
        Self {
            input,
            output,
            partial_line: Vec::new(),
            pending_request: None,
            child: None,
        }
    }

    /// Sets the server process, which [`Self::close`] ends.
    pub(super) fn with_child(self, child: Child) -> Self {
        Self {
            child: Some(Box::new(child)),
            ..self
        }
    }

    pub(super) async fn exchange(
        &mut self,
        request: &ClientMessage<'_>,
        on_message: OnMessage<'_>,
    ) -> Result<ServerMessage, ClientError> {
        // The future of the previous request may have been dropped before its answer arrived.
        self.cancel_pending().await?;
        self.pending_request = request.id;
        self.send(&request.body).await?;
        loop {
            let message = self.receive().await?;
            if message.answers(request.id) {
                self.pending_request = None;
                return Ok(message);
            }
            if let Some(reply) = message.reply() {
                self.send(&reply).await?;
            } else if on_message(&message).is_break() {
                self.cancel_pending().await?;
                return Err(ClientError::Cancelled);
            }
        }
    }

    /// Cancels the request without an answer, if there is one.
    pub(super) async fn cancel_pending(&mut self) -> Result<(), ClientError> {
        match self.pending_request.take() {
            Some(id) => self.send(&ClientMessage::cancellation(id).body).await,
            None => Ok(()),
        }
    }

    pub(super) async fn send(&mut self, body: &str) -> Result<(), ClientError> {
        let line = format!("{body}\n");
        self.output
            .write_all(line.as_bytes())
            .await
            .map_err(|_| ClientError::Closed)?;
        self.output.flush().await.map_err(|_| ClientError::Closed)
    }

    /// Returns the next message. Cancel safe.
    pub(super) async fn receive(&mut self) -> Result<ServerMessage, ClientError> {
        loop {
            let left = (MAX_MESSAGE_BYTES + 1).saturating_sub(self.partial_line.len()) as u64;
            let mut bounded = (&mut self.input).take(left);
            bounded
                .read_until(b'\n', &mut self.partial_line)
                .await
                .map_err(|_| ClientError::Closed)?;
            let line = std::mem::take(&mut self.partial_line);
            return match line.last() {
                None => Err(ClientError::Closed),
                Some(_) if line.len() > MAX_MESSAGE_BYTES => Err(ClientError::TooLarge),
                Some(_) if line.trim_ascii().is_empty() => continue,
                Some(_) => ServerMessage::parse(&line),
            };
        }
    }

    /// Closes the input and output, and waits for the server process if there is one.
    pub(super) async fn close(self) {
        let Self {
            input,
            output,
            child,
            ..
        } = self;
        drop((input, output));
        if let Some(child) = child {
            child.end().await;
        }
    }
}
