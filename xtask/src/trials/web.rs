//! A web server on this machine, with the same page for everybody. It ends with its owner.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::Result;

/// What it has to say.
pub(super) const ANSWER: &str = "hello from outside";

pub(super) struct Web {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Web {
    /// On a free port.
    pub(super) fn open() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let (asked, ends) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let thread = {
            let (asked, ends) = (asked.clone(), ends.clone());
            thread::spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    if ends.load(Ordering::Relaxed) {
                        return;
                    }
                    asked.fetch_add(1, Ordering::Relaxed);
                    // Whoever does not wait for the answer does not get one.
                    let _ = answer(stream);
                }
            })
        };
        Ok(Self { address, asked, ends, thread: Some(thread) })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How often it was asked.
    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let head = BufReader::new(stream.try_clone()?).lines();
    // An empty line ends the head, and nobody sends a body.
    head.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{ANSWER}",
        ANSWER.len()
    )
}

impl Drop for Web {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // Wakes it up; if that fails it is gone already.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
