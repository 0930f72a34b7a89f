//! A local web server that responds to every request with the same page. It runs until this process ends.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::Result;

/// The body of every response.
pub(super) const BODY: &str = "hello from outside";

pub(super) struct WebServer {
    address: SocketAddr,
    requests: Arc<AtomicUsize>,
}

impl WebServer {
    /// Starts the server on a free port.
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let (address, requests) = (listener.local_addr()?, Arc::<AtomicUsize>::default());
        let counter = requests.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                counter.fetch_add(1, Ordering::Relaxed);
                // An error means that the client disconnected.
                let _ = respond(stream);
            }
        });
        Ok(Self { address, requests })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The number of requests so far.
    pub(super) fn request_count(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

fn respond(mut stream: TcpStream) -> std::io::Result<()> {
    let head = BufReader::new(stream.try_clone()?).lines();
    // The head ends with an empty line. The requests have no body.
    head.map_while(Result::ok)
        .take_while(|line| !line.is_empty())
        .for_each(drop);
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{BODY}",
        BODY.len()
    )
}
