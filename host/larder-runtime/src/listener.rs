//! The addresses and sockets to which clients connect over HTTP, TCP and Unix: for the endpoint and for the admin
//! listener.

mod unix;

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixStream};

pub use self::unix::UnixSocket;
use crate::connection_slots::Source;

/// An address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// An IP address and a port.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix {
        /// The file of the socket.
        path: PathBuf,
        /// The permissions of the socket's file, such as `0o600`.
        mode: u32,
    },
}

impl ListenAddress {
    /// The URL of this path at this address. For a Unix socket, the URL is not an HTTP URL, and has no path.
    pub fn url(&self, path: &str) -> String {
        match self {
            Self::Tcp(address) => format!("http://{address}{path}"),
            Self::Unix { .. } => self.to_string(),
        }
    }

    /// Whether only processes on this machine can connect.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().is_loopback(),
            Self::Unix { .. } => true,
        }
    }
}

impl From<SocketAddr> for ListenAddress {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix { path, .. } => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A socket that accepts clients.
#[derive(Debug)]
pub enum Listener {
    /// A TCP socket.
    Tcp(TcpListener),
    /// A Unix socket. Its file is removed on drop.
    Unix(UnixSocket),
}

impl Listener {
    /// Begins to listen. If the Unix socket of a server that does not run any more exists, replaces it.
    pub async fn bind(address: &ListenAddress) -> io::Result<Self> {
        match address {
            ListenAddress::Tcp(address) => TcpListener::bind(address).await.map(Self::Tcp),
            ListenAddress::Unix { path, mode } => {
                UnixSocket::bind(path, *mode).await.map(Self::Unix)
            }
        }
    }

    /// Returns the address of this listener. If port 0 was requested, it has the port that the operating system chose.
    pub fn address(&self) -> io::Result<ListenAddress> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(ListenAddress::Tcp),
            Self::Unix(socket) => Ok(socket.address()),
        }
    }
}

impl From<TcpListener> for Listener {
    fn from(listener: TcpListener) -> Self {
        Self::Tcp(listener)
    }
}

/// The client of a connection, for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAddress {
    /// An IP address and a port.
    Tcp(SocketAddr),
    /// A process on this machine.
    Unix {
        /// The user of the process, if the operating system reports it.
        uid: Option<u32>,
        /// The id of the process, if the operating system reports it.
        pid: Option<i32>,
    },
}

impl ClientAddress {
    /// The IP address; none on a Unix socket.
    pub fn ip(self) -> Option<IpAddr> {
        match self {
            Self::Tcp(address) => Some(address.ip()),
            Self::Unix { .. } => None,
        }
    }

    /// Whether the connection came through a Unix socket.
    pub fn is_unix(self) -> bool {
        matches!(self, Self::Unix { .. })
    }

    /// The source under which the peer's connections are counted.
    pub fn source(self) -> Source {
        match self {
            Self::Tcp(address) => address.ip().into(),
            Self::Unix { .. } => Source::UNIX_SOCKET,
        }
    }
}

impl fmt::Display for ClientAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix {
                uid: Some(uid),
                pid: Some(pid),
            } => write!(f, "user {uid}, process {pid}"),
            Self::Unix { uid: Some(uid), .. } => write!(f, "user {uid}"),
            Self::Unix { .. } => f.write_str("unknown"),
        }
    }
}

/// Accepts connections of one kind. All code for connections is generic over it, so that a TCP connection needs no
/// dynamic dispatch.
pub trait Accept: Send + Sync + 'static {
    /// The stream of a connection.
    type Stream: ClientStream;

    /// Waits for the next connection. Cancel-safe.
    fn accept(&self) -> impl Future<Output = io::Result<(Self::Stream, ClientAddress)>> + Send;
}

/// The stream of a connection.
pub trait ClientStream: AsyncRead + AsyncWrite + Send + Unpin + 'static {
    /// Sets the options of the socket.
    fn tune(&self) {}
}

impl ClientStream for TcpStream {
    fn tune(&self) {
        // Small responses must not wait for the TCP acknowledgement of the previous one.
        let _ = self.set_nodelay(true);
    }
}

impl ClientStream for UnixStream {}

impl Accept for TcpListener {
    type Stream = TcpStream;

    async fn accept(&self) -> io::Result<(TcpStream, ClientAddress)> {
        let (stream, address) = Self::accept(self).await?;
        Ok((stream, ClientAddress::Tcp(address)))
    }
}

impl Accept for UnixSocket {
    type Stream = UnixStream;

    async fn accept(&self) -> io::Result<(UnixStream, ClientAddress)> {
        let stream = self.accept_stream().await?;
        let credentials = stream.peer_cred().ok();
        let uid = credentials.map(|credentials| credentials.uid());
        let pid = credentials.and_then(|credentials| credentials.pid());
        Ok((stream, ClientAddress::Unix { uid, pid }))
    }
}
