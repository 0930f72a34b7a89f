//! One message per line, as on the standard input and output of a server.

use std::fmt;

use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
    BufReader,
};

use super::Hear;
use super::child::Child;
use super::error::ClientError;
use super::http::LARGEST;
use super::message::{Incoming, Outgoing};

pub(super) struct Lines {
    input: Box<dyn AsyncBufRead + Send + Unpin>,
    output: Box<dyn AsyncWrite + Send + Unpin>,
    /// The beginning of a line, while nobody waits for the rest.
    line: Vec<u8>,
    /// The request whose answer nobody has seen yet.
    open: Option<u64>,
    child: Option<Box<Child>>,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lines")
    }
}

impl Lines {
    pub(super) fn new<R, W>(input: R, output: W) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (input, output) = (Box::new(BufReader::new(input)), Box::new(output));
        Self { input, output, line: Vec::new(), open: None, child: None }
    }

    /// The process at the other end.
    pub(super) fn with_child(self, child: Child) -> Self {
        Self { child: Some(Box::new(child)), ..self }
    }

    pub(super) async fn exchange(
        &mut self,
        request: &Outgoing<'_>,
        hear: Hear<'_>,
    ) -> Result<Incoming, ClientError> {
        // Whoever asked before may have gone in the middle of it.
        self.cancel_open().await?;
        self.open = request.id;
        self.send(&request.body).await?;
        loop {
            let message = self.receive().await?;
            if message.answers(request.id) {
                self.open = None;
                return Ok(message);
            }
            if let Some(reply) = message.reply() {
                self.send(&reply).await?;
            } else if hear(&message).is_break() {
                self.cancel_open().await?;
                return Err(ClientError::Cancelled);
            }
        }
    }

    /// Says that nobody waits for the answer that was not waited for to its end.
    pub(super) async fn cancel_open(&mut self) -> Result<(), ClientError> {
        match self.open.take() {
            Some(id) => self.send(&Outgoing::cancellation(id).body).await,
            None => Ok(()),
        }
    }

    pub(super) async fn send(&mut self, body: &str) -> Result<(), ClientError> {
        let line = format!("{body}\n");
        self.output.write_all(line.as_bytes()).await.map_err(|_| ClientError::Closed)?;
        self.output.flush().await.map_err(|_| ClientError::Closed)
    }

    /// The next message. May be dropped and called again without loss.
    pub(super) async fn receive(&mut self) -> Result<Incoming, ClientError> {
        loop {
            let left = (LARGEST + 1).saturating_sub(self.line.len()) as u64;
            let mut bounded = (&mut self.input).take(left);
            bounded.read_until(b'\n', &mut self.line).await.map_err(|_| ClientError::Closed)?;
            let line = std::mem::take(&mut self.line);
            return match line.last() {
                None => Err(ClientError::Closed),
                Some(_) if line.len() > LARGEST => Err(ClientError::TooLarge),
                Some(_) if line.trim_ascii().is_empty() => continue,
                Some(_) => Incoming::parse(&line),
            };
        }
    }

    /// Ends the output, and the process with it if there is one.
    pub(super) async fn close(self) {
        let Self { input, output, child, .. } = self;
        drop((input, output));
        if let Some(child) = child {
            child.end().await;
        }
    }
}
