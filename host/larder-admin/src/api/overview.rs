//! The path `/api/overview`: a summary of the server.

use std::collections::BTreeMap;
use std::time::SystemTime;

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;

use super::component_view::{ComponentState, ComponentView};
use super::problems::{self, Problem};
use super::time::timestamp;
use crate::response::json;
use crate::{Admin, Cluster, Sources};
use larder_runtime::history::SAMPLE_INTERVAL;
use larder_runtime::metrics::{CacheResult, Metrics, process};

/// A summary of the server.
#[derive(Debug, Serialize)]
pub(super) struct Overview {
    version: &'static str,
    started: String,
    uptime_seconds: f64,
    ready: bool,
    teams: usize,
    providers: BTreeMap<&'static str, usize>,
    rates: Rates,
    latency: Latency,
    memory: Memory,
    caches: Caches,
    streams: u64,
    sessions: u64,
    cluster: Option<Cluster>,
    problems: Vec<Problem>,
}

/// Rates per second, over the last interval.
#[derive(Debug, Serialize)]
struct Rates {
    calls: f64,
    errors: f64,
}

/// Durations of calls in the last minute.
#[derive(Debug, Serialize)]
struct Latency {
    p50_seconds: Option<f64>,
    p99_seconds: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Memory {
    used: u64,
    limit: u64,
    rss: Option<u64>,
    uses: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Default, Serialize)]
struct Caches {
    responses: u64,
    bytes: u64,
    hits: u64,
    misses: u64,
    idle_guests: u64,
}

pub(super) async fn get(State(admin): State<Admin>) -> Response {
    json(StatusCode::OK, &Overview::of(&admin))
}

impl Overview {
    pub(super) fn of(admin: &Admin) -> Self {
        let Sources { teams, metrics, .. } = &admin.0.sources;
        let teams = teams.borrow().clone();
        let started = metrics.started();
        let views = ComponentView::all(&teams);
        let mut providers: BTreeMap<_, _> =
            ComponentState::ALL.map(|state| (state.label(), 0)).into();
        for view in &views {
            *providers.entry(view.state().label()).or_default() += 1;
        }
        Self {
            version: env!("CARGO_PKG_VERSION"),
            started: timestamp(started),
            uptime_seconds: seconds_since(started),
            ready: admin.problems().0.is_empty(),
            teams: teams.len(),
            providers,
            rates: Rates::of(metrics),
            latency: Latency::of(metrics),
            memory: Memory::of(admin),
            caches: Caches::of(admin, &views),
            streams: metrics.gauge("larder_streams"),
            sessions: metrics.gauge("larder_sessions"),
            cluster: (admin.0.sources.cluster)(),
            problems: problems::all(admin, &views),
        }
    }
}

fn seconds_since(time: SystemTime) -> f64 {
    let elapsed = SystemTime::now().duration_since(time);
    elapsed.unwrap_or_default().as_secs_f64()
}

impl Rates {
    fn of(metrics: &Metrics) -> Self {
        let last = metrics.last_calls();
        let seconds = SAMPLE_INTERVAL.as_secs_f64();
        Self {
            calls: last.calls as f64 / seconds,
            errors: last.errors as f64 / seconds,
        }
    }
}

impl Latency {
    fn of(metrics: &Metrics) -> Self {
        let recent = metrics.recent_calls().durations;
        Self {
            p50_seconds: recent.quantile(0.5),
            p99_seconds: recent.quantile(0.99),
        }
    }
}

impl Memory {
    fn of(admin: &Admin) -> Self {
        let report = admin.0.sources.memory.report();
        let uses: BTreeMap<_, _> = report
            .uses
            .iter()
            .map(|(what, used, _)| (*what, *used))
            .collect();
        let rss = process::resident_memory().map(|bytes| bytes as u64);
        Self {
            used: uses.values().sum(),
            limit: report.limit,
            rss,
            uses,
        }
    }
}

impl Caches {
    fn of(admin: &Admin, views: &[ComponentView]) -> Self {
        let metrics = &admin.0.sources.metrics;
        let (bytes, responses) = admin
            .started()
            .map(|started| started.gateway.cache_size())
            .unwrap_or_default();
        let idle_guests = metrics.gauge("larder_guests_waiting");
        Self {
            responses,
            bytes,
            hits: reads(views, CacheResult::Hit),
            misses: reads(views, CacheResult::Miss),
            idle_guests,
        }
    }
}

fn reads(views: &[ComponentView], result: CacheResult) -> u64 {
    let offers = views.iter().filter_map(|view| view.offer.as_ref());
    offers
        .map(|offer| offer.provider.metrics().reads(result))
        .sum()
}
