//! TCP connections of guests by wasi:sockets. The sockets are from wasmtime-wasi. This module replaces the functions
//! that find addresses, connect, close and wait, so that a guest reaches only granted addresses, and all resources that
//! it uses are limited. There are no listening sockets and no UDP.

mod connecting;
mod lookup;

use wasmtime::component::{Linker, Resource, ResourceType};
use wasmtime_wasi::p2::bindings::sockets::network::{
    ErrorCode, IpAddress, IpAddressFamily, IpSocketAddress,
};
use wasmtime_wasi::p2::{DynPollable, Network, TcpSocket, subscribe};

use self::connecting::Streams;
use self::lookup::FoundAddresses;
use crate::guest::state::GuestState;

const LOOKUP: &str = "wasi:sockets/ip-name-lookup@0.2.12";
const CREATE: &str = "wasi:sockets/tcp-create-socket@0.2.12";
const TCP: &str = "wasi:sockets/tcp@0.2.12";
const POLL: &str = "wasi:io/poll@0.2.12";

/// Replaces the functions that have to be checked or limited. The interfaces of WASI must already be in the linker.
pub(super) fn limit_sockets(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    replace_lookup(linker)?;
    replace_connect(linker)?;
    replace_poll(linker)?;
    linker.allow_shadowing(false);
    Ok(())
}

fn replace_lookup(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    let mut lookup = linker.instance(LOOKUP)?;
    let resource = ResourceType::host::<FoundAddresses>();
    lookup.resource("resolve-address-stream", resource, |mut store, index| {
        store
            .data_mut()
            .table()
            .delete(Resource::<FoundAddresses>::new_own(index))?;
        Ok(())
    })?;
    lookup.func_wrap_async(
        "resolve-addresses",
        |mut store, (network, name): (Resource<Network>, String)| {
            Box::new(
                async move { Ok((store.data_mut().resolve_addresses(&network, &name).await?,)) },
            )
        },
    )?;
    lookup.func_wrap(
        "[method]resolve-address-stream.resolve-next-address",
        |mut store, (found,): (Resource<FoundAddresses>,)| {
            let next = store.data_mut().table().get_mut(&found)?.next();
            Ok((Ok::<Option<IpAddress>, ErrorCode>(next),))
        },
    )?;
    lookup.func_wrap(
        "[method]resolve-address-stream.subscribe",
        |mut store, (found,): (Resource<FoundAddresses>,)| {
            Ok((subscribe(store.data_mut().table(), found)?,))
        },
    )
}

fn replace_connect(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    linker.instance(CREATE)?.func_wrap(
        "create-tcp-socket",
        |mut store, (family,): (IpAddressFamily,)| Ok((store.data_mut().create_socket(family)?,)),
    )?;
    let mut tcp = linker.instance(TCP)?;
    tcp.resource(
        "tcp-socket",
        ResourceType::host::<TcpSocket>(),
        |mut store, index| store.data_mut().drop_socket(index),
    )?;
    // A socket without a local address cannot listen either.
    tcp.func_wrap(
        "[method]tcp-socket.start-bind",
        |_, _: (Resource<TcpSocket>, Resource<Network>, IpSocketAddress)| {
            Ok((Err::<(), _>(ErrorCode::AccessDenied),))
        },
    )?;
    tcp.func_wrap(
        "[method]tcp-socket.start-connect",
        |mut store, (socket, network, address): (Resource<TcpSocket>, Resource<Network>, IpSocketAddress)| {
            Ok((store.data_mut().start_connect(socket, network, address)?,))
        },
    )?;
    tcp.func_wrap(
        "[method]tcp-socket.finish-connect",
        |mut store,
         (socket,): (Resource<TcpSocket>,)|
         -> wasmtime::Result<(Result<Streams, ErrorCode>,)> {
            Ok((store.data_mut().finish_connect(socket)?,))
        },
    )
}

fn replace_poll(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    let mut poll = linker.instance(POLL)?;
    poll.func_wrap_async(
        "poll",
        |mut store, (pollables,): (Vec<Resource<DynPollable>>,)| {
            Box::new(async move { Ok((store.data_mut().poll(pollables).await?,)) })
        },
    )?;
    poll.func_wrap_async(
        "[method]pollable.block",
        |mut store, (pollable,): (Resource<DynPollable>,)| {
            Box::new(async move { store.data_mut().block(pollable).await })
        },
    )
}
