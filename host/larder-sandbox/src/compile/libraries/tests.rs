use wasm_encoder::{
    CodeSection, ComponentBuilder, ComponentExportKind, ComponentTypeRef, ComponentValType,
    ConstExpr, DataSection, EntityType, ExportKind, ExportSection, Function, FunctionSection,
    GlobalSection, GlobalType, ImportSection, Imports, MemArg, MemorySection, MemoryType, Module,
    ModuleArg, PrimitiveValType, TypeSection, ValType,
};
use wasmtime::Store;
use wasmtime::component::{Component, Linker};

use super::*;
use crate::engine;
use crate::engine::tier::Tier;

const MEMORY: MemoryType = MemoryType {
    minimum: 1,
    maximum: None,
    memory64: false,
    shared: false,
    page_size_log2: None,
};

fn functions(bodies: &[Function]) -> (FunctionSection, CodeSection) {
    let mut functions = FunctionSection::new();
    let mut code = CodeSection::new();
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
    let mut memories = MemorySection::new();
    let mut exports = ExportSection::new();
    let mut data = DataSection::new();
    memories.memory(MEMORY);
    exports
        .export("memory", ExportKind::Memory, 0)
        .export("seven", ExportKind::Func, 0);
    data.active(0, &ConstExpr::i32_const(0), 35_i32.to_le_bytes());
    let mut module = Module::new();
    module
        .section(&types())
        .section(&functions)
        .section(&memories)
        .section(&exports);
    module.section(&code).section(&data);
    module.finish()
}

/// A module whose function `answer` returns the sum of the number in the memory, the result of `seven`, and a global.
/// The code of the module has at least this size.
fn library(size: usize) -> Vec<u8> {
    let mut imports = ImportSection::new();
    imports
        .import("env", "seven", EntityType::Function(0))
        .import("env", "memory", MEMORY);
    let mut answer = Function::new([]);
    for _ in 0..size / 3 {
        answer.instructions().i32_const(1).drop();
    }
    let first = MemArg {
        offset: 0,
        align: 2,
        memory_index: 0,
    };
    answer
        .instructions()
        .i32_const(0)
        .i32_load(first)
        .call(0)
        .i32_add()
        .global_get(0)
        .i32_add()
        .end();
    let (functions, code) = functions(&[number(1), answer]);
    let mut globals = GlobalSection::new();
    let mut exports = ExportSection::new();
    let global = GlobalType {
        val_type: ValType::I32,
        mutable: false,
        shared: false,
    };
    globals.global(global, &ConstExpr::i32_const(1000));
    exports
        .export("answer", ExportKind::Func, 2)
        .export("again", ExportKind::Func, 0);
    exports
        .export("thousand", ExportKind::Global, 0)
        .export("same", ExportKind::Memory, 0);
    let mut module = Module::new();
    module
        .section(&types())
        .section(&imports)
        .section(&functions)
        .section(&globals);
    module.section(&exports).section(&code);
    module.finish()
}

/// A component that exports the function `answer` of this library.
fn component(libraries: &[&[u8]]) -> ComponentBuilder {
    let mut component = ComponentBuilder::default();
    let content = component.core_module_raw(None, &content());
    let content = component.core_instantiate(None, content, []);
    for (number, library) in libraries.iter().enumerate() {
        let library = component.core_module_raw(None, library);
        let library =
            component.core_instantiate(None, library, [("env", ModuleArg::Instance(content))]);
        let answer = component.core_alias_export(None, library, "answer", ExportKind::Func);
        let (ty, mut encoder) = component.type_function(None);
        encoder.params::<_, ComponentValType>([]);
        encoder.result(Some(ComponentValType::Primitive(PrimitiveValType::S32)));
        let answer = component.lift_func(None, answer, ty, []);
        component.export(
            format!("answer{number}"),
            ComponentExportKind::Func,
            answer,
            None,
        );
    }
    component
}

/// A component that contains another component, and exports the function of that component.
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
    let engine = engine::for_compiling(Tier::Split).unwrap();
    let mut linker = Linker::<()>::new(&engine);
    for library in &parts.libraries {
        let module = wasmtime::Module::new(&engine, &component[library.range.clone()]).unwrap();
        linker.root().module(&library.name, &module).unwrap();
    }
    let mut store = Store::new(&engine, ());
    store.set_epoch_deadline(1);
    let instance = linker
        .instantiate(&mut store, &Component::new(&engine, &parts.bytes).unwrap())
        .unwrap();
    let function = instance
        .get_typed_func::<(), (i32,)>(&mut store, function)
        .unwrap();
    function.call(&mut store, ()).unwrap().0
}

#[test]
fn a_library_is_compiled_on_its_own() {
    let library = library(MIN_CODE);
    for component in [
        component(&[&library]),
        nest(component(&[&library])),
        nest(nest(component(&[&library]))),
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
    let one = library(MIN_CODE);
    let two = library(MIN_CODE + 100);
    let component = component(&[&one, &two, &one]).finish();
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
    let name = |component: ComponentBuilder| {
        split(&component.finish()).unwrap().libraries[0]
            .name
            .clone()
    };
    let expected = name(component(&[&library]));
    assert!(is_library(&expected) && !is_library("wasi:io/poll@0.2.6"));
    assert_eq!(name(nest(component(&[&library]))), expected);
    assert_ne!(name(component(&[&self::library(MIN_CODE + 100)])), expected);
}

#[test]
fn other_components_are_compiled_as_a_whole() {
    assert!(split(&component(&[]).finish()).is_none());
    let small = component(&[&library(1_000)]).finish();
    assert!(split(&small).is_none());
    assert!(split(b"").is_none() && split(b"\0asm\x0d\0\x01\0\x01\xff").is_none());
    let whole = component(&[&library(MIN_CODE)]).finish();
    for length in (0..whole.len()).step_by(997) {
        // The function must not panic.
        let _ = split(&whole[..length]);
    }
    // If the library were imported, the modules or types of the root would have other indices.
    let mut module_and_nested = nest(component(&[&library(MIN_CODE)]));
    module_and_nested.core_module_raw(None, &content());
    assert!(split(&module_and_nested.finish()).is_none());
    let mut types = component(&[&library(MIN_CODE)]);
    let (_, encoder) = types.core_type(None);
    encoder.module(&ModuleType::new());
    assert!(split(&types.finish()).is_none());
    let mut alias = ComponentBuilder::default();
    alias.alias(
        None,
        Alias::Outer {
            kind: ComponentOuterAliasKind::CoreModule,
            count: 1,
            index: 0,
        },
    );
    let mut with_alias = nest(component(&[&library(MIN_CODE)]));
    with_alias.component(None, alias);
    assert!(split(&with_alias.finish()).is_none());
    let mut imports = component(&[&library(MIN_CODE)]);
    let (ty, mut encoder) = imports.type_function(None);
    encoder.params::<_, ComponentValType>([]).result(None);
    imports.import(format!("{NAME_PREFIX}0"), ComponentTypeRef::Func(ty));
    assert!(split(&imports.finish()).is_none());
}

#[test]
fn what_needs_much_memory_is_compiled_as_a_whole() {
    let mut instances = component(&[&library(MIN_CODE)]);
    instances.core_instantiate(None, 1, [("env", ModuleArg::Instance(0))]);
    assert!(split(&instances.finish()).is_none());
    let instantiate_inner = |index: fn(&mut ComponentBuilder) -> u32| {
        let mut outer = nest(component(&[&library(MIN_CODE)]));
        let index = index(&mut outer);
        outer.instantiate(None, index, Vec::<(&str, _, _)>::new());
        split(&outer.finish()).is_none()
    };
    assert!(instantiate_inner(|_| 0), "the same component twice");
    assert!(instantiate_inner(|outer| outer.export(
        "inner",
        ComponentExportKind::Component,
        0,
        None
    )));
    let deep = (0..MAX_DEPTH).fold(component(&[&library(MIN_CODE)]), |inner, _| nest(inner));
    assert!(split(&deep.finish()).is_some());
    let deeper = (0..=MAX_DEPTH).fold(component(&[&library(MIN_CODE)]), |inner, _| nest(inner));
    assert!(split(&deeper.finish()).is_none());
    let module = |imports: &ImportSection, bodies: &[Function]| {
        let (functions, code) = functions(bodies);
        let mut module = Module::new();
        module
            .section(&types())
            .section(imports)
            .section(&functions)
            .section(&code);
        let mut component = ComponentBuilder::default();
        component.core_module(None, &module);
        component.finish()
    };
    let few = vec![number(1); 1_000];
    assert!(split_larger(&module(&ImportSection::new(), &few), 1).is_some());
    let many = vec![number(1); 16_001];
    assert!(split_larger(&module(&ImportSection::new(), &many), 1).is_none());
    // Each of these imports has the long name in its type, but a few bytes in the component.
    let long = "x".repeat(10_000);
    let mut imports = ImportSection::new();
    let names: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let ty = EntityType::Function(0);
    imports.imports(Imports::Compact2 {
        module: &long,
        ty,
        names: names.as_slice().into(),
    });
    assert!(split_larger(&module(&imports, &few), 1).is_none());
}

#[test]
fn only_some_libraries_are_separated() {
    let libraries: Vec<_> = (0..MAX_LIBRARIES + 2)
        .map(|number| library(MIN_CODE + number * 10))
        .collect();
    let libraries: Vec<&[u8]> = libraries.iter().map(Vec::as_slice).collect();
    let component = component(&libraries).finish();
    let parts = split(&component).unwrap();
    assert_eq!(parts.libraries.len(), MAX_LIBRARIES);
    assert_eq!(call(&component, &parts, "answer17"), 1042);
}

/// A generator of numbers (xorshift), with the same numbers each time.
fn random(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state as usize
}

#[test]
fn damaged_components_cause_no_panic_and_valid_ones_stay_valid() {
    let is_valid = |bytes: &[u8]| wasmparser::validate(bytes).is_ok();
    let mut state = 1;
    let mut split_ones = 0;
    let mut valid_ones = 0;
    for original in [
        component(&[&library(30), &library(60)]).finish(),
        nest(component(&[&library(30)])).finish(),
        nest(nest(component(&[&library(30)]))).finish(),
    ] {
        for _ in 0..10_000 {
            let mut damaged = original.clone();
            for _ in 0..1 + random(&mut state) % 3 {
                let at = random(&mut state) % damaged.len();
                damaged[at] = random(&mut state) as u8;
            }
            let Some(parts) = split_larger(&damaged, 1) else {
                continue;
            };
            split_ones += 1;
            if is_valid(&damaged) {
                valid_ones += 1;
                assert!(is_valid(&parts.bytes), "{damaged:02x?}");
            }
        }
    }
    assert!(
        split_ones > 1_000 && valid_ones > 100,
        "{split_ones} {valid_ones}"
    );
}
