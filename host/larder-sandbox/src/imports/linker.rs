//! The linker of all components.

use wasmtime::Engine;
use wasmtime::component::{HasSelf, Linker};

use super::unreadable_names::count_unreadable_names;
use super::wasi_proposals;
use super::wasi_sockets::limit_sockets;
use crate::bindings;
use crate::guest::state::GuestState;

/// Creates a linker with everything that a component may import: the interfaces of the contract, all of WASI 0.2,
/// wasi:http, and the proposals of WASI that other hosts offer. If a function needs a grant and the grant is missing,
/// calling the function fails. Such functions are linked nevertheless, because some languages import functions that they
/// never use.
pub(crate) fn linker(engine: &Engine) -> wasmtime::Result<Linker<GuestState>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    count_unreadable_names(&mut linker)?;
    limit_sockets(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    bindings::EveryInterface::add_to_linker::<_, HasSelf<GuestState>>(&mut linker, |state| state)?;
    wasi_proposals::add_to_linker(&mut linker)?;
    Ok(linker)
}
