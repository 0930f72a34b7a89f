//! A substitute for the host in native tests: no caller, no subscribers, logs on stderr.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::{Caller, Level};

thread_local! {
    static SETTINGS: RefCell<HashMap<String, String>> = RefCell::default();
    static END: Cell<Option<Instant>> = const { Cell::new(None) };
    #[cfg(test)]
    static LAST_MESSAGE: RefCell<String> = RefCell::default();
}

/// The message that was logged last on this thread.
#[cfg(test)]
pub(crate) fn last_message() -> String {
    LAST_MESSAGE.with_borrow(Clone::clone)
}

/// Sets a setting for tests on this thread. Only available on native targets.
pub fn set_setting(name: &str, value: &str) {
    SETTINGS.with_borrow_mut(|settings| settings.insert(name.to_owned(), value.to_owned()));
}

/// Sets the time until the call ends, for tests on this thread. Only available on native targets.
pub fn set_time_left(time: Duration) {
    END.set(Some(Instant::now() + time));
}

pub(super) fn caller() -> Option<Caller> {
    None
}

pub(super) fn metadata() -> Vec<(String, String)> {
    Vec::new()
}

pub(super) fn setting(name: &str) -> Option<String> {
    let variable = || format!("LARDER_SETTING_{}", name.to_uppercase().replace('-', "_"));
    SETTINGS
        .with_borrow(|settings| settings.get(name).cloned())
        .or_else(|| std::env::var(variable()).ok())
}

pub(super) fn log(level: Level, message: &str) {
    #[cfg(test)]
    LAST_MESSAGE.set(message.to_owned());
    eprintln!("{level:?}: {message}");
}

pub(super) fn resource_updated(uri: &str) {
    eprintln!("updated: {uri}");
}

pub(super) fn resources_changed() {
    eprintln!("list changed");
}

pub(super) fn progress(done: f64, total: Option<f64>, message: Option<&str>) {
    eprintln!(
        "progress: {done} of {total:?} {}",
        message.unwrap_or_default()
    );
}

pub(super) fn cancelled() -> bool {
    false
}

pub(super) fn time_left() -> Duration {
    let until = |end: Instant| end.saturating_duration_since(Instant::now());
    END.get().map_or(Duration::from_secs(3600), until)
}
