//! What the host offers during a call. Off WebAssembly, where there is no host, its place is taken
//! by the environment and stderr, so that a provider's own tests run natively.

#[cfg(target_family = "wasm")]
#[path = "host/guest.rs"]
mod place;
#[cfg(not(target_family = "wasm"))]
#[path = "host/native.rs"]
mod place;

use std::fmt;
use std::str::FromStr;

pub use crate::bindings::provider_host::Level;
pub use crate::bindings::provider_types::Caller;
use crate::{Error, Result};

#[cfg(not(target_family = "wasm"))]
pub use place::set_setting;

/// Who is asking; none when the host itself asks.
pub fn caller() -> Option<Caller> {
    place::caller()
}

/// The metadata that came with the request: key and JSON text.
pub fn metadata() -> Vec<(String, String)> {
    place::metadata()
}

/// A setting from the provider's own section of the configuration.
///
/// Off WebAssembly: what `set_setting` said on this thread, else the environment variable
/// `LARDER_SETTING_NAME`, in capitals.
pub fn setting(name: &str) -> Option<String> {
    place::setting(name)
}

/// A setting read as a number, a flag or the like, or what holds without it.
///
/// ```
/// # use larder_provider::setting_or;
/// assert_eq!(setting_or("depth", 32_usize), Ok(32));
/// ```
pub fn setting_or<T: FromStr<Err: fmt::Display>>(name: &str, otherwise: T) -> Result<T> {
    let Some(text) = setting(name) else { return Ok(otherwise) };
    text.trim().parse().map_err(|error| Error::Failed(format!("the setting `{name}` is wrong: {error}")))
}

/// Writes a line into the host's log. See also [`info!`](crate::info!) and its siblings.
pub fn log(level: Level, message: &str) {
    place::log(level, message);
}

/// Tells those who watch this URI that its content differs.
pub fn resource_updated(uri: &str) {
    place::resource_updated(uri);
}

/// Tells everyone that the list of entries or templates differs.
pub fn resources_changed() {
    place::resources_changed();
}

/// Tells the caller how far a long read has come.
pub fn progress(done: f64, total: Option<f64>, message: Option<&str>) {
    place::progress(done, total, message);
}

/// Whether nobody waits for the answer any more. Worth asking in a long loop.
pub fn cancelled() -> bool {
    place::cancelled()
}

/// Sends what a panic says to the log, and to stderr, whose tail explains a trap.
pub(crate) fn log_panics() {
    #[cfg(target_family = "wasm")]
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.to_string();
        log(Level::Error, &message);
        eprintln!("{message}");
    }));
}

/// Logs at one level, with the arguments of `format!`.
macro_rules! level {
    ($dollar:tt $name:ident $level:ident) => {
        #[doc = concat!("Logs with the level `", stringify!($name), "`; takes what `format!` takes.")]
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
    fn a_setting_is_read_as_what_stands_in_its_place() {
        set_setting("depth", "7");
        assert_eq!(setting_or("depth", 1_u8), Ok(7));
        assert_eq!(setting_or("width", 1_u8), Ok(1));
        set_setting("depth", "deep");
        let error = setting_or("depth", 1_u8).map_err(|error| error.to_string());
        assert_eq!(error, Err("the setting `depth` is wrong: invalid digit found in string".into()));
    }
}
