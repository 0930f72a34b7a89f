use wasm_encoder::{
    CodeSection, ComponentBuilder, ComponentExportKind, ComponentTypeRef, ComponentValType, ConstExpr,
    DataSection, EntityType, ExportKind, ExportSection, Function, FunctionSection, GlobalSection, GlobalType,
    ImportSection, MemArg, MemorySection, MemoryType, Module, ModuleArg, PrimitiveValType, TypeSection,
    ValType,
};
use wasmtime::Store;
use wasmtime::component::{Component, Linker};

use super::*;
use crate::engine;
use crate::tier::Tier;

const MEMORY: MemoryType =
    MemoryType { minimum: 1, maximum: None, memory64: false, shared: false, page_size_log2: None };

fn functions(bodies: &[Function]) -> (FunctionSection, CodeSection) {
    let (mut functions, mut code) = (FunctionSection::new(), CodeSection::new());
    for body in bodies {
        functions.function(0);
        code.function(body);
    }
    (functions, code)
}

/// The only type: a function that returns a number.
fn types() -> TypeSection {
    let mut types = TypeSection::new();
    types.ty().function([], [ValType::I32]);
    types
}

/// A function that returns a number.
fn number(number: i32) -> Function {
    let mut body = Function::new([]);
    body.instructions().i32_const(number).end();
    body
}

/// A module with a memory, which contains 35, and a function that returns 7.
fn content() -> Vec<u8> {
    let (functions, code) = functions(&[number(7)]);
    let (mut memories, mut exports, mut data) =
        (MemorySection::new(), ExportSection::new(), DataSection::new());
    memories.memory(MEMORY);
    exports.export("memory", ExportKind::Memory, 0).export("seven", ExportKind::Func, 0);
    data.active(0, &ConstExpr::i32_const(0), 35_i32.to_le_bytes());
    let mut module = Module::new();
    module.section(&types()).section(&functions).section(&memories).section(&exports);
    module.section(&code).section(&data);
    module.finish()
}

/// A module whose function `answer` adds what the memory contains, the result of `seven`, and a global. Its code has at
/// least this size.
fn library(size: usize) -> Vec<u8> {
    let mut imports = ImportSection::new();
    imports.import("env", "seven", EntityType::Function(0)).import("env", "memory", MEMORY);
    let mut answer = Function::new([]);
    for _ in 0..size / 3 {
        answer.instructions().i32_const(1).drop();
    }
    let first = MemArg { offset: 0, align: 2, memory_index: 0 };
    answer.instructions().i32_const(0).i32_load(first).call(0).i32_add().global_get(0).i32_add().end();
    let (functions, code) = functions(&[number(1), answer]);
    let (mut globals, mut exports) = (GlobalSection::new(), ExportSection::new());
    let global = GlobalType { val_type: ValType::I32, mutable: false, shared: false };
    globals.global(global, &ConstExpr::i32_const(1000));
    exports.export("answer", ExportKind::Func, 2).export("again", ExportKind::Func, 0);
    exports.export("thousand", ExportKind::Global, 0).export("same", ExportKind::Memory, 0);
    let mut module = Module::new();
    module.section(&types()).section(&imports).section(&functions).section(&globals);
    module.section(&exports).section(&code);
    module.finish()
}

/// A component that exports the function `answer` of this library.
fn component(libraries: &[Vec<u8>]) -> ComponentBuilder {
    let mut component = ComponentBuilder::default();
    let content = component.core_module_raw(None, &content());
    let content = component.core_instantiate(None, content, []);
    for (number, library) in libraries.iter().enumerate() {
        let library = component.core_module_raw(None, library);
        let library = component.core_instantiate(None, library, [("env", ModuleArg::Instance(content))]);
        let answer = component.core_alias_export(None, library, "answer", ExportKind::Func);
        let (ty, mut encoder) = component.type_function(None);
        encoder.params::<_, ComponentValType>([]);
        encoder.result(Some(ComponentValType::Primitive(PrimitiveValType::S32)));
        let answer = component.lift_func(None, answer, ty, []);
        component.export(format!("answer{number}"), ComponentExportKind::Func, answer, None);
    }
    component
}

/// A component that contains this one, and exports its function.
fn nest(inner: ComponentBuilder) -> ComponentBuilder {
    let mut outer = ComponentBuilder::default();
    let inner = outer.component(None, inner);
    let inner = outer.instantiate(None, inner, Vec::<(&str, _, _)>::new());
    let answer = outer.alias_export(inner, "answer0", ComponentExportKind::Func);
    outer.export("answer0", ComponentExportKind::Func, answer, None);
    outer
}

/// Compiles the parts one by one, links them, and calls the function.
fn call(component: &[u8], parts: &SplitComponent, function: &str) -> i32 {
    let engine = engine::for_compiling(Tier::Split, None).unwrap();
    let mut linker = Linker::<()>::new(&engine);
    for library in &parts.libraries {
        let module = wasmtime::Module::new(&engine, &component[library.range.clone()]).unwrap();
        linker.root().module(&library.name, &module).unwrap();
    }
    let mut store = Store::new(&engine, ());
    store.set_epoch_deadline(1);
    let instance = linker.instantiate(&mut store, &Component::new(&engine, &parts.bytes).unwrap()).unwrap();
    let function = instance.get_typed_func::<(), (i32,)>(&mut store, function).unwrap();
    function.call(&mut store, ()).unwrap().0
}

#[test]
fn a_library_is_compiled_on_its_own() {
    let library = library(MIN_CODE);
    for component in [
        component(&[library.clone()]),
        nest(component(&[library.clone()])),
        nest(nest(component(&[library.clone()]))),
    ] {
        let component = component.finish();
        let parts = split(&component).unwrap();
        assert_eq!(parts.libraries.len(), 1);
        assert_eq!(component[parts.libraries[0].range.clone()], library);
        assert!(parts.bytes.len() < component.len() - library.len() + 1_000);
        assert_eq!(call(&component, &parts, "answer0"), 1042);
    }
}

#[test]
fn different_libraries_are_separated_and_a_copy_is_not() {
    let (one, two) = (library(MIN_CODE), library(MIN_CODE + 100));
    let component = component(&[one.clone(), two, one]).finish();
    let parts = split(&component).unwrap();
    assert_eq!(parts.libraries.len(), 2);
    assert_ne!(parts.libraries[0].name, parts.libraries[1].name);
    for function in ["answer0", "answer1", "answer2"] {
        assert_eq!(call(&component, &parts, function), 1042);
    }
}

#[test]
fn the_name_of_a_library_depends_on_its_bytes_only() {
    let library = library(MIN_CODE);
    let name = |component: ComponentBuilder| split(&component.finish()).unwrap().libraries[0].name.clone();
    let expected = name(component(&[library.clone()]));
    assert!(is_library(&expected) && !is_library("wasi:io/poll@0.2.6"));
    assert_eq!(name(nest(component(&[library]))), expected);
    assert_ne!(name(component(&[self::library(MIN_CODE + 100)])), expected);
}

#[test]
fn other_components_are_compiled_as_a_whole() {
    assert!(split(&component(&[]).finish()).is_none());
    let small = component(&[library(1_000)]).finish();
    assert!(split(&small).is_none());
    assert!(split(b"").is_none() && split(b"\0asm\x0d\0\x01\0\x01\xff").is_none());
    let whole = component(&[library(MIN_CODE)]).finish();
    for length in (0..whole.len()).step_by(997) {
        // It must not panic.
        let _ = split(&whole[..length]);
    }
    // With imports for the library, the modules or types of the root would have other indices.
    let mut module_and_nested = nest(component(&[library(MIN_CODE)]));
    module_and_nested.core_module_raw(None, &content());
    assert!(split(&module_and_nested.finish()).is_none());
    let mut types = component(&[library(MIN_CODE)]);
    let (index, encoder) = types.core_type(None);
    encoder.module(&ModuleType::new());
    assert!(split(&types.finish()).is_none());
    let mut imports = ComponentBuilder::default();
    let (_, encoder) = imports.core_type(None);
    encoder.module(&ModuleType::new());
    imports.import("module", ComponentTypeRef::Module(index));
    assert!(split(&imports.finish()).is_none());
}

#[test]
fn only_some_libraries_are_separated() {
    let libraries: Vec<_> = (0..MAX_LIBRARIES + 2).map(|number| library(MIN_CODE + number * 10)).collect();
    let component = component(&libraries).finish();
    let parts = split(&component).unwrap();
    assert_eq!(parts.libraries.len(), MAX_LIBRARIES);
    assert_eq!(call(&component, &parts, "answer17"), 1042);
}
