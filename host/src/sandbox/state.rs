//! What the engine holds for one guest: WASI by grant, the limits, and under what it was opened.

use std::ops::Deref;
use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::folder;
use super::limits::Meter;
use super::log::{Level, Log, Stream};
use super::outbox::Outbox;
use super::outgoing::{Hooks, Outgoing};
use super::pace::Pace;
use super::threads::Threads;
use crate::metrics::Tally;
use crate::name::{ProviderName, TeamName};
use crate::policy::{Grant, Permit, Ration};

/// Handles and resources that one guest may hold. High by default in the engine.
pub(super) const HANDLES: usize = 1_000;
/// Files, sockets and the like that one guest may hold: each may be a descriptor of the whole process.
const RESOURCES: usize = 256;
/// Bytes of one block of random numbers.
const RANDOM: u64 = 64 << 10;
/// Bytes of the header fields of one HTTP request or response.
const HTTP_FIELDS: usize = 32 << 10;

/// What a provider says during a call to those who are not its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// The content behind a URI differs.
    Updated(String),
    /// The list of entries or templates differs.
    ListChanged,
    /// What is known of them is old, and they may differ.
    ListStale,
}

/// Under what a guest is opened. There is no guest without one.
#[derive(Clone)]
pub struct Lease {
    /// What holds for every guest of its provider.
    pub terms: Arc<Terms>,
    /// Who may call it.
    pub permit: Permit,
}

impl Deref for Lease {
    type Target = Terms;

    fn deref(&self) -> &Terms {
        &self.terms
    }
}

/// What holds for every guest of one provider.
pub struct Terms {
    /// Whose guest it is.
    pub provider: ProviderName,
    /// And of which team.
    pub team: TeamName,
    /// What it gets and what it may use up.
    pub grant: Arc<Grant>,
    /// The way out for its HTTP requests.
    pub outgoing: Arc<Outgoing>,
    /// How often it may signal.
    pub pace: Pace,
    /// Where its signals go.
    pub signals: Outbox,
    /// What waits for file systems, where it was granted folders.
    pub threads: Option<Arc<Threads>>,
    /// Where it is counted what the guest uses.
    pub tally: Arc<Tally>,
    /// What its team may use in all; none where there are no teams.
    pub ration: Option<Arc<Ration>>,
}

#[cfg(test)]
impl Terms {
    /// Of a provider that was granted nothing.
    pub(super) fn plain() -> Arc<Self> {
        let grant = Arc::<Grant>::default();
        Arc::new(Self {
            provider: ProviderName::parse("p").unwrap(),
            team: TeamName::sole(),
            outgoing: Arc::new(Outgoing::new(&grant)),
            grant,
            pace: Pace::default(),
            signals: super::outbox().0,
            threads: None,
            tally: Arc::default(),
            ration: None,
        })
    }
}

/// What the engine holds for one guest.
pub struct State {
    pub(super) lease: Lease,
    pub(super) meter: Meter,
    pub(super) log: Log,
    pub(super) reports_left: u32,
    /// Whether it was said already that a signal was lost.
    pub(super) lost_one: bool,
    wasi: WasiCtx,
    http: WasiHttpCtx,
    hooks: Hooks,
    table: ResourceTable,
}

impl State {
    pub(super) fn new(lease: Lease) -> wasmtime::Result<Self> {
        let limits = &lease.grant.limits;
        let log = Log::new(lease.terms.clone(), limits.log);
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(HTTP_FIELDS);
        let mut table = ResourceTable::new();
        table.set_max_capacity(RESOURCES);
        Ok(Self {
            meter: Meter::new(&lease.terms),
            reports_left: limits.reports,
            lost_one: false,
            wasi: wasi(&lease.grant, &log)?,
            hooks: Hooks::new(lease.terms.clone(), log.clone(), lease.permit.trace().cloned()),
            http,
            table,
            log,
            lease,
        })
    }
}

impl State {
    /// Makes a guest that was called before ready for another call of the same caller.
    pub(super) fn begin(&mut self, lease: Lease) {
        self.reports_left = lease.grant.limits.reports;
        self.lost_one = false;
        self.meter.begin();
        self.log.begin(lease.grant.limits.log);
        self.hooks.belong_to(lease.permit.trace().cloned());
        self.lease = lease;
    }
}

/// Nothing but what was granted: no arguments, no stdin, no sockets, no folder, no variable.
fn wasi(grant: &Grant, log: &Log) -> wasmtime::Result<WasiCtx> {
    let mut wasi = WasiCtxBuilder::new();
    wasi.stdout(Stream::new(log, Level::Info)).stderr(Stream::new(log, Level::Warn)).max_random_size(RANDOM);
    wasi.allow_tcp(false).allow_udp(false).allow_ip_name_lookup(false);
    for (name, value) in &grant.env {
        wasi.env(name, value);
    }
    for dir in &grant.dirs {
        folder::open(&mut wasi, dir).map_err(|error| {
            error.context(format!("cannot open the granted folder {}", dir.host.display()))
        })?;
    }
    Ok(wasi.build())
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { ctx: &mut self.http, table: &mut self.table, hooks: &mut self.hooks }
    }
}
