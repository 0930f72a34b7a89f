//! A connection: sends statements and receives their results. The server may be hostile, so the size of its messages is
//! limited.

use std::io::{Read as _, Write as _};

use bytes::BytesMut;
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::message::backend::{DataRowBody, Header, Message, RowDescriptionBody};
use postgres_protocol::message::frontend::{self, BindError};
use postgres_protocol::{IsNull, Oid};

use crate::failure::{Failure, MAX_BYTES, Refusal};
use crate::rows::to_json;
use crate::stream::Stream;
use provider_table::Rows;

/// Bytes that are read at once.
const CHUNK: usize = 16 << 10;
/// Values and results are texts, not the binary forms of their types.
const TEXT: i16 = 0;

/// An open connection.
pub(crate) struct Connection {
    stream: Box<dyn Stream>,
    received: BytesMut,
    /// Bytes that the server may still send as the answer to this statement.
    budget: usize,
    /// Whether the next statement can be sent.
    pub(crate) is_usable: bool,
}

/// The answer to a statement.
#[derive(Default)]
struct Answer {
    rows: Rows,
    kinds: Vec<Oid>,
    parameters: Vec<Oid>,
}

impl Connection {
    pub(crate) fn new(stream: Box<dyn Stream>) -> Self {
        Self {
            stream,
            received: BytesMut::new(),
            budget: MAX_BYTES,
            is_usable: true,
        }
    }

    /// Runs statements without parameters. Returns the result of the last statement, which has at most a few rows.
    pub(crate) fn run(&mut self, sql: &str) -> Result<Rows, Failure> {
        let mut message = BytesMut::new();
        frontend::query(sql, &mut message)?;
        Ok(self.ask(&message, 1)?.rows)
    }

    /// Runs one statement with these parameters, up to a number of rows.
    pub(crate) fn query(
        &mut self,
        sql: &str,
        parameters: &[Option<&str>],
        limit: usize,
    ) -> Result<Rows, Failure> {
        Ok(self.ask(&statement(sql, parameters, limit)?, limit)?.rows)
    }

    /// Like [`Self::query`], with the rows that the server sent before it refused or ended the statement.
    pub(crate) fn query_partially(
        &mut self,
        sql: &str,
        parameters: &[Option<&str>],
        limit: usize,
    ) -> Result<(Rows, Option<Refusal>), Failure> {
        let (answer, refused) = self.exchange(&statement(sql, parameters, limit)?, limit)?;
        Ok((answer.rows, refused))
    }

    /// The types of the parameters of a statement.
    pub(crate) fn parameters(&mut self, sql: &str) -> Result<Vec<Oid>, Failure> {
        let mut message = BytesMut::new();
        frontend::parse("", sql, [], &mut message)?;
        frontend::describe(b'S', "", &mut message)?;
        frontend::sync(&mut message);
        Ok(self.ask(&message, 0)?.parameters)
    }

    /// Sends messages and receives the answer. Fails if the server refuses a statement.
    fn ask(&mut self, message: &[u8], limit: usize) -> Result<Answer, Failure> {
        let (answer, refused) = self.exchange(message, limit)?;
        refused.map_or(Ok(answer), |refusal| Err(Failure::Refused(refusal)))
    }

    /// Sends messages and receives all messages until the server is ready again.
    fn exchange(
        &mut self,
        message: &[u8],
        limit: usize,
    ) -> Result<(Answer, Option<Refusal>), Failure> {
        self.send(message)?;
        let (mut answer, mut refused) = (Answer::default(), None);
        loop {
            match self.receive()? {
                Message::RowDescription(body) => {
                    answer.describe(&body).map_err(|error| self.broken(error))?
                }
                Message::DataRow(body) => {
                    answer.add(&body, limit).map_err(|why| self.broken(why))?
                }
                Message::ParameterDescription(body) => {
                    answer.parameters = body
                        .parameters()
                        .collect()
                        .map_err(|error| self.broken(error))?;
                }
                Message::ErrorResponse(body) => {
                    let refusal =
                        Refusal::read(body.fields()).map_err(|error| self.broken(error))?;
                    if refusal.is_fatal {
                        self.is_usable = false;
                        return Err(Failure::Refused(refusal));
                    }
                    refused.get_or_insert(refusal);
                }
                Message::ReadyForQuery(_) => break,
                Message::CopyInResponse(_) | Message::CopyOutResponse(_) => {
                    return Err(self.broken("COPY is not possible"));
                }
                _ => {}
            }
        }
        answer.rows.has_more = answer.rows.rows.len() > limit;
        answer.rows.rows.truncate(limit);
        Ok((answer, refused))
    }

    /// Sends messages, and allows an answer of [`MAX_BYTES`].
    pub(crate) fn send(&mut self, message: &[u8]) -> Result<(), Failure> {
        self.budget = MAX_BYTES;
        self.stream
            .write_all(message)
            .and_then(|()| self.stream.flush())
            .map_err(|error| self.broken(error))
    }

    /// Receives the next message.
    pub(crate) fn receive(&mut self) -> Result<Message, Failure> {
        loop {
            let header = Header::parse(&self.received).map_err(|error| self.broken(error))?;
            // The parser reserves memory for the whole message.
            if header.is_some_and(|header| {
                usize::try_from(header.len()).is_ok_and(|length| length > MAX_BYTES)
            }) {
                return Err(self.too_large());
            }
            if let Some(message) =
                Message::parse(&mut self.received).map_err(|error| self.broken(error))?
            {
                return Ok(message);
            }
            let mut chunk = [0; CHUNK];
            let count = self
                .stream
                .read(&mut chunk)
                .map_err(|error| self.broken(error))?;
            if count == 0 {
                return Err(self.broken("the server closed it"));
            }
            self.budget = self
                .budget
                .checked_sub(count)
                .ok_or_else(|| self.too_large())?;
            self.received.extend_from_slice(&chunk[..count]);
        }
    }

    fn broken(&mut self, why: impl ToString) -> Failure {
        self.is_usable = false;
        Failure::Broken(why.to_string())
    }

    fn too_large(&mut self) -> Failure {
        self.is_usable = false;
        Failure::TooLarge
    }
}

impl Answer {
    fn describe(&mut self, body: &RowDescriptionBody) -> std::io::Result<()> {
        (self.rows, self.kinds) = Default::default();
        let mut fields = body.fields();
        while let Some(field) = fields.next()? {
            self.rows.columns.push(field.name().to_owned());
            self.kinds.push(field.type_oid());
        }
        Ok(())
    }

    fn add(&mut self, body: &DataRowBody, limit: usize) -> Result<(), &'static str> {
        let ranges: Vec<_> = body.ranges().collect().map_err(|_| "a row is not valid")?;
        if ranges.len() != self.kinds.len() || self.rows.rows.len() > limit {
            return Err("the server sent other rows than it was asked for");
        }
        let value = |(range, kind): (Option<std::ops::Range<usize>>, &Oid)| {
            to_json(*kind, range.and_then(|range| body.buffer().get(range)))
        };
        self.rows
            .rows
            .push(ranges.into_iter().zip(&self.kinds).map(value).collect());
        Ok(())
    }
}

/// The messages for one statement with these parameters, up to a number of rows.
fn statement(sql: &str, parameters: &[Option<&str>], limit: usize) -> Result<BytesMut, Failure> {
    let mut message = BytesMut::new();
    frontend::parse("", sql, [], &mut message)?;
    let write = |value: Option<&str>, buffer: &mut BytesMut| match value {
        Some(text) => {
            buffer.extend_from_slice(text.as_bytes());
            Ok(IsNull::No)
        }
        None => Ok(IsNull::Yes),
    };
    frontend::bind(
        "",
        "",
        [TEXT],
        parameters.iter().copied(),
        write,
        [TEXT],
        &mut message,
    )
    .map_err(not_bound)?;
    frontend::describe(b'P', "", &mut message)?;
    // One more row shows that there are more.
    frontend::execute(
        "",
        i32::try_from(limit + 1).unwrap_or(i32::MAX),
        &mut message,
    )?;
    frontend::sync(&mut message);
    Ok(message)
}

fn not_bound(error: BindError) -> Failure {
    match error {
        BindError::Conversion(error) => Failure::Broken(error.to_string()),
        BindError::Serialization(error) => error.into(),
    }
}
