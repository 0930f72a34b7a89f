//! Connecting: only to pinned addresses, within the limits of connections, and within the time limit.

use std::net::SocketAddr;
use std::time::Instant;

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::io::poll::{Host as _, HostPollable as _};
use wasmtime_wasi::p2::bindings::sockets::network::{
    ErrorCode, Host as _, IpAddressFamily, IpSocketAddress,
};
use wasmtime_wasi::p2::bindings::sockets::tcp::HostTcpSocket as _;
use wasmtime_wasi::p2::bindings::sockets::tcp_create_socket::Host as _;
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, DynPollable, Network, SocketResult, TcpSocket,
};
use wasmtime_wasi::sockets::WasiSocketsView as _;

use crate::guest::log::LogLevel;
use crate::guest::state::GuestState;
use crate::guest::tcp::{Attempt, Busy, Socket, limit_streams};
use larder_runtime::metrics::ConnectOutcome;

/// The result of a function of WASI.
type Wit<T> = Result<T, ErrorCode>;
/// Both directions of a connection.
pub(super) type Streams = (Resource<DynInputStream>, Resource<DynOutputStream>);

impl GuestState {
    /// Creates a socket, if the provider and its team may have another socket.
    pub(super) fn create_socket(
        &mut self,
        family: IpAddressFamily,
    ) -> wasmtime::Result<Wit<Resource<TcpSocket>>> {
        let taken = match self.take_socket() {
            Ok(taken) => taken,
            Err(code) => return Ok(Err(code)),
        };
        let created = self.sockets().create_tcp_socket(family);
        let created = self.wit(created)?;
        if let (Ok(socket), Some(tcp)) = (&created, &mut self.tcp) {
            tcp.insert(socket.rep(), taken);
        }
        Ok(created)
    }

    fn take_socket(&self) -> Wit<Socket> {
        let Some(tcp) = &self.tcp else {
            return Err(ErrorCode::AccessDenied);
        };
        tcp.new_socket(&self.lease).map_err(|busy| {
            let (why, code) = match &busy {
                Busy::Connections(why) => (why.as_str(), ErrorCode::NewSocketLimit),
                Busy::Memory => ("the server has no memory for it", ErrorCode::OutOfMemory),
            };
            self.log
                .line(LogLevel::Info, &format!("no other TCP connection: {why}"));
            Attempt::new(&self.lease, "a new socket".to_owned()).end(ConnectOutcome::Busy);
            code
        })
    }

    pub(super) fn start_connect(
        &mut self,
        socket: Resource<TcpSocket>,
        network: Resource<Network>,
        address: IpSocketAddress,
    ) -> wasmtime::Result<Wit<()>> {
        let index = socket.rep();
        let address = SocketAddr::from(address);
        let Some(to) = self.tcp.as_ref().and_then(|tcp| tcp.target(address)) else {
            let why = format!(
                "a TCP connection to {address} is not granted; its operator can allow it with `tcp = [\"{address}\"]`, or by name, and then the name has to be looked up before"
            );
            return Ok(Err(self.deny(address.to_string(), &why)));
        };
        let attempt = Attempt::new(&self.lease, to);
        let started = self
            .sockets()
            .start_connect(socket, network, address.into());
        let started = self.wit(started)?;
        match (started, &mut self.tcp) {
            (Ok(()), Some(tcp)) => tcp.begin_attempt(index, attempt),
            _ => attempt.end(ConnectOutcome::Failed),
        }
        Ok(started)
    }

    pub(super) fn finish_connect(
        &mut self,
        socket: Resource<TcpSocket>,
    ) -> wasmtime::Result<Wit<Streams>> {
        self.end_late_attempts(Instant::now())?;
        let index = socket.rep();
        if self
            .tcp
            .as_mut()
            .is_some_and(|tcp| tcp.take_timed_out(index))
        {
            return Ok(Err(ErrorCode::Timeout));
        }
        let finished = self.sockets().finish_connect(socket);
        let finished = self.wit(finished)?;
        let outcome = match &finished {
            Ok(_) => ConnectOutcome::Ok,
            Err(ErrorCode::WouldBlock) => return Ok(finished),
            Err(ErrorCode::Timeout) => ConnectOutcome::Timeout,
            Err(_) => ConnectOutcome::Failed,
        };
        if let Some(tcp) = &mut self.tcp {
            tcp.end_attempt(index, outcome);
            let bytes = tcp.bytes.clone();
            if let Ok((input, output)) = &finished {
                limit_streams(self.table(), input, output, &bytes)?;
            }
        }
        Ok(finished)
    }

    /// Ends the attempts whose time is over. Each of their sockets is replaced by a new one, so that the guest does not
    /// wait any longer.
    fn end_late_attempts(&mut self, now: Instant) -> wasmtime::Result<()> {
        let late = self
            .tcp
            .as_mut()
            .map(|tcp| tcp.end_late_attempts(now))
            .unwrap_or_default();
        for index in late {
            let family = self.sockets().address_family(Resource::new_borrow(index))?;
            let new = self.sockets().create_tcp_socket(family);
            // Without a file descriptor for a new socket, the guest waits until its call ends.
            if let Ok(new) = self.wit(new)? {
                let new = self.table().delete(new)?;
                *self
                    .table()
                    .get_mut(&Resource::<TcpSocket>::new_borrow(index))? = new;
            }
        }
        Ok(())
    }

    /// Waits until one of these pollables is ready. Ends attempts to connect in time.
    pub(super) async fn poll(
        &mut self,
        pollables: Vec<Resource<DynPollable>>,
    ) -> wasmtime::Result<Vec<u32>> {
        while let Some(until) = self.first_end() {
            let same = pollables
                .iter()
                .map(|pollable| Resource::new_borrow(pollable.rep()))
                .collect();
            match tokio::time::timeout_at(until.into(), self.table().poll(same)).await {
                Ok(ready) => return ready,
                Err(_) => self.end_late_attempts(until)?,
            }
        }
        self.table().poll(pollables).await
    }

    /// When the time of the first attempt ends.
    fn first_end(&self) -> Option<Instant> {
        let tcp = self.tcp.as_ref()?;
        tcp.first_end()
    }

    /// Like [`Self::poll`], for one pollable.
    pub(super) async fn block(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        while let Some(until) = self.first_end() {
            let same = Resource::new_borrow(pollable.rep());
            match tokio::time::timeout_at(until.into(), self.table().block(same)).await {
                Ok(ready) => return ready,
                Err(_) => self.end_late_attempts(until)?,
            }
        }
        self.table().block(pollable).await
    }

    pub(super) fn drop_socket(&mut self, index: u32) -> wasmtime::Result<()> {
        self.table().delete(Resource::<TcpSocket>::new_own(index))?;
        if let Some(tcp) = &mut self.tcp {
            tcp.remove(index);
        }
        Ok(())
    }

    fn wit<T>(&mut self, result: SocketResult<T>) -> wasmtime::Result<Wit<T>> {
        match result {
            Ok(value) => Ok(Ok(value)),
            Err(error) => self.sockets().convert_error_code(error).map(Err),
        }
    }
}
