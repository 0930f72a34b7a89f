//! A local web server that responds to every request with the same page. It stops when it is dropped.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::Result;

/// The body of every response.
pub(super) const BODY: &str = "hello from outside";

pub(super) struct WebServer {
    address: SocketAddr,
    requests: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl WebServer {
    /// Starts the server on a free port.
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let (requests, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let thread = {
            let (requests, stop) = (requests.clone(), stop.clone());
            thread::spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    requests.fetch_add(1, Ordering::Relaxed);
                    // An error means that the client disconnected.
                    let _ = respond(stream);
                }
            })
        };
        Ok(Self { address, requests, stop, thread: Some(thread) })
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
    head.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{BODY}",
        BODY.len()
    )
}

impl Drop for WebServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // The connection wakes up the thread. If it fails, the thread has already ended.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
