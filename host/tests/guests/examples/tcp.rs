//! Opens TCP connections, and uses them in ways that the host has to bound.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::time::Duration;

use guests::*;

struct Tcp;

thread_local! {
    /// The connection that a reused guest keeps.
    static KEPT: RefCell<Option<BufReader<TcpStream>>> = const { RefCell::new(None) };
}

impl Behaviour for Tcp {
    fn templates() -> Vec<&'static str> {
        vec![
            "tcp://ask/{address}",
            "tcp://resolve/{name}",
            "tcp://after/{name}/{address}",
            "tcp://many/{count}/{address}",
            "tcp://hold/{milliseconds}/{address}",
            "tcp://receive/{address}",
            "tcp://send/{address}",
            "tcp://kept/{address}",
            "tcp://within/{milliseconds}/{address}",
            "tcp://listen/{address}",
            "tcp://udp/{address}",
        ]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let address = value(&request, "address");
        let milliseconds =
            Duration::from_millis(value(&request, "milliseconds").parse().unwrap_or(0));
        match request.uri.trim_start_matches("tcp://").split('/').next() {
            Some("ask") => outcome(connect(address).and_then(|mut stream| ask(&mut stream))),
            Some("resolve") => outcome(resolve(value(&request, "name"))),
            Some("after") => {
                let found = resolve(value(&request, "name")).map(|_| ());
                outcome(
                    found
                        .and_then(|()| connect(address))
                        .and_then(|mut stream| ask(&mut stream)),
                )
            }
            Some("many") => text(many(value(&request, "count").parse().unwrap_or(0), address)),
            Some("hold") => outcome(connect(address).map(|stream| {
                std::thread::sleep(milliseconds);
                drop(stream);
                "held"
            })),
            Some("receive") => text(receive(address)),
            Some("send") => text(send(address)),
            Some("kept") => outcome(kept(address)),
            Some("within") => outcome(within(milliseconds, address)),
            Some("listen") => outcome(TcpListener::bind(address).map(|_| "listening")),
            Some("udp") => outcome(UdpSocket::bind(address).map(|_| "bound")),
            _ => Err(Error::NotFound),
        }
    }
}

fn connect(address: &str) -> std::io::Result<BufReader<TcpStream>> {
    TcpStream::connect(address).map(BufReader::new)
}

fn within(time: Duration, address: &str) -> std::io::Result<&'static str> {
    let address = address
        .to_socket_addrs()?
        .next()
        .ok_or(std::io::ErrorKind::NotFound)?;
    TcpStream::connect_timeout(&address, time).map(|_| "connected")
}

/// Sends a line, and returns the answer, which is one line.
fn ask(stream: &mut BufReader<TcpStream>) -> std::io::Result<String> {
    stream.get_mut().write_all(b"hello\n")?;
    let mut line = String::new();
    stream.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

fn resolve(name: &str) -> std::io::Result<Vec<String>> {
    Ok((name, 0)
        .to_socket_addrs()?
        .map(|found| found.ip().to_string())
        .collect())
}

/// Opens connections at the same time. Returns one line for each connection.
fn many(count: usize, address: &str) -> String {
    let all: Vec<_> = (0..count).map(|_| connect(address)).collect();
    let lines = all.iter().map(|result| match result {
        Ok(_) => "connected".to_owned(),
        Err(error) => format!("refused: {error}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Reads until the host refuses it. Returns the number of bytes.
fn receive(address: &str) -> String {
    let mut stream = match TcpStream::connect(address) {
        Ok(stream) => stream,
        Err(error) => return format!("refused: {error}"),
    };
    let (mut buffer, mut total) = (vec![0; 64 << 10], 0);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return format!("{total} closed"),
            Ok(read) => total += read,
            Err(_) => return format!("{total} refused"),
        }
    }
}

/// Writes until the host refuses it. Returns the number of bytes.
fn send(address: &str) -> String {
    let mut stream = match TcpStream::connect(address) {
        Ok(stream) => stream,
        Err(error) => return format!("refused: {error}"),
    };
    let (buffer, mut total) = (vec![7; 64 << 10], 0);
    loop {
        match stream.write(&buffer) {
            Ok(written) => total += written,
            Err(_) => return format!("{total} refused"),
        }
    }
}

/// Uses the connection of an earlier call, if there is one.
fn kept(address: &str) -> std::io::Result<String> {
    KEPT.with_borrow_mut(|kept| {
        if kept.is_none() {
            *kept = Some(connect(address)?);
        }
        kept.as_mut().map_or_else(|| Ok(String::new()), ask)
    })
}

guests::export!(Tcp);
