//! Declared settings: the host checks them, and the provider reads typed values.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use super::units::{parse_duration, parse_size};
pub use crate::bindings::settings::exports::larder::provider::settings_provider::{
    Declaration, Kind,
};
use crate::{Error, Result, setting};

/// A setting that is declared once, as a constant, and read as a typed value.
///
/// ```
/// use std::time::Duration;
/// use larder_provider::{Declaration, Provider, Setting};
/// # use larder_provider::{Error, Reading, Request, Result};
///
/// const FOLDER: Setting<String> = Setting::text("folder", "The folder with the notes.").default("notes");
/// const DEPTH: Setting<u32> = Setting::number("depth", "How deep to look.").default("8");
/// const TTL: Setting<Duration> = Setting::duration("ttl", "How long a note may be cached.").default("1m 30s");
/// const TOKEN: Setting<String> = Setting::text("token", "The token of the server.").required().secret();
///
/// struct Notes;
///
/// impl Provider for Notes {
///     // Exported with `export!(Notes: settings)`.
///     fn settings() -> Vec<Declaration> {
///         vec![FOLDER.declaration(), DEPTH.declaration(), TTL.declaration(), TOKEN.declaration()]
///     }
/// #   fn new() -> Result<Self> { Ok(Self) }
/// #   fn read(&self, _: &Request) -> Result<Reading> { Err(Error::NotFound) }
/// }
///
/// assert_eq!(FOLDER.get(), Ok("notes".to_owned()));
/// assert_eq!(TTL.get(), Ok(Duration::from_secs(90)));
/// assert_eq!(TOKEN.get(), Err("the setting `token` is missing".into()));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Setting<T> {
    name: &'static str,
    kind: Kind,
    description: &'static str,
    default: Option<&'static str>,
    required: bool,
    secret: bool,
    parse: fn(&str) -> Result<T, String>,
}

impl Setting<String> {
    /// Declares a text.
    pub const fn text(name: &'static str, description: &'static str) -> Self {
        Self::new(name, Kind::Text, description, |text| Ok(text.to_owned()))
    }
}

/// The type of the constant is the type of the number, such as `u32` or `f64`.
impl<T: FromStr<Err: Display>> Setting<T> {
    /// Declares a number.
    pub const fn number(name: &'static str, description: &'static str) -> Self {
        Self::new(name, Kind::Number, description, parse)
    }
}

impl Setting<bool> {
    /// Declares a boolean: `true` or `false`.
    pub const fn boolean(name: &'static str, description: &'static str) -> Self {
        Self::new(name, Kind::Boolean, description, parse)
    }
}

impl Setting<u64> {
    /// Declares a size in bytes, such as `64MiB`.
    pub const fn size(name: &'static str, description: &'static str) -> Self {
        Self::new(name, Kind::Size, description, parse_size)
    }
}

impl Setting<Duration> {
    /// Declares a duration, such as `1m 30s`.
    pub const fn duration(name: &'static str, description: &'static str) -> Self {
        Self::new(name, Kind::Duration, description, parse_duration)
    }
}

fn parse<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.trim()
        .parse()
        .map_err(|error| format!("`{text}`: {error}"))
}

impl<T> Setting<T> {
    const fn new(
        name: &'static str,
        kind: Kind,
        description: &'static str,
        parse: fn(&str) -> Result<T, String>,
    ) -> Self {
        Self {
            name,
            kind,
            description,
            default: None,
            required: false,
            secret: false,
            parse,
        }
    }

    /// Sets the default value, in the form of the configuration.
    pub const fn default(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    /// Requires the operator to set a value.
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Declares that the value should come from a secret. Operators see this.
    pub const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// The value or the default value. Fails if there is neither.
    pub fn get(&self) -> Result<T> {
        self.find()?
            .ok_or_else(|| Error::Failed(format!("the setting `{}` is missing", self.name)))
    }

    /// The value or the default value; `None` if there is neither.
    pub fn find(&self) -> Result<Option<T>> {
        let text = setting(self.name).or_else(|| self.default.map(str::to_owned));
        let invalid = |error| Error::Failed(format!("invalid setting `{}`: {error}", self.name));
        text.map(|text| (self.parse)(&text).map_err(invalid))
            .transpose()
    }

    /// The declaration for [`Provider::settings`](crate::Provider::settings).
    pub fn declaration(&self) -> Declaration {
        Declaration {
            name: self.name.to_owned(),
            kind: self.kind,
            description: self.description.to_owned(),
            default: self.default.map(str::to_owned),
            required: self.required,
            secret: self.secret,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set_setting;

    #[test]
    fn reads_typed_values() {
        const COUNT: Setting<u8> = Setting::number("count", "A count.").default("3");
        const LOUD: Setting<bool> = Setting::boolean("loud", "Whether.");
        const SIZE: Setting<u64> = Setting::size("size", "A size.").default("1KiB");
        assert_eq!(
            (COUNT.get(), LOUD.find(), SIZE.get()),
            (Ok(3), Ok(None), Ok(1024))
        );
        assert_eq!(LOUD.get(), Err("the setting `loud` is missing".into()));
        for (name, value) in [("count", "300"), ("loud", "true"), ("size", "2 MB")] {
            set_setting(name, value);
        }
        let message = "invalid setting `count`: `300`: number too large to fit in target type";
        assert_eq!(
            (COUNT.get(), LOUD.get(), SIZE.get()),
            (Err(message.into()), Ok(true), Ok(2_000_000))
        );
    }

    #[test]
    fn declares_what_was_written() {
        const TOKEN: Setting<String> = Setting::text("token", "A token.").required().secret();
        let expected = Declaration {
            name: "token".into(),
            kind: Kind::Text,
            description: "A token.".into(),
            default: None,
            required: true,
            secret: true,
        };
        assert_eq!(TOKEN.declaration(), expected);
    }
}
