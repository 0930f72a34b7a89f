//! As much of an HTTP client as a soak needs: one connection, one question at a time.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

/// Above what any answer of a soak takes.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Peer {
    host: String,
    stream: BufReader<TcpStream>,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) session: Option<String>,
    pub(crate) body: Value,
}

impl Peer {
    pub(crate) fn connect(url: &str) -> Result<Self> {
        let host = url.strip_prefix("http://").and_then(|rest| rest.split('/').next());
        let host = host.context("an http URL")?.to_owned();
        let stream = TcpStream::connect(&host)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { host, stream: BufReader::new(stream) })
    }

    /// Asks in the modern era.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Result<Value> {
        self.send(method, params)?;
        let answer = self.answer()?;
        ensure!(answer.status == 200, "{method}: {} {}", answer.status, answer.body);
        ensure!(answer.body["result"].is_object(), "{method}: {}", answer.body);
        Ok(answer.body["result"].clone())
    }

    /// Begins to listen, and gives each line with a message, until it is enough or nothing comes for a while.
    pub(crate) fn listen(
        mut self,
        params: Value,
        quiet: Duration,
        mut goes_on: impl FnMut(&str) -> bool,
    ) -> Result<()> {
        self.send("subscriptions/listen", params)?;
        let (status, _) = self.head()?;
        ensure!(status == 200, "subscriptions/listen: {status}");
        self.stream.get_ref().set_read_timeout(Some(quiet))?;
        let mut line = Vec::new();
        loop {
            line.clear();
            match self.stream.read_until(b'\n', &mut line) {
                Ok(0) => bail!("the stream of notifications ended by itself"),
                Ok(_) if !line.starts_with(b"data:") || goes_on(&String::from_utf8_lossy(&line)) => {}
                Ok(_) => return Ok(()),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn send(&mut self, method: &str, mut params: Value) -> Result<()> {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let mut headers = format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n");
        if let Some(uri) = params["uri"].as_str() {
            headers += &format!("mcp-name: {uri}\r\n");
        }
        self.request(
            "POST",
            &headers,
            &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }),
        )
    }

    /// Asks in a session of the legacy era, or to have one.
    pub(crate) fn legacy(&mut self, session: Option<&str>, method: &str, params: Value) -> Result<Answer> {
        let headers = session.map(|id| format!("mcp-session-id: {id}\r\n")).unwrap_or_default();
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.request("POST", &headers, &body)?;
        self.answer()
    }

    /// Ends a session.
    pub(crate) fn end(&mut self, session: &str) -> Result<()> {
        self.request("DELETE", &format!("mcp-session-id: {session}\r\n"), &Value::Null)?;
        let status = self.answer()?.status;
        ensure!((200..300).contains(&status), "DELETE of a session: {status}");
        Ok(())
    }

    fn request(&mut self, verb: &str, headers: &str, body: &Value) -> Result<()> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let host = &self.host;
        let head = format!(
            "{verb} /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n{headers}\r\n",
            body.len()
        );
        Ok(self.stream.get_mut().write_all(format!("{head}{body}").as_bytes())?)
    }

    fn answer(&mut self) -> Result<Answer> {
        let (status, headers) = self.head()?;
        let length = find(&headers, "content-length").map_or(Ok(0), str::parse)?;
        ensure!(find(&headers, "transfer-encoding").is_none(), "an answer in chunks was not asked for");
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes)?;
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(Answer { status, session: find(&headers, "mcp-session-id").map(ToOwned::to_owned), body })
    }

    fn head(&mut self) -> Result<(u16, Vec<(String, String)>)> {
        let status = self.line()?.split(' ').nth(1).unwrap_or_default().parse().context("no status line")?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            match line.split_once(':') {
                Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
                None if line.is_empty() => return Ok((status, headers)),
                None => bail!("no header: {line}"),
            }
        }
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.stream.read_line(&mut line)? > 0, "the server closed the connection");
        Ok(line.trim_end().to_owned())
    }
}

fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
}
