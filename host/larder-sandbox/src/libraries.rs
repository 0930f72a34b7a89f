//! Separates the libraries of a component from the rest, so that each of them is compiled once.
//!
//! A component in Python or JavaScript mostly consists of the interpreter. It is a core module that imports its memory
//! and has nothing that the author wrote, so its bytes are the same in each revision, and in each provider that was built
//! with the same tools. What differs is in other modules, which are small. The engine compiles a component as a whole.
//! But if the component imports a module, the host may link compiled code to this import. So each library is replaced
//! by an import whose name contains its digest.

mod module_type;

use std::ops::Range;

use wasm_encoder::{
    Alias, ComponentAliasSection, ComponentImportSection, ComponentOuterAliasKind, ComponentSection as _,
    ComponentSectionId, ComponentTypeRef, CoreTypeSection, Encode as _, ModuleType,
};
use wasmparser::{
    BinaryReader, ComponentAlias, ComponentAliasSectionReader, ComponentExternalKind,
    ComponentImportSectionReader, ComponentOuterAliasKind as OuterKind, ComponentTypeRef as ImportType,
    Instance, InstanceSectionReader,
};

use self::module_type::library_type;
use larder_model::name::Digest;

/// Prefix of the names of the imports that replace libraries. Each word of such a name begins with a letter.
const NAME_PREFIX: &str = "larder-library-x";
/// The smallest library, in bytes of its code. To compile a smaller one again takes less time than to start a process.
const MIN_CODE: usize = 64 << 10;
/// The maximum number of libraries that are separated. Python has three.
const MAX_LIBRARIES: usize = 16;
/// The maximum depth of nested components with libraries. JavaScript has its library in the second one.
const MAX_DEPTH: u32 = 8;
/// The maximum number of modules that a component with libraries instantiates, because the engine does not know the size
/// of instances of imported modules. Python has 15.
const MAX_INSTANCES: usize = 32;
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
    /// The name of the import that replaces it, with its digest.
    pub(crate) name: String,
    /// Where its bytes are in the component.
    pub(crate) range: Range<usize>,
    module_type: ModuleType,
}

/// The component is invalid, or uses a feature that is not worth the effort here. It is compiled as a whole, which also
/// finds out what is wrong with it.
#[derive(Debug)]
struct NotSplit;

impl<E: std::error::Error> From<E> for NotSplit {
    fn from(_: E) -> Self {
        Self
    }
}

/// Whether this is the name of an import that replaces a library.
pub(crate) fn is_library(import: &str) -> bool {
    import.starts_with(NAME_PREFIX)
}

/// Separates the libraries of a component from the rest. None if it has none.
pub(crate) fn split(component: &[u8]) -> Option<SplitComponent> {
    split_larger(component, MIN_CODE)
}

/// Separates libraries with at least `min_code` bytes of code.
fn split_larger(component: &[u8], min_code: usize) -> Option<SplitComponent> {
    let mut splitter = Splitter { source: component, min_code, ..Splitter::default() };
    let bytes = splitter.component(0..component.len(), 0).ok()?;
    let Splitter { libraries, has_root_modules, has_inner_libraries, .. } = splitter;
    // With imports for inner components, the modules of the root would have other indices.
    let is_possible = !has_root_modules || !has_inner_libraries;
    (is_possible && !libraries.is_empty()).then_some(SplitComponent { bytes, libraries })
}

#[derive(Default)]
struct Splitter<'a> {
    source: &'a [u8],
    min_code: usize,
    libraries: Vec<Library>,
    /// Whether the outermost component, the root, has modules itself.
    has_root_modules: bool,
    /// Whether there are libraries in nested components.
    has_inner_libraries: bool,
    /// How many times a module is instantiated.
    instances: usize,
}

impl Splitter<'_> {
    /// Copies the component in this range, without its libraries.
    fn component(&mut self, range: Range<usize>, depth: u32) -> Result<Vec<u8>, NotSplit> {
        let source = self.source;
        let mut reader = BinaryReader::new(&source[range.clone()], range.start);
        let mut out = reader.read_bytes(HEADER)?.to_vec();
        while !reader.eof() {
            let start = reader.original_position();
            let (id, size) = (reader.read_u8()?, reader.read_var_u32()?);
            let content = reader.original_position()
                ..reader.original_position() + reader.read_bytes(size as usize)?.len();
            if !self.replace_section(id, content.clone(), depth, &mut out)? {
                out.extend_from_slice(&source[start..content.end]);
            }
        }
        Ok(out)
    }

    /// Writes what replaces a section. Returns whether something does.
    fn replace_section(
        &mut self,
        id: u8,
        content: Range<usize>,
        depth: u32,
        out: &mut Vec<u8>,
    ) -> Result<bool, NotSplit> {
        let reader = BinaryReader::new(&self.source[content.clone()], content.start);
        match id {
            TYPES if depth == 0 => return Err(NotSplit),
            ALIASES => check_aliases(reader, depth)?,
            IMPORTS if depth == 0 => check_imports(reader)?,
            INSTANCES => self.count_instances(reader)?,
            _ => {}
        }
        match id {
            MODULE => self.replace_module(content, depth, out),
            COMPONENT => self.replace_component(content, depth, out),
            _ => Ok(false),
        }
    }

    fn count_instances(&mut self, section: BinaryReader<'_>) -> Result<(), NotSplit> {
        for instance in InstanceSectionReader::new(section)? {
            self.instances += usize::from(matches!(instance?, Instance::Instantiate { .. }));
            if self.instances > MAX_INSTANCES {
                return Err(NotSplit);
            }
        }
        Ok(())
    }

    fn replace_module(
        &mut self,
        range: Range<usize>,
        depth: u32,
        out: &mut Vec<u8>,
    ) -> Result<bool, NotSplit> {
        self.has_root_modules |= depth == 0;
        let module = &self.source[range.clone()];
        if self.libraries.len() == MAX_LIBRARIES {
            return Ok(false);
        }
        let Some(module_type) = library_type(module, self.min_code)? else { return Ok(false) };
        let name = format!("{NAME_PREFIX}{}", Digest::of(module));
        // Two imports cannot have the same name.
        if self.libraries.iter().any(|library| library.name == name) {
            return Ok(false);
        }
        let index = u32::try_from(self.libraries.len())?;
        let library = Library { name, range, module_type };
        match depth {
            0 => write_import(index, &library, out),
            _ => {
                self.has_inner_libraries = true;
                let kind = ComponentOuterAliasKind::CoreModule;
                ComponentAliasSection::new()
                    .alias(Alias::Outer { kind, count: depth, index })
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
    ) -> Result<bool, NotSplit> {
        let known = self.libraries.len();
        if depth == MAX_DEPTH {
            return Ok(false);
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

/// The identifiers of sections of a component.
const MODULE: u8 = ComponentSectionId::CoreModule as u8;
const COMPONENT: u8 = ComponentSectionId::Component as u8;
const TYPES: u8 = ComponentSectionId::CoreType as u8;
const ALIASES: u8 = ComponentSectionId::Alias as u8;
const IMPORTS: u8 = ComponentSectionId::Import as u8;
const INSTANCES: u8 = ComponentSectionId::CoreInstance as u8;

/// Writes the import of a library into the root. The root has no other core types, so the index of the type is that of
/// the library.
fn write_import(index: u32, library: &Library, out: &mut Vec<u8>) {
    let mut types = CoreTypeSection::new();
    types.ty().module(&library.module_type);
    types.append_to_component(out);
    let mut imports = ComponentImportSection::new();
    imports.import(library.name.as_str(), ComponentTypeRef::Module(index));
    imports.append_to_component(out);
}

/// Checks that aliases add no modules to the root, and do not refer to its modules and core types: the imports of libraries
/// would change their indices.
fn check_aliases(section: BinaryReader<'_>, depth: u32) -> Result<(), NotSplit> {
    for alias in ComponentAliasSectionReader::new(section)? {
        let concerns_root = match alias? {
            ComponentAlias::InstanceExport { kind, .. } => {
                depth == 0 && kind == ComponentExternalKind::Module
            }
            ComponentAlias::CoreInstanceExport { .. } => false,
            ComponentAlias::Outer { kind, count, .. } => {
                count == depth && matches!(kind, OuterKind::CoreModule | OuterKind::CoreType)
            }
        };
        if concerns_root {
            return Err(NotSplit);
        }
    }
    Ok(())
}

/// Checks that the root imports no module, and nothing with the name of a library.
fn check_imports(section: BinaryReader<'_>) -> Result<(), NotSplit> {
    for import in ComponentImportSectionReader::new(section)? {
        let import = import?;
        if matches!(import.ty, ImportType::Module(_)) || is_library(import.name.name) {
            return Err(NotSplit);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
