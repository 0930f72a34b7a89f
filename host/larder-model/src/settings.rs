//! The settings that a provider declares, and the check of configured values against them.

use std::collections::BTreeMap;
use std::fmt;

use crate::policy::Secrets;
use crate::size;

/// Maximum number of declared names in a message.
const MAX_NAMES: usize = 12;

/// A setting that a provider declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// The name, which is unique among the settings of a provider: 1 to 64 letters, digits, `.`, `_` and `-`.
    pub name: String,
    /// The kind of the setting's value.
    pub kind: Kind,
    /// What the setting is for.
    pub description: String,
    /// The value that is used if no value is configured. It is of this kind.
    pub default: Option<String>,
    /// Whether a value must be configured. A default counts as a value.
    pub required: bool,
    /// Whether the value should come from a secret.
    pub secret: bool,
}

/// The kinds of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A finite number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A number of bytes.
    Size,
    /// A length of time.
    Duration,
}

impl Kind {
    /// Whether a value is of this kind.
    pub fn accepts(self, value: &str) -> bool {
        match self {
            Self::Text => true,
            Self::Number => is_number(value),
            Self::Boolean => matches!(value, "true" | "false"),
            Self::Size => size::parse(value).is_some(),
            Self::Duration => humantime::parse_duration(value).is_ok(),
        }
    }

    /// Returns the name of the kind in the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Size => "size",
            Self::Duration => "duration",
        }
    }

    /// Returns how to write a value of this kind.
    fn hint(self) -> &'static str {
        match self {
            Self::Text => "any text",
            Self::Number => "write a number, such as 10 or 2.5",
            Self::Boolean => "write true or false",
            Self::Size => size::HINT,
            Self::Duration => "write a number and a unit, such as \"10s\", \"250ms\" or \"1m 30s\"",
        }
    }
}

/// Whether a text is a finite decimal number. Unlike in Rust, `inf`, `nan` and a leading `+` are not accepted.
fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
        && text.ends_with(|c: char| c.is_ascii_digit())
        && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// A difference between the configured and the declared settings of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The name of the setting.
    pub setting: String,
    /// What is wrong with the setting.
    pub fault: Fault,
}

/// What can be wrong with a setting. Values are never part of it, because they may be confidential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The provider does not declare the setting. Contains the declared names.
    Unknown(Vec<String>),
    /// The setting is required, and no value is configured.
    Missing {
        /// Whether the value should come from a secret.
        secret: bool,
    },
    /// The value is not of the declared kind.
    WrongKind(Kind),
    /// The value of a secret is in the configuration as plain text.
    PlainSecret,
}

impl Problem {
    /// Whether the provider works nevertheless.
    pub fn is_warning(&self) -> bool {
        matches!(self.fault, Fault::Unknown(_) | Fault::PlainSecret)
    }

    /// Whether the problem prevents the provider from working, so that the provider is not served.
    pub fn prevents_serving(&self) -> bool {
        matches!(self.fault, Fault::Missing { .. })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.setting.escape_debug();
        match &self.fault {
            Fault::Unknown(declared) if declared.is_empty() => {
                write!(
                    f,
                    "setting `{name}` is unknown: the provider has no settings"
                )
            }
            Fault::Unknown(declared) if let Some(meant) = same_words(&self.setting, declared) => {
                write!(f, "setting `{name}` is unknown: write `{meant}`")
            }
            Fault::Unknown(declared) if let Some(meant) = most_similar(&self.setting, declared) => {
                write!(f, "setting `{name}` is unknown: did you mean `{meant}`?")
            }
            Fault::Unknown(declared) => {
                let names = list(declared);
                write!(f, "setting `{name}` is unknown; the settings are {names}")
            }
            Fault::Missing { secret: false } => {
                write!(f, "setting `{name}` is required: add it to `settings`")
            }
            Fault::Missing { secret: true } => {
                write!(
                    f,
                    "setting `{name}` is required: add [secret.{name}], and its name to `secrets`"
                )
            }
            Fault::WrongKind(kind) => {
                write!(
                    f,
                    "setting `{name}` is not a {}: {}",
                    kind.as_str(),
                    kind.hint()
                )
            }
            Fault::PlainSecret => write!(
                f,
                "setting `{name}` is a secret, but its value is in `settings`: move it to [secret.{name}]"
            ),
        }
    }
}

fn list(declared: &[String]) -> String {
    let shown = declared.iter().take(MAX_NAMES);
    let mut names: Vec<_> = shown.map(|name| format!("`{name}`")).collect();
    if declared.len() > MAX_NAMES {
        names.push("…".into());
    }
    names.join(", ")
}

/// Finds the declared name that consists of the same words: `max_bytes` for `max-bytes` or `maxBytes`.
fn same_words<'a>(name: &str, declared: &'a [String]) -> Option<&'a String> {
    let words = |name: &str| {
        name.chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect()
    };
    let wanted: String = words(name);
    declared.iter().find(|name| wanted == words(name))
}

/// Finds the declared name that differs least, if it differs by a typing error or two.
fn most_similar<'a>(name: &str, declared: &'a [String]) -> Option<&'a String> {
    // Very long names are skipped: computing their distance takes long, and the distance is too large in any case.
    let candidates = declared
        .iter()
        .filter(|declared| declared.len().abs_diff(name.len()) <= 2);
    let distance = |declared: &str| strsim::osa_distance(name, declared);
    let closest = candidates
        .map(|declared| (distance(declared), declared))
        .min_by_key(|(distance, _)| *distance);
    let (distance, meant) = closest?;
    (distance <= 2 && distance < meant.chars().count().div_ceil(2)).then_some(meant)
}

/// Compares the configured settings and secrets of a provider with its declarations.
pub fn check(
    declared: &[Declaration],
    settings: &BTreeMap<String, String>,
    secrets: &Secrets,
) -> Vec<Problem> {
    let names = || {
        declared
            .iter()
            .map(|declaration| declaration.name.clone())
            .collect()
    };
    let configured = settings.keys().chain(secrets.iter().map(|(name, _)| name));
    let unknown = configured.filter(|name| {
        declared
            .iter()
            .all(|declaration| declaration.name != **name)
    });
    let unknown = unknown.map(|name| Problem {
        setting: name.clone(),
        fault: Fault::Unknown(names()),
    });
    let faulty = declared.iter().filter_map(|declaration| {
        let fault = fault(declaration, settings, secrets)?;
        Some(Problem {
            setting: declaration.name.clone(),
            fault,
        })
    });
    unknown.chain(faulty).collect()
}

fn fault(
    declaration: &Declaration,
    settings: &BTreeMap<String, String>,
    secrets: &Secrets,
) -> Option<Fault> {
    let secret = secrets.get(&declaration.name).map(|secret| secret.reveal());
    let plain = settings.get(&declaration.name).map(String::as_str);
    match secret.or(plain) {
        None => {
            let is_missing = declaration.required && declaration.default.is_none();
            is_missing.then_some(Fault::Missing {
                secret: declaration.secret,
            })
        }
        Some(value) if !declaration.kind.accepts(value) => Some(Fault::WrongKind(declaration.kind)),
        Some(_) => (declaration.secret && secret.is_none()).then_some(Fault::PlainSecret),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::policy::Secret;

    fn declaration(name: &str, kind: Kind) -> Declaration {
        let name = name.to_owned();
        Declaration {
            name,
            kind,
            description: String::new(),
            default: None,
            required: false,
            secret: false,
        }
    }

    fn check_values(settings: &[(&str, &str)], secrets: &[(&str, &str)], expected: Expect) {
        let declared = [
            Declaration {
                required: true,
                ..declaration("url", Kind::Text)
            },
            Declaration {
                required: true,
                default: Some("5s".into()),
                ..declaration("time", Kind::Duration)
            },
            Declaration {
                secret: true,
                required: true,
                ..declaration("token", Kind::Text)
            },
            declaration("limit", Kind::Number),
            declaration("max_bytes", Kind::Size),
        ];
        let settings = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let secrets = secrets
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Secret::new(value)))
            .collect();
        let problems = check(&declared, &settings, &secrets);
        let line = |problem: &Problem| {
            let kind = if problem.is_warning() {
                "warning"
            } else {
                "error"
            };
            format!("{kind}: {problem}\n")
        };
        expected.assert_eq(&problems.iter().map(line).collect::<String>());
    }

    #[test]
    fn reports_differences() {
        check_values(&[("url", "x")], &[("token", "hush")], expect![""]);
        check_values(
            &[],
            &[],
            expect![[r#"
                error: setting `url` is required: add it to `settings`
                error: setting `token` is required: add [secret.token], and its name to `secrets`
            "#]],
        );
        check_values(
            &[("url", "x"), ("max-bytes", "1MiB"), ("maxBytes", "1MiB")],
            &[("token", "hush")],
            expect![[r#"
                warning: setting `max-bytes` is unknown: write `max_bytes`
                warning: setting `maxBytes` is unknown: write `max_bytes`
            "#]],
        );
        check_values(
            &[
                ("url", "x"),
                ("time", "soon"),
                ("limit", "inf"),
                ("token", "hush"),
                ("colour", "x"),
            ],
            &[("tkoen", "hush")],
            expect![[r#"
                warning: setting `colour` is unknown; the settings are `url`, `time`, `token`, `limit`, `max_bytes`
                warning: setting `tkoen` is unknown: did you mean `token`?
                error: setting `time` is not a duration: write a number and a unit, such as "10s", "250ms" or "1m 30s"
                warning: setting `token` is a secret, but its value is in `settings`: move it to [secret.token]
                error: setting `limit` is not a number: write a number, such as 10 or 2.5
            "#]],
        );
    }

    #[test]
    fn kinds_accept_their_values() {
        for (kind, good, bad) in [
            (Kind::Text, ["", "x"].as_slice(), [].as_slice()),
            (
                Kind::Number,
                &["1", "-2.5", "1e3", "0"],
                &["", "inf", "nan", "+1", "1.", ".5", "0x1", "1e999", "1 "],
            ),
            (Kind::Boolean, &["true", "false"], &["yes", "True", "1", ""]),
            (
                Kind::Size,
                &["64MiB", "100", "0", "1 kB"],
                &["", "1.5MB", "-1", "64M"],
            ),
            (
                Kind::Duration,
                &["10s", "1m 30s", "0s"],
                &["", "10", "soon", "-1s"],
            ),
        ] {
            for value in good {
                assert!(kind.accepts(value), "{kind:?} {value:?}");
            }
            for value in bad {
                assert!(!kind.accepts(value), "{kind:?} {value:?}");
            }
        }
    }
}
