//! What a component imports and exports, read from the file without running it.

use std::collections::BTreeMap;

use larder_functions::ComponentKind;
use larder_sandbox::ProposalImport;
use serde::Serialize;
use wasmparser::{
    ComponentExportSectionReader, ComponentImport, ComponentImportSectionReader, ComponentTypeRef,
    Encoding, Parser, Payload, TypeBounds,
};

#[derive(Debug, Default, PartialEq, Serialize)]
pub(in crate::cli) struct ComponentInfo {
    /// `component`, `core module` or `not WebAssembly`.
    pub(in crate::cli) kind: &'static str,
    /// How the component is served, if it is not rejected: `provider`, `functions` or `unknown`.
    pub(in crate::cli) served_as: &'static str,
    /// The version of `larder:provider` that the component exports.
    pub(in crate::cli) contract: Option<String>,
    /// The interfaces of the contract that the component exports.
    pub(in crate::cli) exports: Vec<String>,
    /// The imports, by group.
    pub(in crate::cli) imports: BTreeMap<ImportGroup, Vec<String>>,
    /// The names of all exports.
    #[serde(skip)]
    pub(in crate::cli) all_exports: Vec<String>,
    /// The texts of the author about the component.
    #[serde(skip)]
    pub(in crate::cli) metadata: Metadata,
}

/// Texts that tools such as `wkg` and `wasm-tools` write into sections of a component.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Metadata {
    pub(in crate::cli) version: Option<String>,
    pub(in crate::cli) description: Option<String>,
    pub(in crate::cli) licenses: Option<String>,
    pub(in crate::cli) source: Option<String>,
    pub(in crate::cli) homepage: Option<String>,
    pub(in crate::cli) authors: Option<String>,
}

impl Metadata {
    fn set(&mut self, section: &str, data: &[u8]) {
        let place = match section {
            "version" => &mut self.version,
            "description" => &mut self.description,
            "licenses" => &mut self.licenses,
            "source" => &mut self.source,
            "homepage" => &mut self.homepage,
            "authors" => &mut self.authors,
            _ => return,
        };
        *place = non_empty_text(data);
    }
}

fn non_empty_text(data: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(data).ok()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The purpose of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum ImportGroup {
    /// An interface of the contract.
    Host,
    /// HTTP, which needs the grant `hosts`.
    Http,
    /// Files, which need the grant `dirs`.
    Folders,
    /// Environment variables, which need the grant `env`.
    Environment,
    /// Values that outlive a call, which need the grant `key_value`.
    #[serde(rename = "key-value")]
    KeyValue,
    /// Settings by `wasi:config`.
    Settings,
    /// The log by `wasi:logging`.
    Log,
    /// Sockets: TCP connections need the grant `tcp`. All other sockets are always refused.
    Sockets,
    /// Clocks, random numbers and streams, which the runtime of every language imports.
    Runtime,
    /// An interface whose functions fail when they are called.
    #[serde(rename = "refused-when-called")]
    RefusedWhenCalled,
    /// An interface that the host does not provide.
    Unknown,
}

impl ImportGroup {
    fn of(import: &str) -> Self {
        if let Some(proposal) = ProposalImport::of(import) {
            return Self::of_proposal(proposal);
        }
        let interface = import.split('@').next().unwrap_or(import);
        match interface.split_once('/') {
            Some(("larder:provider", "http-client")) => Self::Http,
            Some(("larder:provider", "key-value")) => Self::KeyValue,
            Some(("larder:provider", _)) => Self::Host,
            Some(("wasi:http", _)) => Self::Http,
            Some(("wasi:filesystem", _)) => Self::Folders,
            Some(("wasi:cli", "environment")) => Self::Environment,
            Some(("wasi:sockets", _)) => Self::Sockets,
            Some(("wasi:io" | "wasi:clocks" | "wasi:random" | "wasi:cli", _)) => Self::Runtime,
            _ => Self::Unknown,
        }
    }

    fn of_proposal(proposal: ProposalImport) -> Self {
        match proposal {
            ProposalImport::Settings => Self::Settings,
            ProposalImport::KeyValue => Self::KeyValue,
            ProposalImport::Logging => Self::Log,
            ProposalImport::Refused => Self::RefusedWhenCalled,
        }
    }
}

impl ComponentInfo {
    /// Returns what the file is: `a component`, `a core module` or `not WebAssembly`.
    pub(in crate::cli) fn kind_with_article(&self) -> String {
        if self.kind.starts_with("not") {
            self.kind.into()
        } else {
            format!("a {}", self.kind)
        }
    }

    /// Ignores sections that cannot be parsed: loading the component reports the error.
    pub(in crate::cli) fn of(bytes: &[u8]) -> Self {
        let mut info = Self {
            kind: "not WebAssembly",
            ..Self::default()
        };
        let mut depth = 0;
        for payload in Parser::new(0).parse_all(bytes) {
            match payload {
                Ok(Payload::Version { encoding, .. }) => {
                    if depth == 0 {
                        info.kind = kind_of(encoding);
                    }
                    depth += 1;
                }
                Ok(Payload::End(_)) => depth -= 1,
                // Nested components are parts that a toolchain has linked. Only the outermost one uses the
                // host.
                Ok(Payload::ComponentImportSection(imports)) if depth == 1 => {
                    info.add_imports(imports);
                }
                Ok(Payload::ComponentExportSection(exports)) if depth == 1 => {
                    info.add_exports(exports);
                }
                Ok(Payload::CustomSection(section)) if depth == 1 => {
                    info.metadata.set(section.name(), section.data());
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        info.exports.sort();
        info.served_as = info.component_kind().as_str();
        info
    }

    fn add_imports(&mut self, imports: ComponentImportSectionReader<'_>) {
        for import in imports.into_iter().flatten() {
            if needs_host(&import) {
                self.import(import.name.name);
            }
        }
    }

    fn add_exports(&mut self, exports: ComponentExportSectionReader<'_>) {
        for export in exports.into_iter().flatten() {
            self.export(export.name.name);
        }
    }

    /// How the component is served, if it is not rejected.
    pub(in crate::cli) fn component_kind(&self) -> ComponentKind {
        ComponentKind::of(self.all_exports.iter().map(String::as_str))
    }

    /// Whether the component imports an interface that the host does not provide.
    #[cfg(feature = "registry")]
    pub(in crate::cli) fn has_unknown_imports(&self) -> bool {
        self.imports.contains_key(&ImportGroup::Unknown)
    }

    fn import(&mut self, name: &str) {
        self.imports
            .entry(ImportGroup::of(name))
            .or_default()
            .push(name.to_owned());
    }

    fn export(&mut self, name: &str) {
        self.all_exports.push(name.to_owned());
        let Some(interface) = name.strip_prefix("larder:provider/") else {
            return;
        };
        let (interface, version) = interface.split_once('@').unwrap_or((interface, ""));
        if interface == "resource-provider" {
            self.contract = Some(version.to_owned());
        }
        self.exports.push(interface.to_owned());
    }
}

/// A type that a world declares is an import of its own, which needs nothing of the host.
fn needs_host(import: &ComponentImport<'_>) -> bool {
    !matches!(import.ty, ComponentTypeRef::Type(TypeBounds::Eq(_)))
}

fn kind_of(encoding: Encoding) -> &'static str {
    if encoding == Encoding::Component {
        "component"
    } else {
        "core module"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_the_kind_of_a_file() {
        assert_eq!(ComponentInfo::of(b"").kind, "not WebAssembly");
        assert_eq!(ComponentInfo::of(b"#!/bin/sh").kind, "not WebAssembly");
        assert_eq!(ComponentInfo::of(b"\0asm\x01\0\0\0").kind, "core module");
        assert_eq!(ComponentInfo::of(b"\0asm\x0d\0\x01\0").kind, "component");
    }

    #[test]
    fn ignores_imports_of_nested_components() {
        // A component that imports the instance `wasi:http/types@0.2.0` and contains a component with another
        // import.
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
        let outer = [
            head,
            kind,
            import("wasi:http/types@0.2.0"),
            nested,
            import("odd:outer/y"),
        ]
        .concat();
        let expected = [
            (ImportGroup::Http, vec!["wasi:http/types@0.2.0".to_owned()]),
            (ImportGroup::Unknown, vec!["odd:outer/y".to_owned()]),
        ];
        assert_eq!(ComponentInfo::of(&outer).imports, expected.into());
    }

    #[test]
    fn groups_imports_by_purpose() {
        for (import, group) in [
            ("larder:provider/provider-host@0.1.0", ImportGroup::Host),
            ("larder:provider/http-client@0.1.0", ImportGroup::Http),
            ("larder:provider/key-value@0.1.0", ImportGroup::KeyValue),
            ("wasi:filesystem/types@0.2.6", ImportGroup::Folders),
            ("wasi:cli/environment@0.2.0", ImportGroup::Environment),
            ("wasi:cli/stdout@0.2.0", ImportGroup::Runtime),
            ("wasi:sockets/tcp@0.2.0", ImportGroup::Sockets),
            ("wasi:keyvalue/store@0.2.0-draft2", ImportGroup::KeyValue),
            ("wasi:config/store@0.2.0-rc.1", ImportGroup::Settings),
            ("wasi:logging/logging@0.1.0-draft", ImportGroup::Log),
            ("wasi:keyvalue/store", ImportGroup::RefusedWhenCalled),
            ("wasi:nn/graph@0.2.0", ImportGroup::Unknown),
            ("plain", ImportGroup::Unknown),
        ] {
            assert_eq!(ImportGroup::of(import), group, "{import}");
        }
    }
}
