//! Recognizes libraries among the modules of a component, and describes their imports and exports.

use std::collections::HashSet;

use wasm_encoder::reencode::{Reencode as _, RoundtripReencoder};
use wasm_encoder::{EntityType, ModuleType};
use wasmparser::{
    CompositeInnerType, Export, ExternalKind, FuncType, GlobalType, Import, Parser, Payload,
    SectionLimited, TypeRef, TypeSectionReader, WasmFeatures,
};

use super::SplitError;

/// The number of items of each kind that a library has at most. The library of Python has 11,000 functions. The limit
/// bounds the memory for the types of these items here, and the memory for each instance.
const MAX_ITEMS: u32 = 16_000;
/// The maximum number of globals that a library defines. The library of Python defines 314.
pub(super) const MAX_GLOBALS: u32 = 1_000;

/// Returns the type of a module that is a library with at least `min_code` bytes of code. Returns none for other
/// modules: modules with a memory or a table of their own, and modules that use types beyond WebAssembly 2.0.
pub(super) fn library_type(
    module: &[u8],
    min_code: usize,
) -> Result<Option<ModuleType>, SplitError> {
    let mut items = Items::default();
    let mut parser = Parser::new(0);
    // With other features, a few bytes could represent many imports with long names.
    parser.set_features(WasmFeatures::WASM2);
    for payload in parser.parse_all(module) {
        match payload? {
            payload if has_too_many_items(&payload) => return Ok(None),
            Payload::TypeSection(types) => match function_types(types)? {
                Some(types) => items.types = types,
                None => return Ok(None),
            },
            Payload::ImportSection(imports) => {
                items.imports = imports.into_imports().collect::<Result<_, _>>()?;
            }
            Payload::FunctionSection(functions) => {
                items.functions = functions.into_iter().collect::<Result<_, _>>()?;
            }
            Payload::GlobalSection(globals) => {
                for global in globals {
                    items.globals.push(global?.ty);
                }
            }
            Payload::TableSection(_) | Payload::MemorySection(_) | Payload::TagSection(_) => {
                return Ok(None);
            }
            Payload::ExportSection(exports) => {
                items.exports = exports.into_iter().collect::<Result<_, _>>()?;
            }
            Payload::CodeSectionStart { range, .. } if range.len() >= min_code => {
                return items.module_type().map(Some);
            }
            Payload::CodeSectionStart { .. } => return Ok(None),
            _ => {}
        }
    }
    Ok(None)
}

fn has_too_many_items(payload: &Payload<'_>) -> bool {
    fn exceeds<T>(section: &SectionLimited<'_, T>) -> bool {
        section.count() > MAX_ITEMS
    }
    match payload {
        Payload::TypeSection(section) => exceeds(section),
        Payload::ImportSection(section) => exceeds(section),
        Payload::FunctionSection(section) => exceeds(section),
        Payload::GlobalSection(section) => section.count() > MAX_GLOBALS,
        Payload::ExportSection(section) => exceeds(section),
        _ => false,
    }
}

/// Returns the types if all of them are types of functions.
fn function_types(types: TypeSectionReader<'_>) -> Result<Option<Vec<FuncType>>, SplitError> {
    let mut functions = Vec::new();
    for group in types {
        let group = group?;
        let is_explicit = group.is_explicit_rec_group();
        for sub_type in group.into_types() {
            match sub_type.composite_type.inner {
                CompositeInnerType::Func(function)
                    if sub_type.is_final && sub_type.supertype_idx.is_none() && !is_explicit =>
                {
                    functions.push(function);
                }
                _ => return Ok(None),
            }
        }
    }
    Ok(Some(functions))
}

/// What a module defines before its code.
#[derive(Default)]
struct Items<'a> {
    types: Vec<FuncType>,
    imports: Vec<Import<'a>>,
    /// The types of the functions that the module defines.
    functions: Vec<u32>,
    globals: Vec<GlobalType>,
    exports: Vec<Export<'a>>,
}

impl Items<'_> {
    fn module_type(&self) -> Result<ModuleType, SplitError> {
        let mut module_type = ModuleType::new();
        for function in &self.types {
            let function = RoundtripReencoder.func_type(function.clone())?;
            module_type.ty().function(
                function.params().iter().copied(),
                function.results().iter().copied(),
            );
        }
        let mut names = HashSet::new();
        for import in &self.imports {
            // The imports of a type of a module have different names.
            if !names.insert((import.module, import.name)) {
                return Err(SplitError);
            }
            module_type.import(
                import.module,
                import.name,
                RoundtripReencoder.entity_type(import.ty)?,
            );
        }
        let imported = ImportedTypes::of(&self.imports);
        for export in &self.exports {
            module_type.export(export.name, self.type_of(export, &imported)?);
        }
        Ok(module_type)
    }

    /// The type of an exported item. Imports have the lowest indices of each kind.
    fn type_of(
        &self,
        export: &Export<'_>,
        imported: &ImportedTypes,
    ) -> Result<EntityType, SplitError> {
        let imported = imported.of_kind(export.kind);
        let index = export.index as usize;
        let Some(defined) = index.checked_sub(imported.len()) else {
            return Ok(RoundtripReencoder.entity_type(imported[index])?);
        };
        match export.kind {
            ExternalKind::Func => self
                .functions
                .get(defined)
                .copied()
                .map(EntityType::Function)
                .ok_or(SplitError),
            ExternalKind::Global => {
                let global = self.globals.get(defined).copied().ok_or(SplitError)?;
                Ok(EntityType::Global(RoundtripReencoder.global_type(global)?))
            }
            // Libraries define no other items.
            _ => Err(SplitError),
        }
    }
}

/// The types of the imports, separate for each kind.
#[derive(Default)]
struct ImportedTypes {
    functions: Vec<TypeRef>,
    tables: Vec<TypeRef>,
    memories: Vec<TypeRef>,
    globals: Vec<TypeRef>,
}

impl ImportedTypes {
    fn of(imports: &[Import<'_>]) -> Self {
        let mut types = Self::default();
        for import in imports {
            match import.ty {
                TypeRef::Func(_) => types.functions.push(import.ty),
                TypeRef::Table(_) => types.tables.push(import.ty),
                TypeRef::Memory(_) => types.memories.push(import.ty),
                TypeRef::Global(_) => types.globals.push(import.ty),
                // Exports of these kinds are not described.
                TypeRef::Tag(_) | TypeRef::FuncExact(_) => {}
            }
        }
        types
    }

    fn of_kind(&self, kind: ExternalKind) -> &[TypeRef] {
        match kind {
            ExternalKind::Func => &self.functions,
            ExternalKind::Table => &self.tables,
            ExternalKind::Memory => &self.memories,
            ExternalKind::Global => &self.globals,
            ExternalKind::Tag | ExternalKind::FuncExact => &[],
        }
    }
}
