//! TCP servers of these tests.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// A server that counts its connections.
pub(super) struct TcpServer {
    pub(super) port: u16,
    counters: Arc<Counters>,
}

#[derive(Default)]
struct Counters {
    accepted: AtomicUsize,
    open: AtomicUsize,
    sent: AtomicU64,
}

impl TcpServer {
    /// Answers each line with the number of the line in its connection.
    pub(super) fn answering() -> Self {
        Self::new(|stream, _| {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let mut number = 0;
            while let Some(Ok(line)) = lines.next() {
                number += 1;
                if stream
                    .write_all(format!("{line} {number}\n").as_bytes())
                    .is_err()
                {
                    return;
                }
            }
        })
    }

    /// Accepts connections, and never sends anything.
    pub(super) fn silent() -> Self {
        Self::new(|stream, _| until_closed(stream))
    }

    /// Sends as long as the client receives.
    pub(super) fn endless() -> Self {
        Self::new(|stream, counters| {
            let bytes = [7; 32 << 10];
            stream
                .set_write_timeout(Some(Duration::from_millis(200)))
                .unwrap();
            loop {
                match stream.write(&bytes) {
                    Ok(written) => _ = counters.sent.fetch_add(written as u64, SeqCst),
                    // The client does not read.
                    Err(error)
                        if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                    Err(_) => return,
                }
            }
        })
    }

    fn new(serve: impl Fn(&mut TcpStream, &Counters) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, counters) = (
            listener.local_addr().unwrap().port(),
            Arc::<Counters>::default(),
        );
        let (shared, serve) = (counters.clone(), Arc::new(serve));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let (counters, serve) = (shared.clone(), serve.clone());
                counters.open.fetch_add(1, SeqCst);
                counters.accepted.fetch_add(1, SeqCst);
                std::thread::spawn(move || {
                    serve(&mut stream, &counters);
                    counters.open.fetch_sub(1, SeqCst);
                });
            }
        });
        Self { port, counters }
    }

    /// The number of accepted connections.
    pub(super) fn accepted(&self) -> usize {
        self.counters.accepted.load(SeqCst)
    }

    /// The number of connections that are open.
    pub(super) fn open(&self) -> usize {
        self.counters.open.load(SeqCst)
    }

    /// Bytes that were sent to all connections.
    pub(super) fn sent(&self) -> u64 {
        self.counters.sent.load(SeqCst)
    }
}

fn until_closed(stream: &mut TcpStream) {
    let mut buffer = [0; 64 << 10];
    while stream.read(&mut buffer).is_ok_and(|read| read > 0) {}
}
