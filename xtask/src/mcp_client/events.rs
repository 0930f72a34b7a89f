//! A stream of server-sent events in a response of HTTP/1.1.

use std::io::{self, BufRead as _, BufReader, Read};
use std::net::TcpStream;
use std::time::Duration;

/// A message of a stream.
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) data: String,
    /// How long the client should wait before it connects again after the end of the stream.
    pub(crate) retry: Option<Duration>,
}

pub(crate) struct Events(BufReader<Body>);

impl Events {
    pub(super) fn new(stream: BufReader<TcpStream>, headers: &[(String, String)]) -> Self {
        let is_chunked = super::find(headers, "transfer-encoding").is_some();
        Self(BufReader::new(Body {
            stream,
            is_chunked,
            left: 0,
            ended: false,
        }))
    }

    pub(super) fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.0
            .get_ref()
            .stream
            .get_ref()
            .set_read_timeout(Some(timeout))
    }

    /// The connection. If it is shut down, the stream ends.
    pub(crate) fn connection(&self) -> io::Result<TcpStream> {
        self.0.get_ref().stream.get_ref().try_clone()
    }

    /// The next message; none if the server ended the stream. A broken connection is an error.
    pub(crate) fn next(&mut self) -> io::Result<Option<Event>> {
        let mut event = Event {
            id: None,
            data: String::new(),
            retry: None,
        };
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            let line = line.trim_end_matches(['\r', '\n']);
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "id" => event.id = Some(value.to_owned()),
                "data" => event.data += value,
                "retry" => event.retry = value.parse().ok().map(Duration::from_millis),
                // A comment keeps the connection alive. Text without a field is not an event.
                "" if line.is_empty()
                    && (event.id.is_some() || event.retry.is_some() || !event.data.is_empty()) =>
                {
                    return Ok(Some(event));
                }
                _ => {}
            }
        }
    }
}

/// The body of a response, with or without chunks.
struct Body {
    stream: BufReader<TcpStream>,
    is_chunked: bool,
    /// The bytes that remain of the current chunk.
    left: usize,
    ended: bool,
}

impl Body {
    fn begin_chunk(&mut self) -> io::Result<()> {
        let mut line = String::new();
        while line.trim().is_empty() {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        self.left = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
        self.ended = self.left == 0;
        Ok(())
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.is_chunked {
            return self.stream.read(buffer);
        }
        if self.left == 0 && !self.ended {
            self.begin_chunk()?;
        }
        if self.ended {
            return Ok(0);
        }
        let length = buffer.len().min(self.left);
        let read = self.stream.read(&mut buffer[..length])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= read;
        Ok(read)
    }
}
