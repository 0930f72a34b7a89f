//! Receives the answer of the authorization server: the browser follows a redirect to a port of this machine
//! (RFC 8252).

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::error::SignInError;

const PATH: &str = "/callback";
/// Browsers open connections on which they send nothing.
const MAX_CONNECTIONS: usize = 32;
const MAX_HEAD: usize = 16 << 10;
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);

const DONE: &str =
    "Larder has received the answer. You can close this page and return to the terminal.";
const NOT_FOUND: &str = "This page does not exist.";

/// Listens on the loopback address.
pub(super) struct RedirectListener {
    listener: TcpListener,
    pub(super) port: u16,
}

impl RedirectListener {
    /// Listens on one of these ports, the first that is free. Port 0 is any free port.
    pub(super) async fn bind(ports: &[u16]) -> io::Result<Self> {
        let mut result = Err(io::ErrorKind::InvalidInput.into());
        for port in ports {
            result = TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).await;
            if result.is_ok() {
                break;
            }
        }
        let listener = result?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    pub(super) fn uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Returns the query of the first request for the path of the redirect. Afterwards nothing listens any more.
    pub(super) async fn query(self) -> io::Result<String> {
        let mut connections = FuturesUnordered::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                    let (stream, _) = accepted?;
                    connections.push(timeout(CONNECTION_TIMEOUT, receive(stream)));
                }
                Some(result) = connections.next() => {
                    if let Ok(Ok(Some(query))) = result {
                        return Ok(query);
                    }
                }
            }
        }
    }
}

pub(super) fn listener_error(error: io::Error) -> SignInError {
    SignInError::System(format!(
        "the answer of the browser cannot be received: {error}"
    ))
}

/// Answers one request. Returns the query if the request is for the path of the redirect.
async fn receive(mut stream: TcpStream) -> io::Result<Option<String>> {
    let head = read_head(&mut stream).await?;
    let query = query_of(&head).map(str::to_owned);
    let page = match &query {
        Some(_) => response("200 OK", DONE),
        None => response("404 Not Found", NOT_FOUND),
    };
    // The query counts also if the browser does not wait for the page.
    let written = stream.write_all(page.as_bytes()).await;
    if written.is_ok() {
        _ = stream.shutdown().await;
    }
    Ok(query)
}

async fn read_head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut chunk).await?;
        if count == 0 || head.len() > MAX_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.extend_from_slice(&chunk[..count]);
    }
    String::from_utf8(head).map_err(|_| io::ErrorKind::InvalidData.into())
}

fn query_of(head: &str) -> Option<&str> {
    let target = head.strip_prefix("GET ")?.split(' ').next()?;
    target.strip_prefix(PATH)?.strip_prefix('?')
}

fn response(status: &str, text: &str) -> String {
    let body = format!("<!doctype html><meta charset=utf-8><title>Larder</title><p>{text}</p>\n");
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\n\
         content-security-policy: default-src 'none'\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}
