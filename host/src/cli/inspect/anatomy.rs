//! What can be seen of a component without running it: its imports, in groups, and its contract.

use std::collections::BTreeMap;

use serde::Serialize;
use wasmparser::{Encoding, Parser, Payload};

#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Anatomy {
    /// `component`, `core module`, or what else it is.
    pub(super) kind: &'static str,
    /// The version of `larder:provider` that it exports.
    pub(super) contract: Option<String>,
    /// The interfaces of the contract that it exports.
    pub(super) exports: Vec<String>,
    /// What it imports, by what it is for.
    pub(super) imports: BTreeMap<Group, Vec<String>>,
}

/// What an import is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Group {
    /// The contract's own.
    Host,
    /// Useless without `hosts`.
    Http,
    /// Useless without `dirs`.
    Folders,
    /// Empty without `env`.
    Environment,
    /// Always refused.
    Sockets,
    /// Clocks, random numbers, streams: every language's runtime imports them.
    Runtime,
    /// Nothing that the host offers.
    Unknown,
}

impl Group {
    fn of(import: &str) -> Self {
        let interface = import.split('@').next().unwrap_or(import);
        match interface.split_once('/') {
            Some(("larder:provider", "http-client")) => Self::Http,
            Some(("larder:provider", _)) => Self::Host,
            Some(("wasi:http", _)) => Self::Http,
            Some(("wasi:filesystem", _)) => Self::Folders,
            Some(("wasi:cli", "environment")) => Self::Environment,
            Some(("wasi:sockets", _)) => Self::Sockets,
            Some(("wasi:io" | "wasi:clocks" | "wasi:random" | "wasi:cli", _)) => Self::Runtime,
            _ => Self::Unknown,
        }
    }
}

impl Anatomy {
    /// What cannot be parsed stays unseen; running it says what is wrong.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut anatomy = Self { kind: "not WebAssembly", ..Self::default() };
        let mut depth = 0;
        for payload in Parser::new(0).parse_all(bytes) {
            match payload {
                Ok(Payload::Version { encoding, .. }) => {
                    if depth == 0 {
                        anatomy.kind =
                            if encoding == Encoding::Component { "component" } else { "core module" };
                    }
                    depth += 1;
                }
                Ok(Payload::End(_)) => depth -= 1,
                // Inside are the parts that a toolchain put together; only the outermost speaks to the host.
                Ok(Payload::ComponentImportSection(imports)) if depth == 1 => {
                    imports.into_iter().flatten().for_each(|import| anatomy.import(import.name.name));
                }
                Ok(Payload::ComponentExportSection(exports)) if depth == 1 => {
                    exports.into_iter().flatten().for_each(|export| anatomy.export(export.name.name));
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        anatomy.exports.sort();
        anatomy
    }

    fn import(&mut self, name: &str) {
        self.imports.entry(Group::of(name)).or_default().push(name.to_owned());
    }

    fn export(&mut self, name: &str) {
        let Some(interface) = name.strip_prefix("larder:provider/") else { return };
        let (interface, version) = interface.split_once('@').unwrap_or((interface, ""));
        if interface == "resource-provider" {
            self.contract = Some(version.to_owned());
        }
        self.exports.push(interface.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_component_is_told_apart() {
        assert_eq!(Anatomy::of(b"").kind, "not WebAssembly");
        assert_eq!(Anatomy::of(b"#!/bin/sh").kind, "not WebAssembly");
        assert_eq!(Anatomy::of(b"\0asm\x01\0\0\0").kind, "core module");
        assert_eq!(Anatomy::of(b"\0asm\x0d\0\x01\0").kind, "component");
    }

    #[test]
    fn imports_are_of_the_top_only() {
        // A component that imports an instance `wasi:http/types@0.2.0` and holds another one that imports more.
        let import = |name: &str| {
            let mut section = vec![1, 0, name.len() as u8];
            section.extend(name.bytes());
            section.extend([5, 0]);
            [vec![10, section.len() as u8], section].concat()
        };
        let head = b"\0asm\x0d\0\x01\0".to_vec();
        let kind = vec![7, 3, 1, 0x42, 0];
        let inner = [head.clone(), kind.clone(), import("odd:inner/x")].concat();
        let nested = [vec![4, inner.len() as u8], inner].concat();
        let outer = [head, kind, import("wasi:http/types@0.2.0"), nested, import("odd:outer/y")].concat();
        let expected = [
            (Group::Http, vec!["wasi:http/types@0.2.0".to_owned()]),
            (Group::Unknown, vec!["odd:outer/y".to_owned()]),
        ];
        assert_eq!(Anatomy::of(&outer).imports, expected.into());
    }

    #[test]
    fn groups_say_what_an_import_is_for() {
        for (import, group) in [
            ("larder:provider/provider-host@0.1.0", Group::Host),
            ("larder:provider/http-client@0.1.0", Group::Http),
            ("wasi:filesystem/types@0.2.6", Group::Folders),
            ("wasi:cli/environment@0.2.0", Group::Environment),
            ("wasi:cli/stdout@0.2.0", Group::Runtime),
            ("wasi:sockets/tcp@0.2.0", Group::Sockets),
            ("wasi:keyvalue/store", Group::Unknown),
            ("plain", Group::Unknown),
        ] {
            assert_eq!(Group::of(import), group, "{import}");
        }
    }
}
