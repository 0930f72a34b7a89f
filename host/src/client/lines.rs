//! One message per line, over any pair of streams.

use std::fmt;

use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
    BufReader,
};

use super::error::ClientError;
use super::http::LARGEST;
use super::message::{Incoming, Outgoing};

pub(super) struct Lines {
    input: Box<dyn AsyncBufRead + Send + Unpin>,
    output: Box<dyn AsyncWrite + Send + Unpin>,
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
        Self { input: Box::new(BufReader::new(input)), output: Box::new(output) }
    }

    pub(super) async fn exchange(&mut self, request: &Outgoing<'_>) -> Result<Incoming, ClientError> {
        self.send(&request.body).await?;
        loop {
            let message = self.receive().await?;
            if message.answers(request.id) {
                return Ok(message);
            }
            if let Some(reply) = message.reply() {
                self.send(&reply).await?;
            }
        }
    }

    pub(super) async fn send(&mut self, body: &str) -> Result<(), ClientError> {
        let line = format!("{body}\n");
        self.output.write_all(line.as_bytes()).await.map_err(|_| ClientError::Closed)?;
        self.output.flush().await.map_err(|_| ClientError::Closed)
    }

    pub(super) async fn receive(&mut self) -> Result<Incoming, ClientError> {
        let mut line = Vec::new();
        let mut bounded = (&mut self.input).take(LARGEST as u64 + 1);
        bounded.read_until(b'\n', &mut line).await.map_err(|_| ClientError::Closed)?;
        match line.last() {
            None => Err(ClientError::Closed),
            Some(_) if line.len() > LARGEST => Err(ClientError::TooLarge),
            Some(_) => Incoming::parse(&line),
        }
    }
}
