//! Turns the core module of a C or Go compiler into a component: adds the types of the contract if the module
//! has none, and adapts WASI 0.1 imports to WASI 0.2.

use std::collections::BTreeSet;

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME as WASI, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER as ADAPTER,
};
use wasmparser::{Encoding, Parser, Payload};
use wit_bindgen_core::wit_parser::{Resolve, WorldId, WorldItem};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata, metadata};

use super::contract::{self, Ability};

/// Why a module cannot be packed.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The file is not WebAssembly.
    #[error(
        "it is not WebAssembly; pack the output of a compiler for `wasm32-wasi` (`GOOS=wasip1 GOARCH=wasm`)"
    )]
    NotWasm,
    /// A component, which needs no packing.
    #[error("it is a component already: put it into the plugins folder as it is")]
    Component,
    /// The file is a program whose `main` runs once, instead of a library with exports.
    #[error("it is a program, not a library: build it with {LIBRARY}")]
    Program,
    /// It would have nothing that can be served.
    #[error(
        "it exports neither larder:provider/resource-provider nor functions of its own but {0}; \
         generate bindings with `larder bindings` and rebuild it"
    )]
    Foreign(String),
    /// Functions of the contract are missing.
    #[error(
        "it does not export {0}; are the files of `larder bindings` compiled and linked, with {LIBRARY}?"
    )]
    Missing(String),
    /// The types are nested so deeply that the encoder may need more stack than there is.
    #[error(
        "its section `component-type` has more than {MAX_NESTED_TYPES} types of components and instances"
    )]
    Deep,
    /// An error of the encoder.
    #[error("it cannot be encoded as a component: {0}")]
    Encode(String),
}

/// Maximum number of types of components and instances in a module. The world of the contract with all interfaces has
/// 15 such types, and a thread with 2 MiB of stack can read more than 900 nested types.
const MAX_NESTED_TYPES: usize = 400;
const LIBRARY: &str = "`-mexec-model=reactor` (C) or `-buildmode=c-shared` (Go)";

impl From<anyhow::Error> for PackError {
    fn from(error: anyhow::Error) -> Self {
        Self::Encode(format!("{error:#}"))
    }
}

/// Turns a core module into a component.
pub fn pack(module: &[u8]) -> Result<Vec<u8>, PackError> {
    let core = CoreModule::parse(module)?;
    let module = if core.has_types {
        module.to_vec()
    } else {
        core.with_types(module)?
    };
    let types = metadata::decode(&module)?.1;
    core.check(&types.resolve, types.world)?;
    let encoder = ComponentEncoder::default().validate(true).module(&module)?;
    Ok(encoder.adapter(WASI, ADAPTER)?.encode()?)
}

/// Whether types may be nested too deeply. The parser has no limit. Each type in which others can be nested begins with
/// one of two bytes, which also occur elsewhere.
fn may_be_deep(types: &[u8]) -> bool {
    types
        .iter()
        .filter(|byte| matches!(byte, 0x41 | 0x42))
        .count()
        > MAX_NESTED_TYPES
}

/// The relevant sections of a core module.
#[derive(Debug, Default)]
struct CoreModule {
    exports: BTreeSet<String>,
    /// Whether the linker put the types of a world into the module.
    has_types: bool,
}

impl CoreModule {
    fn parse(bytes: &[u8]) -> Result<Self, PackError> {
        if !bytes.starts_with(b"\0asm") {
            return Err(PackError::NotWasm);
        }
        let mut core = Self::default();
        for payload in Parser::new(0).parse_all(bytes) {
            let damaged = |error| PackError::Encode(format!("it is damaged: {error}"));
            match payload.map_err(damaged)? {
                Payload::Version {
                    encoding: Encoding::Component,
                    ..
                } => return Err(PackError::Component),
                Payload::CustomSection(section) => {
                    let has_types = section.name().starts_with("component-type");
                    if has_types && may_be_deep(section.data()) {
                        return Err(PackError::Deep);
                    }
                    core.has_types |= has_types;
                }
                Payload::ExportSection(exports) => {
                    for export in exports {
                        core.exports
                            .insert(export.map_err(damaged)?.name.to_owned());
                    }
                }
                _ => {}
            }
        }
        Ok(core)
    }

    /// Adds types, for linkers that do not add them. The exports determine the world.
    fn with_types(&self, module: &[u8]) -> Result<Vec<u8>, PackError> {
        let has = |ability: &Ability| {
            let prefix = format!("larder:provider/{}@", ability.interface());
            self.exports
                .iter()
                .any(|export| export.starts_with(&prefix))
        };
        let abilities: Vec<_> = Ability::ALL.into_iter().filter(has).collect();
        let (resolve, world) = contract::world(&abilities)?;
        let mut module = module.to_vec();
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
        Ok(module)
    }

    fn check(&self, resolve: &Resolve, world: WorldId) -> Result<(), PackError> {
        let names = exported_names(resolve, world);
        if !names.iter().any(|name| can_be_served(name)) {
            return Err(PackError::Foreign(list(&names)));
        }
        let missing = self.missing_functions(resolve, world);
        match missing.len() {
            0 => Ok(()),
            _ if self.exports.contains("_start") => Err(PackError::Program),
            _ => Err(PackError::Missing(missing.join(", "))),
        }
    }

    fn missing_functions(&self, resolve: &Resolve, world: WorldId) -> Vec<String> {
        let mut required = functions(resolve, world);
        required.retain(|name| !self.exports.contains(name));
        required
    }
}

fn exported_names(resolve: &Resolve, world: WorldId) -> Vec<String> {
    let keys = resolve.worlds[world].exports.keys();
    keys.map(|key| resolve.name_world_key(key)).collect()
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "nothing".into()
    } else {
        names.join(", ")
    }
}

/// Whether an export of this name can be served: the contract, or functions of the author, which become tools.
fn can_be_served(export: &str) -> bool {
    match export.split_once(':') {
        Some(("larder", interface)) => interface.starts_with("provider/resource-provider@"),
        Some((package, _)) => package != "wasi",
        None => true,
    }
}

/// Returns the core module names of the functions that a world requires.
fn functions(resolve: &Resolve, world: WorldId) -> Vec<String> {
    let mut names = Vec::new();
    for (key, item) in &resolve.worlds[world].exports {
        let name = resolve.name_world_key(key);
        match item {
            WorldItem::Interface { id, .. } => {
                let functions = resolve.interfaces[*id].functions.keys();
                names.extend(functions.map(|function| format!("{name}#{function}")));
            }
            WorldItem::Function(_) => names.push(name),
            WorldItem::Type { .. } => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(bytes: &[u8], expected: Expect) {
        expected.assert_eq(&pack(bytes).map(|_| ()).unwrap_err().to_string());
    }

    /// Returns a module that exports an empty function under these names.
    fn module(exports: &[&str]) -> Vec<u8> {
        let mut section = vec![exports.len() as u8];
        for name in exports {
            section.push(name.len() as u8);
            section.extend(name.bytes());
            section.extend([0, 0]);
        }
        let head = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x07".to_vec();
        [
            head,
            vec![section.len() as u8],
            section,
            b"\x0a\x04\x01\x02\0\x0b".to_vec(),
        ]
        .concat()
    }

    #[test]
    fn errors_say_what_to_do() {
        let text = b"#!/bin/sh";
        check(
            text,
            expect![
                "it is not WebAssembly; pack the output of a compiler for `wasm32-wasi` (`GOOS=wasip1 GOARCH=wasm`)"
            ],
        );
        check(
            b"",
            expect![
                "it is not WebAssembly; pack the output of a compiler for `wasm32-wasi` (`GOOS=wasip1 GOARCH=wasm`)"
            ],
        );
        check(
            b"\0asm\x0d\0\x01\0",
            expect!["it is a component already: put it into the plugins folder as it is"],
        );
        check(
            &module(&["_start"]),
            expect![
                "it is a program, not a library: build it with `-mexec-model=reactor` (C) or `-buildmode=c-shared` (Go)"
            ],
        );
    }

    #[test]
    fn names_missing_functions() {
        let describe = "larder:provider/resource-provider@0.1.0#describe";
        let error = pack(&module(&[describe])).unwrap_err().to_string();
        assert!(!error.contains(describe), "{error}");
        assert!(
            error.contains("larder:provider/resource-provider@0.1.0#read-resource"),
            "{error}"
        );
        assert!(!error.contains("version-provider"), "{error}");
        let error = pack(&module(&["larder:provider/version-provider@0.1.0#other"]))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("larder:provider/version-provider@0.1.0#versions"),
            "{error}"
        );
    }

    /// Returns a module that has the types of a world, and exports these functions.
    fn with_world(wit: &str, exports: &[&str]) -> Vec<u8> {
        let mut resolve = Resolve::default();
        let package = resolve.push_str("x.wit", wit).unwrap();
        let world = resolve.select_world(&[package], None).unwrap();
        let mut module = module(exports);
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
        module
    }

    #[test]
    fn functions_of_the_author_are_packed() {
        let function = "package a:b; world w { export go: func(); }";
        pack(&with_world(function, &["go"])).unwrap();
        let interface = "package a:b; interface i { go: func(); } world w { export i; }";
        pack(&with_world(interface, &["a:b/i#go"])).unwrap();
        let error = pack(&with_world(interface, &["go"])).unwrap_err();
        assert!(error.to_string().contains("not export a:b/i#go"), "{error}");
        let command = "package wasi:cli; interface run { run: func(); } world w { export run; }";
        let error = pack(&with_world(command, &["wasi:cli/run#run"])).unwrap_err();
        assert!(matches!(error, PackError::Foreign(_)), "{error}");
    }

    #[test]
    fn deep_types_are_not_parsed() {
        let section = |id: u8, content: &[u8]| {
            let size = (0..3).map(|n| (content.len() >> (7 * n)) as u8 | 0x80);
            let size = size.chain([(content.len() >> 21) as u8]);
            [vec![id], size.collect(), content.to_vec()].concat()
        };
        // A component with one type: a component with one type, and so on.
        let nested = |depth| {
            let types = [&[1], [0x41, 1, 1].repeat(depth).as_slice(), &[0x7f]].concat();
            let component = [b"\0asm\x0d\0\x01\0".as_slice(), &section(7, &types)].concat();
            let custom = section(0, &[b"\x0ecomponent-type".as_slice(), &component].concat());
            [b"\0asm\x01\0\0\0".as_slice(), &custom].concat()
        };
        for (depth, is_refused) in [(100_000, true), (350, false)] {
            let error = pack(&nested(depth)).unwrap_err();
            assert_eq!(
                matches!(error, PackError::Deep),
                is_refused,
                "{depth}: {error}"
            );
        }
        let world = CoreModule::default().with_types(&module(&[])).unwrap();
        assert!(CoreModule::parse(&world).unwrap().has_types);
    }

    #[test]
    fn rejects_a_truncated_module() {
        let whole = module(&["a"]);
        let error = pack(&whole[..whole.len() - 4]).unwrap_err().to_string();
        assert!(error.contains("damaged"), "{error}");
    }
}
