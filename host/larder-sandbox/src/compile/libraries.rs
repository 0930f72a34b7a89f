//! Separates the libraries of a component from its other parts, so that each library is compiled once.
//!
//! A component in Python or JavaScript mostly consists of the interpreter. The interpreter is a core module that
//! imports its memory and contains no code of the author. So its bytes are the same in each revision, and in each
//! provider that was built with the same tools. All differences are in other modules, which are small. The engine
//! compiles a component as a whole. But if the component imports a module, the host may link compiled code to this
//! import. So each library is replaced by an import whose name contains its digest.

mod module_type;

use std::collections::HashSet;
use std::ops::Range;

use wasm_encoder::{
    Alias, ComponentAliasSection, ComponentImportSection, ComponentOuterAliasKind,
    ComponentSection as _, ComponentSectionId, ComponentTypeRef, CoreTypeSection, Encode as _,
    ModuleType,
};
use wasmparser::{
    BinaryReader, ComponentAlias, ComponentAliasSectionReader, ComponentExportSectionReader,
    ComponentExternalKind, ComponentImportSectionReader, ComponentInstance,
    ComponentInstanceSectionReader, ComponentOuterAliasKind as OuterKind,
    ComponentTypeRef as ImportType, Instance, InstanceSectionReader,
};

use self::module_type::{MAX_GLOBALS, library_type};
use larder_model::name::Digest;

/// Prefix of the names of the imports that replace libraries. Each word of such a name begins with a letter.
const NAME_PREFIX: &str = "larder-library-x";
/// The minimum size of a library, in bytes of its code. Compiling a smaller library again takes less time than starting
/// a process.
const MIN_CODE: usize = 64 << 10;
/// The maximum number of libraries that are separated. Python has three libraries.
const MAX_LIBRARIES: usize = 16;
/// The maximum depth of nested components with libraries. In JavaScript, the library is in the second component.
const MAX_DEPTH: u32 = 8;
/// The maximum number of modules, and of components, that a component with libraries instantiates. Python instantiates
/// 15 modules and 8 components.
const MAX_INSTANCES: usize = 64;
/// The bytes that an instance needs for each function and import, and for each global.
const FUNCTION: usize = 32;
const GLOBAL: usize = 16;
/// Size of the header of a component.
const HEADER: usize = 8;

/// A component without its libraries.
#[derive(Debug)]
pub(crate) struct SplitComponent {
    /// A component that imports the libraries.
    pub(crate) bytes: Vec<u8>,
    pub(crate) libraries: Vec<Library>,
}

/// A library of a component.
#[derive(Debug)]
pub(crate) struct Library {
    /// The name of the import that replaces the library, with the digest of the library.
    pub(crate) name: String,
    /// The range of the library's bytes in the component.
    pub(crate) range: Range<usize>,
    module_type: ModuleType,
}

/// The component is invalid, or uses a feature that is too complex for this module. The component is compiled as a
/// whole, which also finds out what is wrong with it.
#[derive(Debug)]
struct SplitError;

impl<E: std::error::Error> From<E> for SplitError {
    fn from(_: E) -> Self {
        Self
    }
}

/// Whether this is the name of an import that replaces a library.
pub(crate) fn is_library(import: &str) -> bool {
    import.starts_with(NAME_PREFIX)
}

/// The maximum that the engine allocates for an instance of a library, in bytes. The engine reports the memories and
/// tables of instances, but not this size.
pub(crate) fn instance_size(library: &wasmtime::Module) -> u64 {
    let functions = library.functions().len() + library.imports().len();
    (functions * FUNCTION + MAX_GLOBALS as usize * GLOBAL) as u64
}

/// Separates the libraries of a component from its other parts. None if the component has no libraries.
pub(crate) fn split(component: &[u8]) -> Option<SplitComponent> {
    split_larger(component, MIN_CODE)
}

/// Separates libraries with at least `min_code` bytes of code.
fn split_larger(component: &[u8], min_code: usize) -> Option<SplitComponent> {
    let mut splitter = Splitter {
        source: component,
        min_code,
        ..Splitter::default()
    };
    let bytes = splitter.component(0..component.len(), 0).ok()?;
    let Splitter {
        libraries,
        has_root_modules,
        has_inner_libraries,
        ..
    } = splitter;
    // If the root imported inner components, the modules of the root would have other indices.
    let is_possible = !has_root_modules || !has_inner_libraries;
    (is_possible && !libraries.is_empty()).then_some(SplitComponent { bytes, libraries })
}

#[derive(Default)]
struct Splitter<'a> {
    source: &'a [u8],
    min_code: usize,
    libraries: Vec<Library>,
    /// Whether the root, which is the outermost component, has modules itself.
    has_root_modules: bool,
    /// Whether there are libraries in nested components.
    has_inner_libraries: bool,
}

/// What a component instantiates. Each module and each nested component is instantiated at most once, and there is no
/// other way to use them. So a guest has one instance of each library.
#[derive(Default)]
struct InstanceSet {
    modules: HashSet<u32>,
    components: HashSet<u32>,
}

impl Splitter<'_> {
    /// Copies the component in this range, without its libraries.
    fn component(&mut self, range: Range<usize>, depth: u32) -> Result<Vec<u8>, SplitError> {
        let source = self.source;
        let mut reader = BinaryReader::new(&source[range.clone()], range.start);
        let mut out = reader.read_bytes(HEADER)?.to_vec();
        let mut instantiated = InstanceSet::default();
        while !reader.eof() {
            let start = reader.original_position();
            let id = reader.read_u8()?;
            let size = reader.read_var_u32()?;
            let content = reader.original_position()
                ..reader.original_position() + reader.read_bytes(size as usize)?.len();
            check_section(
                id,
                BinaryReader::new(&source[content.clone()], content.start),
                depth,
            )?;
            instantiated.add(
                id,
                BinaryReader::new(&source[content.clone()], content.start),
            )?;
            if !self.replace_section(id, content.clone(), depth, &mut out)? {
                out.extend_from_slice(&source[start..content.end]);
            }
        }
        Ok(out)
    }

    /// Writes the replacement of a section. Returns whether there is a replacement.
    fn replace_section(
        &mut self,
        id: u8,
        content: Range<usize>,
        depth: u32,
        out: &mut Vec<u8>,
    ) -> Result<bool, SplitError> {
        match id {
            MODULE => self.replace_module(content, depth, out),
            COMPONENT => self.replace_component(content, depth, out),
            _ => Ok(false),
        }
    }

    fn replace_module(
        &mut self,
        range: Range<usize>,
        depth: u32,
        out: &mut Vec<u8>,
    ) -> Result<bool, SplitError> {
        self.has_root_modules |= depth == 0;
        let module = &self.source[range.clone()];
        if self.libraries.len() == MAX_LIBRARIES {
            return Ok(false);
        }
        let Some(module_type) = library_type(module, self.min_code)? else {
            return Ok(false);
        };
        let name = format!("{NAME_PREFIX}{}", Digest::of(module));
        // Two imports cannot have the same name.
        if self.libraries.iter().any(|library| library.name == name) {
            return Ok(false);
        }
        let index = u32::try_from(self.libraries.len())?;
        let library = Library {
            name,
            range,
            module_type,
        };
        match depth {
            0 => write_import(index, &library, out),
            _ => {
                self.has_inner_libraries = true;
                let kind = ComponentOuterAliasKind::CoreModule;
                ComponentAliasSection::new()
                    .alias(Alias::Outer {
                        kind,
                        count: depth,
                        index,
                    })
                    .append_to_component(out);
            }
        }
        self.libraries.push(library);
        Ok(true)
    }

    fn replace_component(
        &mut self,
        range: Range<usize>,
        depth: u32,
        out: &mut Vec<u8>,
    ) -> Result<bool, SplitError> {
        let known = self.libraries.len();
        if depth == MAX_DEPTH {
            return Err(SplitError);
        }
        let component = self.component(range, depth + 1)?;
        if self.libraries.len() == known {
            return Ok(false);
        }
        if depth == 0 {
            for (index, library) in (0..).zip(&self.libraries).skip(known) {
                write_import(index, library, out);
            }
        }
        out.push(COMPONENT);
        component.encode(out);
        Ok(true)
    }
}

impl InstanceSet {
    fn add(&mut self, id: u8, section: BinaryReader<'_>) -> Result<(), SplitError> {
        if id == INSTANCES {
            for instance in InstanceSectionReader::new(section)? {
                let Instance::Instantiate { module_index, .. } = instance? else {
                    continue;
                };
                insert_once(&mut self.modules, module_index)?;
            }
        } else if id == COMPONENT_INSTANCES {
            for instance in ComponentInstanceSectionReader::new(section)? {
                let ComponentInstance::Instantiate {
                    component_index, ..
                } = instance?
                else {
                    continue;
                };
                insert_once(&mut self.components, component_index)?;
            }
        }
        Ok(())
    }
}

fn insert_once(instantiated: &mut HashSet<u32>, index: u32) -> Result<(), SplitError> {
    let is_possible = instantiated.len() < MAX_INSTANCES && instantiated.insert(index);
    is_possible.then_some(()).ok_or(SplitError)
}

/// The identifiers of sections of a component.
const MODULE: u8 = ComponentSectionId::CoreModule as u8;
const COMPONENT: u8 = ComponentSectionId::Component as u8;
const TYPES: u8 = ComponentSectionId::CoreType as u8;
const ALIASES: u8 = ComponentSectionId::Alias as u8;
const IMPORTS: u8 = ComponentSectionId::Import as u8;
const INSTANCES: u8 = ComponentSectionId::CoreInstance as u8;
const COMPONENT_INSTANCES: u8 = ComponentSectionId::Instance as u8;
const EXPORTS: u8 = ComponentSectionId::Export as u8;

/// Writes the import of a library into the root. The root has no other core types, so the index of the type is the same
/// as the index of the library.
fn write_import(index: u32, library: &Library, out: &mut Vec<u8>) {
    let mut types = CoreTypeSection::new();
    types.ty().module(&library.module_type);
    types.append_to_component(out);
    let mut imports = ComponentImportSection::new();
    imports.import(library.name.as_str(), ComponentTypeRef::Module(index));
    imports.append_to_component(out);
}

/// Checks that the root defines no types of modules, because the imports of libraries would change their indices, and
/// that modules and components have no further names.
fn check_section(id: u8, section: BinaryReader<'_>, depth: u32) -> Result<(), SplitError> {
    match id {
        TYPES if depth == 0 => Err(SplitError),
        ALIASES => check_aliases(section, depth),
        IMPORTS => check_imports(section),
        EXPORTS => check_exports(section),
        _ => Ok(()),
    }
}

fn check_aliases(section: BinaryReader<'_>, depth: u32) -> Result<(), SplitError> {
    for alias in ComponentAliasSectionReader::new(section)? {
        let is_possible = match alias? {
            ComponentAlias::InstanceExport { kind, .. } => !is_code(kind),
            ComponentAlias::CoreInstanceExport { .. } => true,
            ComponentAlias::Outer {
                kind: OuterKind::CoreType,
                count,
                ..
            } => count != depth,
            ComponentAlias::Outer { kind, .. } => kind == OuterKind::Type,
        };
        if !is_possible {
            return Err(SplitError);
        }
    }
    Ok(())
}

fn check_imports(section: BinaryReader<'_>) -> Result<(), SplitError> {
    for import in ComponentImportSectionReader::new(section)? {
        let import = import?;
        if matches!(import.ty, ImportType::Module(_) | ImportType::Component(_))
            || is_library(import.name.name)
        {
            return Err(SplitError);
        }
    }
    Ok(())
}

fn check_exports(section: BinaryReader<'_>) -> Result<(), SplitError> {
    for export in ComponentExportSectionReader::new(section)? {
        if is_code(export?.kind) {
            return Err(SplitError);
        }
    }
    Ok(())
}

fn is_code(kind: ComponentExternalKind) -> bool {
    matches!(
        kind,
        ComponentExternalKind::Module | ComponentExternalKind::Component
    )
}

#[cfg(test)]
mod tests;
