//! Functions of the host. On native targets there is no host: settings come from the environment and logs go
//! to stderr, so that a provider can be tested natively.

#[cfg(target_family = "wasm")]
#[path = "host/guest.rs"]
mod imp;
#[cfg(not(target_family = "wasm"))]
#[path = "host/native.rs"]
mod imp;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

pub use crate::bindings::provider_host::Level;
pub use crate::bindings::provider_types::Caller;
use crate::{Error, Result};

#[cfg(not(target_family = "wasm"))]
pub use imp::{set_setting, set_time_left};

#[cfg(all(test, not(target_family = "wasm")))]
pub(crate) use imp::last_message;

/// The caller of the current request; `None` if the host itself makes the call.
pub fn caller() -> Option<Caller> {
    imp::caller()
}

/// The metadata of the request: keys with JSON text.
pub fn metadata() -> Vec<(String, String)> {
    imp::metadata()
}

/// A setting from the provider's section of the configuration.
///
/// On native targets: the value from `set_setting` on this thread, or else the environment variable
/// `LARDER_SETTING_NAME` with the name in capitals.
pub fn setting(name: &str) -> Option<String> {
    imp::setting(name)
}

/// A setting that is parsed, for example as a number, or a default value.
///
/// ```
/// # use larder_provider::setting_or;
/// assert_eq!(setting_or("depth", 32_usize), Ok(32));
/// ```
pub fn setting_or<T: FromStr<Err: fmt::Display>>(name: &str, default: T) -> Result<T> {
    let Some(text) = setting(name) else {
        return Ok(default);
    };
    text.trim()
        .parse()
        .map_err(|error| Error::Failed(format!("invalid setting `{name}`: {error}")))
}

/// Writes a message to the host's log. See also [`info!`](crate::info!), [`debug!`](crate::debug!),
/// [`warn!`](crate::warn!) and [`error!`](crate::error!).
pub fn log(level: Level, message: &str) {
    imp::log(level, message);
}

/// Notifies subscribers of this URI that its content has changed.
pub fn resource_updated(uri: &str) {
    imp::resource_updated(uri);
}

/// Notifies all clients that the list of entries or templates has changed.
pub fn resources_changed() {
    imp::resources_changed();
}

/// Reports the progress of a long read to the caller.
pub fn progress(done: f64, total: Option<f64>, message: Option<&str>) {
    imp::progress(done, total, message);
}

/// Whether the request was cancelled. The host usually ends a call at once when its client cancels it or leaves, so that
/// neither this function returns nor values are dropped.
pub fn cancelled() -> bool {
    imp::cancelled()
}

/// The time until the host ends this call. On native targets, calls are not ended: the time is one hour, unless
/// a test sets it with `set_time_left`.
pub fn time_left() -> Duration {
    imp::time_left()
}

/// Writes panic messages to stderr, without the hint of the standard hook about backtraces. The host logs a
/// message as one entry with the trap that follows.
pub(crate) fn log_panics() {
    #[cfg(target_family = "wasm")]
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
}

/// Defines a logging macro with the arguments of `format!`.
macro_rules! level {
    ($dollar:tt $name:ident $level:ident) => {
        #[doc = concat!("Logs a message with the level `", stringify!($name), "`. Takes the arguments of `format!`.")]
        #[macro_export]
        macro_rules! $name {
                            ($dollar($argument:tt)*) => {
                                $crate::log($crate::Level::$level, &::std::format!($dollar($argument)*))
                            };
                        }
    };
}
level!($ debug Debug);
level!($ info Info);
level!($ warn Warn);
level!($ error Error);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_setting_with_the_type_of_its_default() {
        set_setting("depth", "7");
        assert_eq!(setting_or("depth", 1_u8), Ok(7));
        assert_eq!(setting_or("width", 1_u8), Ok(1));
        set_setting("depth", "deep");
        let error = setting_or("depth", 1_u8).map_err(|error| error.to_string());
        assert_eq!(
            error,
            Err("invalid setting `depth`: invalid digit found in string".into())
        );
    }
}
