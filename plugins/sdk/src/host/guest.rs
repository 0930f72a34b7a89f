//! Calls the host through the imports of the component.

use std::time::Duration;

use crate::bindings::provider_host;
use crate::{Caller, Level};

pub(super) fn caller() -> Option<Caller> {
    provider_host::get_caller()
}

pub(super) fn metadata() -> Vec<(String, String)> {
    provider_host::request_metadata()
}

pub(super) fn setting(name: &str) -> Option<String> {
    provider_host::setting(name)
}

pub(super) fn log(level: Level, message: &str) {
    provider_host::log(level, message);
}

pub(super) fn resource_updated(uri: &str) {
    provider_host::resource_updated(uri);
}

pub(super) fn resources_changed() {
    provider_host::resources_changed();
}

pub(super) fn progress(done: f64, total: Option<f64>, message: Option<&str>) {
    provider_host::progress(done, total, message);
}

pub(super) fn cancelled() -> bool {
    provider_host::cancelled()
}

pub(super) fn time_left() -> Duration {
    Duration::from_millis(provider_host::time_left_ms())
}
