//! The stdio transport: one message per line. Only messages are written to the output.

mod lines;

use std::io;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

use self::lines::{Line, Lines};
use super::message_stream::{Transport, TransportEvent};
use crate::Endpoint;
use crate::outgoing::unsent::UnsentMessage;
use crate::wire::rpc_error::{PARSE_ERROR, RpcError};
use larder_model::size;

impl Endpoint {
    /// Serves one client until its input ends or the server stops.
    pub async fn serve_stdio<R, W>(&self, input: R, output: W) -> io::Result<()>
    where
        R: AsyncRead + Unpin + Send,
        W: AsyncWrite + Unpin + Send,
    {
        let max_len = self.0.settings.load().body_limit;
        let lines = Lines::new(BufReader::new(input), max_len);
        self.serve_message_stream(LineTransport {
            lines,
            max_len,
            output,
        })
        .await
    }
}

/// Messages as lines of two byte streams.
struct LineTransport<R, W> {
    lines: Lines<BufReader<R>>,
    max_len: usize,
    output: W,
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send> Transport for LineTransport<R, W> {
    async fn receive(&mut self) -> io::Result<TransportEvent> {
        loop {
            return Ok(match self.lines.next().await? {
                Line::Complete(bytes) if bytes.trim_ascii().is_empty() => continue,
                Line::Complete(bytes) => TransportEvent::Message(bytes),
                Line::TooLong => {
                    let why = format!("the line has more than {}", size::show(self.max_len as u64));
                    TransportEvent::Invalid(RpcError::new(PARSE_ERROR, why))
                }
                Line::End => TransportEvent::End,
            });
        }
    }

    async fn send(&mut self, message: UnsentMessage) -> io::Result<()> {
        match message {
            UnsentMessage::Small(mut bytes) => {
                bytes.push(b'\n');
                self.output.write_all(&bytes).await?;
            }
            UnsentMessage::Large(mut parts) => {
                while let Some(piece) = parts.next_piece().await {
                    self.output.write_all(&piece).await?;
                }
                self.output.write_all(b"\n").await?;
            }
        }
        self.output.flush().await
    }
}
