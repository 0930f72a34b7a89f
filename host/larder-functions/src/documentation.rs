//! The documentation of functions, from the custom section `package-docs`. Tools such as `wit-docs-inject` write it.
//! Components without it are valid.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::tool_name::short_name;

/// The name of the section.
pub(crate) const SECTION: &str = "package-docs";
/// Maximum size of the section in bytes.
const MAX_SECTION: usize = 1 << 20;
/// Maximum size of the documentation of one function in bytes.
const MAX_DOCUMENTATION: usize = 4 << 10;

/// The documentation of a package.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Documentation {
    docs: Option<String>,
    worlds: BTreeMap<String, World>,
    interfaces: BTreeMap<String, Interface>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct World {
    docs: Option<String>,
    interfaces: BTreeMap<String, Interface>,
    interface_exports: BTreeMap<String, Interface>,
    funcs: BTreeMap<String, Item>,
    func_exports: BTreeMap<String, Item>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Interface {
    funcs: BTreeMap<String, Item>,
}

impl World {
    fn function(&self, name: &str) -> Option<&Item> {
        let exported = self.func_exports.get(name);
        exported.or_else(|| self.funcs.get(name))
    }

    fn interface(&self, name: &str) -> Option<&Interface> {
        let exported = self.interface_exports.get(name);
        exported.or_else(|| self.interfaces.get(name))
    }
}

/// The documentation of a function. Formats differ in whether it is an object.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Item {
    Text(String),
    Object { docs: Option<String> },
    Other(serde::de::IgnoredAny),
}

impl Item {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Object { docs } => docs.as_deref(),
            Self::Other(_) => None,
        }
    }
}

impl Documentation {
    /// Parses the content of the section. A section that cannot be parsed is ignored, as if there were none.
    pub(crate) fn parse(section: &[u8]) -> Option<Self> {
        match section {
            // Both versions have the same members.
            [0 | 1, json @ ..] if json.len() <= MAX_SECTION => serde_json::from_slice(json).ok(),
            _ => None,
        }
    }

    /// The documentation of the package; without one, that of its only documented world.
    pub(crate) fn package(&self) -> Option<String> {
        let worlds = || self.worlds.values().find_map(|world| world.docs.as_deref());
        text(self.docs.as_deref().or_else(worlds))
    }

    /// The documentation of a function.
    pub(crate) fn function(&self, interface: Option<&str>, function: &str) -> Option<String> {
        let found = match interface {
            None => self
                .worlds
                .values()
                .find_map(|world| world.function(function)),
            Some(interface) => self.interface(interface)?.funcs.get(function),
        };
        text(found?.text())
    }

    fn interface(&self, name: &str) -> Option<&Interface> {
        let interface = self.interfaces.get(short_name(name));
        interface.or_else(|| self.worlds.values().find_map(|world| world.interface(name)))
    }
}

/// Shortens a text, and removes the space around it.
fn text(text: Option<&str>) -> Option<String> {
    let text = text?.trim();
    let end = text.floor_char_boundary(MAX_DOCUMENTATION);
    (!text.is_empty()).then(|| text[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_documentation_of_functions() {
        let json = r#"{"docs":" All about time. ","worlds":{"w":{"func_exports":{"now":{"docs":"The time."}},
            "interfaces":{"inline":{"funcs":{"a":{"docs":"A."}}}}}},
            "interfaces":{"clock":{"docs":"x","funcs":{"now":"Tells the time.","odd":{"stability":1}}}}}"#;
        for version in [0, 1] {
            let section = [&[version], json.as_bytes()].concat();
            let found = Documentation::parse(&section).unwrap();
            assert_eq!(found.package().as_deref(), Some("All about time."));
            for (interface, function, expected) in [
                (None, "now", Some("The time.")),
                (None, "other", None),
                (
                    Some("local:time/clock@1.0.0"),
                    "now",
                    Some("Tells the time."),
                ),
                (Some("local:time/clock"), "odd", None),
                (Some("inline"), "a", Some("A.")),
                (Some("local:time/other"), "now", None),
            ] {
                let documentation = found.function(interface, function);
                assert_eq!(documentation.as_deref(), expected, "{function}");
            }
        }
        for bad in [&b""[..], b"\x02{}", b"\x01{"] {
            assert!(Documentation::parse(bad).is_none());
        }
    }
}
