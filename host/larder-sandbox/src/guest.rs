//! What the store of a guest contains: its limits, its files, its connections, its log, and the time that it used.

pub(crate) mod cpu_time;
pub(crate) mod growth;
pub(crate) mod host_resources;
pub(crate) mod limits;
pub(crate) mod log;
pub(crate) mod places;
pub(crate) mod preopen;
pub(crate) mod state;
pub(crate) mod tcp;
pub(crate) mod wasi_http;
