//! Sockets that a service manager has opened for this process (`LISTEN_FDS`): first the socket of the endpoint, and
//! optionally the socket of the admin address. Connections wait in these sockets while the server is restarted.

use std::fmt;
use std::io;

use listenfd::ListenFd;

use super::RunError;
use larder_mcp::{ListenAddress, Listener, UnixSocket};

/// The sockets of the endpoint and of the admin address.
const MAX_SOCKETS: usize = 2;

/// The sockets that this process has inherited.
#[derive(Debug, Default)]
pub struct InheritedSockets(Vec<io::Result<Socket>>);

/// A listening socket.
#[derive(Debug)]
enum Socket {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener),
}

impl InheritedSockets {
    /// Takes the sockets. This removes variables of the environment, so it is called before any thread starts.
    pub fn take() -> Self {
        let mut sockets = ListenFd::from_env();
        Self(
            (0..sockets.len())
                .map(|number| Socket::take(&mut sockets, number))
                .collect(),
        )
    }

    /// The address of the endpoint, if its socket was inherited. All rules for addresses apply to this address too.
    pub fn endpoint_address(&self) -> Result<Option<ListenAddress>, RunError> {
        if self.0.len() > MAX_SOCKETS {
            let message = format!(
                "there are {} sockets, of which only {MAX_SOCKETS} can be used",
                self.0.len()
            );
            return Err(invalid(io::Error::other(message)));
        }
        self.address(0)
    }

    /// The admin address, if its socket was inherited.
    pub fn admin_address(&self) -> Result<Option<ListenAddress>, RunError> {
        self.address(1)
    }

    fn address(&self, number: usize) -> Result<Option<ListenAddress>, RunError> {
        match self.0.get(number) {
            None => Ok(None),
            Some(Ok(socket)) => socket.address().map(Some).map_err(invalid),
            Some(Err(error)) => Err(invalid(error)),
        }
    }

    /// The listeners of the endpoint and of the admin address.
    pub fn into_listeners(self) -> Result<(Option<Listener>, Option<Listener>), RunError> {
        let mut listeners = self
            .0
            .into_iter()
            .map(|socket| socket.and_then(Socket::into_listener).map_err(invalid));
        Ok((listeners.next().transpose()?, listeners.next().transpose()?))
    }
}

impl Socket {
    fn take(sockets: &mut ListenFd, number: usize) -> io::Result<Self> {
        // If the socket is of another kind, the descriptor stays in the list.
        if let Ok(Some(listener)) = sockets.take_tcp_listener(number) {
            return Ok(Self::Tcp(listener));
        }
        match sockets.take_unix_listener(number) {
            Ok(Some(listener)) => Ok(Self::Unix(listener)),
            _ => Err(io::Error::other(
                "one of them is neither a TCP nor a Unix stream socket",
            )),
        }
    }

    fn address(&self) -> io::Result<ListenAddress> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(ListenAddress::Tcp),
            Self::Unix(listener) => UnixSocket::address_of(listener),
        }
    }

    fn into_listener(self) -> io::Result<Listener> {
        match self {
            Self::Tcp(listener) => {
                listener.set_nonblocking(true)?;
                tokio::net::TcpListener::from_std(listener).map(Listener::Tcp)
            }
            Self::Unix(listener) => UnixSocket::inherited(listener).map(Listener::Unix),
        }
    }
}

fn invalid(error: impl fmt::Display) -> RunError {
    RunError::InheritedSockets(error.to_string())
}
