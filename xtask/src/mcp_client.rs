//! A minimal MCP client over HTTP, for tests that check single requests: one connection, one request at a time. It is not
//! `larder-client`, whose libraries for HTTP and TLS would be compiled before the first command of the README begins.

mod events;

pub(crate) use self::events::{Event, Events};

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

/// Longer than any response takes.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    host: String,
    token: Option<String>,
    stream: BufReader<TcpStream>,
}

pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) session: Option<String>,
    pub(crate) body: Value,
}

impl Client {
    pub(crate) fn connect(url: &str) -> Result<Self> {
        let host = url
            .strip_prefix("http://")
            .and_then(|rest| rest.split('/').next());
        let host = host.context("an http URL")?.to_owned();
        let stream = TcpStream::connect(&host)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        Ok(Self {
            host,
            token: None,
            stream: BufReader::new(stream),
        })
    }

    /// Sends this token with each request.
    pub(crate) fn with_token(self, token: &str) -> Self {
        Self {
            token: Some(token.to_owned()),
            ..self
        }
    }

    /// Sends a request of the modern era and returns its result.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        self.send_modern(method, params)?;
        let response = self.receive()?;
        ensure!(
            response.status == 200,
            "{method}: {} {}",
            response.status,
            response.body
        );
        ensure!(
            response.body["result"].is_object(),
            "{method}: {}",
            response.body
        );
        Ok(response.body["result"].clone())
    }

    /// Subscribes and calls `on_message` for each message line, until it returns false or no message arrives
    /// within `idle_timeout`.
    pub(crate) fn listen(
        mut self,
        params: Value,
        idle_timeout: Duration,
        mut on_message: impl FnMut(&str) -> bool,
    ) -> Result<()> {
        self.send_modern("subscriptions/listen", params)?;
        let mut events = self.receive_events("subscriptions/listen")?;
        events.set_read_timeout(idle_timeout)?;
        loop {
            match events.next() {
                Ok(None) => bail!("the server closed the notification stream"),
                Ok(Some(event)) if on_message(&event.data) => {}
                Ok(Some(_)) => return Ok(()),
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Opens the stream of a session, after the event with this ID if there is one. If the server refuses the stream,
    /// returns the status.
    pub(crate) fn session_stream(
        mut self,
        session: &str,
        last_event: Option<&str>,
    ) -> Result<Result<Events, u16>> {
        let mut headers = format!("mcp-session-id: {session}\r\n");
        if let Some(id) = last_event {
            headers += &format!("last-event-id: {id}\r\n");
        }
        self.send("GET", &headers, &Value::Null)?;
        let (status, headers) = self.receive_head()?;
        Ok(if status == 200 {
            Ok(Events::new(self.stream, &headers))
        } else {
            Err(status)
        })
    }

    fn receive_events(mut self, method: &str) -> Result<Events> {
        let (status, headers) = self.receive_head()?;
        ensure!(status == 200, "{method}: {status}");
        Ok(Events::new(self.stream, &headers))
    }

    fn send_modern(&mut self, method: &str, mut params: Value) -> Result<()> {
        let meta = &mut params["_meta"];
        meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        let mut headers = format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n");
        if let Some(uri) = params["uri"].as_str() {
            headers += &format!("mcp-name: {uri}\r\n");
        }
        self.send(
            "POST",
            &headers,
            &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }),
        )
    }

    /// Sends a request of the legacy era, with a session ID unless it opens a session.
    pub(crate) fn legacy(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Response> {
        let headers = session
            .map(|id| format!("mcp-session-id: {id}\r\n"))
            .unwrap_or_default();
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.send("POST", &headers, &body)?;
        self.receive()
    }

    pub(crate) fn end_session(&mut self, session: &str) -> Result<()> {
        self.send(
            "DELETE",
            &format!("mcp-session-id: {session}\r\n"),
            &Value::Null,
        )?;
        let status = self.receive()?.status;
        ensure!(
            (200..300).contains(&status),
            "DELETE of a session: {status}"
        );
        Ok(())
    }

    fn send(&mut self, verb: &str, headers: &str, body: &Value) -> Result<()> {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let host = &self.host;
        let token = self
            .token
            .as_ref()
            .map(|token| format!("authorization: Bearer {token}\r\n"));
        let headers = format!("{headers}{}", token.unwrap_or_default());
        let head = format!(
            "{verb} /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n{headers}\r\n",
            body.len()
        );
        Ok(self
            .stream
            .get_mut()
            .write_all(format!("{head}{body}").as_bytes())?)
    }

    fn receive(&mut self) -> Result<Response> {
        let (status, headers) = self.receive_head()?;
        let length = find(&headers, "content-length").map_or(Ok(0), str::parse)?;
        ensure!(
            find(&headers, "transfer-encoding").is_none(),
            "unexpected chunked response"
        );
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes)?;
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(Response {
            status,
            session: find(&headers, "mcp-session-id").map(ToOwned::to_owned),
            body,
        })
    }

    fn receive_head(&mut self) -> Result<(u16, Vec<(String, String)>)> {
        let line = self.read_line()?;
        let status = line
            .split(' ')
            .nth(1)
            .unwrap_or_default()
            .parse()
            .context("invalid status line")?;
        let mut headers = Vec::new();
        loop {
            let line = self.read_line()?;
            match line.split_once(':') {
                Some((name, value)) => {
                    headers.push((name.to_ascii_lowercase(), value.trim().to_owned()))
                }
                None if line.is_empty() => return Ok((status, headers)),
                None => bail!("invalid header: {line}"),
            }
        }
    }

    fn read_line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(
            self.stream.read_line(&mut line)? > 0,
            "the server closed the connection"
        );
        Ok(line.trim_end().to_owned())
    }
}

fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers
        .iter()
        .find(|(other, _)| other == name)
        .map(|(_, value)| value.as_str())
}
