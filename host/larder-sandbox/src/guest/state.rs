//! The state of a guest's store: its lease, WASI context, limits and log.

use std::sync::Arc;
use std::time::Instant;

use wasmtime::WasmBacktrace;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::limits::GuestLimiter;
use super::log::{Log, LogLevel, LogStream};
use super::places::Places;
use super::preopen;
use super::tcp::GuestTcp;
use super::wasi_http::HttpHooks;
use crate::guest_config::Lease;
use crate::threads::call_meter::CallMeter;
use crate::threads::call_thread::UnmovedGrowth;
use larder_model::policy::Grant;

/// Maximum number of component handles that a guest may hold. Wasmtime's default is much higher.
pub(crate) const MAX_HANDLES: usize = 1_000;
/// Maximum number of random bytes in one call.
const MAX_RANDOM_BYTES: u64 = 64 << 10;
/// Maximum size of the header fields of one HTTP request or response, in bytes.
const MAX_HTTP_FIELD_BYTES: usize = 32 << 10;

/// The data of a guest's store.
pub(crate) struct GuestState {
    pub(crate) lease: Lease,
    pub(crate) limiter: GuestLimiter,
    pub(crate) places: Places,
    /// Memory by which the guest may still grow before its call is moved to a thread for long calls.
    pub(crate) unmoved_growth: UnmovedGrowth,
    pub(crate) log: Log,
    /// When the host ends the current call.
    pub(crate) deadline: Instant,
    /// Where the guest computed shortly before the deadline of the current call.
    pub(crate) last_backtrace: Option<WasmBacktrace>,
    /// Signals and progress notifications that the guest may still send during this call.
    pub(crate) notifications_left: u32,
    /// Names of files that this call could not read, because they are not UTF-8.
    pub(crate) unreadable_names: u64,
    /// Whether it was already logged during this call that a signal was lost.
    pub(crate) logged_lost_signal: bool,
    /// Whether the guest requested values of its caller, in this call or an earlier call.
    pub(crate) used_caller_bucket: bool,
    /// Measures the current call.
    pub(crate) meter: Option<Arc<CallMeter>>,
    /// None until the guest needs it, unless folders are granted. Most guests of small providers never need it.
    wasi: Option<WasiCtx>,
    http: WasiHttpCtx,
    http_hooks: HttpHooks,
    table: ResourceTable,
    /// Present if TCP connections are granted. This field is dropped after the sockets in the table, so that the
    /// permits are free when the connections are closed.
    pub(crate) tcp: Option<Box<GuestTcp>>,
}

impl GuestState {
    pub(crate) fn new(lease: Lease) -> wasmtime::Result<Self> {
        let limits = &lease.grant.limits;
        let log = Log::new(lease.config.clone(), limits.log);
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(MAX_HTTP_FIELD_BYTES);
        let mut table = ResourceTable::new();
        table.set_max_capacity(lease.max_host_resources);
        let tcp = GuestTcp::new(&lease.config, &log);
        Ok(Self {
            limiter: GuestLimiter::new(&lease.config),
            places: Places::default(),
            unmoved_growth: UnmovedGrowth::at_instantiation(),
            deadline: Instant::now(),
            last_backtrace: None,
            notifications_left: limits.notifications,
            unreadable_names: 0,
            logged_lost_signal: false,
            used_caller_bucket: false,
            meter: None,
            wasi: wasi_with_folders(&lease.grant, &log, tcp.as_deref())?,
            http_hooks: HttpHooks::new(
                lease.outgoing_http.clone(),
                log.clone(),
                lease.permit.clone(),
            ),
            http,
            table,
            tcp,
            log,
            lease,
        })
    }

    /// Resets the state of a reused guest for another call of the same caller.
    pub(crate) fn begin_call(&mut self, lease: Lease) {
        self.notifications_left = lease.grant.limits.notifications;
        self.unreadable_names = 0;
        self.logged_lost_signal = false;
        self.last_backtrace = None;
        self.limiter.begin_call();
        self.unmoved_growth = UnmovedGrowth::in_call();
        self.log.begin_call(lease.grant.limits.log);
        self.http_hooks.begin_call(lease.permit.clone());
        if let Some(tcp) = &mut self.tcp {
            tcp.begin_call(&lease);
        }
        self.lease = lease;
    }
}

/// Creates a WASI context if folders are granted. The folders are opened before the call.
fn wasi_with_folders(
    grant: &Grant,
    log: &Log,
    tcp: Option<&GuestTcp>,
) -> wasmtime::Result<Option<WasiCtx>> {
    if grant.dirs.is_empty() {
        return Ok(None);
    }
    let mut wasi = wasi(grant, log, tcp);
    for dir in &grant.dirs {
        preopen::open(&mut wasi, dir).map_err(|error| {
            error.context(format!(
                "cannot open the granted folder {}",
                dir.host.display()
            ))
        })?;
    }
    Ok(Some(wasi.build()))
}

/// Starts a WASI context with the granted variables and TCP connections. It has no arguments, no stdin and no other
/// sockets.
fn wasi(grant: &Grant, log: &Log, tcp: Option<&GuestTcp>) -> WasiCtxBuilder {
    let mut wasi = WasiCtxBuilder::new();
    wasi.stdout(LogStream::new(log, LogLevel::Info))
        .stderr(LogStream::new(log, LogLevel::Warn))
        .max_random_size(MAX_RANDOM_BYTES);
    wasi.allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false);
    if let Some(tcp) = tcp {
        tcp.allow_connections(&mut wasi);
    }
    for (name, value) in &grant.env {
        wasi.env(name, value);
    }
    wasi
}

impl GuestState {
    /// The resources of the host for which the guest has handles.
    pub(crate) fn table(&mut self) -> &mut ResourceTable {
        &mut self.table
    }
}

impl WasiView for GuestState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let Self {
            wasi: context,
            lease,
            log,
            tcp,
            table,
            ..
        } = self;
        let ctx = context.get_or_insert_with(|| wasi(&lease.grant, log, tcp.as_deref()).build());
        WasiCtxView { ctx, table }
    }
}

impl WasiHttpView for GuestState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView {
            ctx: &mut self.http,
            table: &mut self.table,
            hooks: &mut self.http_hooks,
        }
    }
}
