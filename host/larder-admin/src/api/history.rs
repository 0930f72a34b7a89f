//! The path `/api/history`: values of the last hour.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::component_view::ComponentView;
use super::query::ApiQuery;
use super::response::ApiError;
use super::time::timestamp;
use crate::Admin;
use crate::response::json;
use larder_runtime::history::{CallSample, ProcessSample, SAMPLE_INTERVAL};
use larder_runtime::metrics::Metrics;

#[derive(Debug, Deserialize)]
pub(super) struct HistoryQuery {
    provider: Option<String>,
}

/// Values at regular times. Calls and errors are rates per second. Durations are in seconds.
#[derive(Debug, Serialize)]
struct History {
    step_seconds: f64,
    /// The time of the first values.
    from: String,
    series: Series,
}

/// All series have the same length. Unknown values are missing.
#[derive(Debug, Default, Serialize)]
struct Series {
    calls: Vec<Option<f32>>,
    errors: Vec<Option<f32>>,
    p50: Vec<Option<f32>>,
    p99: Vec<Option<f32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Vec<Option<u64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    streams: Option<Vec<Option<u32>>>,
}

pub(super) async fn get(
    State(admin): State<Admin>,
    ApiQuery(query): ApiQuery<HistoryQuery>,
) -> Result<Response, ApiError> {
    let metrics = &admin.0.sources.metrics;
    let numbers = metrics.sampled();
    let process = metrics.samples(numbers.clone());
    let series = match query.provider.filter(|name| !name.is_empty()) {
        None => Series::of_process(&process),
        Some(name) => {
            let view = ComponentView::find(&admin.0.sources.teams.borrow(), &name);
            let view = view.ok_or_else(|| ApiError::unknown_provider(&name))?;
            let calls = view
                .offer
                .map(|offer| offer.provider.metrics().history.calls(numbers.clone()));
            Series::of_provider(&process, &calls.unwrap_or_default())
        }
    };
    Ok(json(
        StatusCode::OK,
        &History::new(metrics, *numbers.start(), series),
    ))
}

impl History {
    fn new(metrics: &Metrics, first: u32, series: Series) -> Self {
        let from = timestamp(metrics.timeline().time(first));
        Self {
            step_seconds: SAMPLE_INTERVAL.as_secs_f64(),
            from,
            series,
        }
    }
}

impl Series {
    fn of_process(samples: &[Option<ProcessSample>]) -> Self {
        let mut series = Self::default();
        samples
            .iter()
            .for_each(|sample| series.push(sample.map(|sample| sample.calls)));
        series.memory = Some(
            samples
                .iter()
                .map(|sample| sample.map(|sample| sample.memory))
                .collect(),
        );
        series.streams = Some(
            samples
                .iter()
                .map(|sample| sample.map(|sample| sample.streams))
                .collect(),
        );
        series
    }

    /// A provider has samples only of intervals with calls. `calls` is empty if the provider is not served.
    fn of_provider(process: &[Option<ProcessSample>], calls: &[Option<CallSample>]) -> Self {
        let mut series = Self::default();
        for (at, sample) in process.iter().enumerate() {
            let none = CallSample {
                calls: 0,
                errors: 0,
                p50: f32::NAN,
                p99: f32::NAN,
            };
            series.push(sample.and(calls.get(at)).map(|own| own.unwrap_or(none)));
        }
        series
    }

    fn push(&mut self, sample: Option<CallSample>) {
        self.calls.push(sample.map(|sample| rate(sample.calls)));
        self.errors.push(sample.map(|sample| rate(sample.errors)));
        self.p50
            .push(sample.and_then(|sample| duration(sample.p50)));
        self.p99
            .push(sample.and_then(|sample| duration(sample.p99)));
    }
}

fn rate(count: u32) -> f32 {
    count as f32 / SAMPLE_INTERVAL.as_secs_f32()
}

fn duration(seconds: f32) -> Option<f32> {
    (!seconds.is_nan()).then_some(seconds)
}
