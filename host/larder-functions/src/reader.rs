//! Reads the functions of a component from its bytes, in the process that compiles it.

mod conversion;

use std::collections::HashMap;

use wasmparser::component_types::{
    ComponentEntityType, ComponentFuncType, ComponentInstanceType, ComponentValType,
};
use wasmparser::types::Types;
use wasmparser::{Parser, Payload, ValidPayload, Validator, WasmFeatures};

use self::conversion::Conversion;
use crate::documentation::{self, Documentation};
use crate::function::{
    Function, FunctionSet, MAX_FUNCTIONS, Parameter, RefusedFunction, export_name,
};
use crate::schema::{MAX_SCHEMA, TooLarge, input_schema, output_schema};
use crate::signature::signature;
use crate::tool_name::tool_name;

/// Number of refused functions that are named.
const MAX_REFUSED: usize = 20;
/// Maximum size of the schemas and descriptions of all functions in bytes.
const MAX_TOTAL: usize = 8 << 20;
/// Maximum number of parameters of a function.
const MAX_PARAMETERS: usize = 256;

/// The functions of a component could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The component is invalid.
    #[error("its exports cannot be read: {0}")]
    Invalid(#[from] wasmparser::BinaryReaderError),
    /// The component ends early.
    #[error("its exports cannot be read: the component is truncated")]
    Incomplete,
}

/// Reads the functions that a component exports. The bodies of functions are not validated: the compiler does that.
pub fn read_functions(component: &[u8]) -> Result<FunctionSet, ReadError> {
    let ComponentTypes {
        types,
        exports,
        documentation,
    } = component_types(component)?;
    let mut reader = Reader::new(&types, documentation);
    for export in exports {
        reader.export(&export);
    }
    Ok(reader.into_set())
}

/// What is known of the outermost component.
struct ComponentTypes {
    types: Types,
    /// The names of its exports.
    exports: Vec<String>,
    documentation: Documentation,
}

fn component_types(component: &[u8]) -> Result<ComponentTypes, ReadError> {
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    let mut exports = Vec::new();
    let mut documentation = Documentation::default();
    let mut depth = 0;
    let mut types = None;
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload?;
        match &payload {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentExportSection(section) if depth == 1 => {
                for export in section.clone() {
                    exports.push(export?.name.name.to_owned());
                }
            }
            Payload::CustomSection(section)
                if depth == 1 && section.name() == documentation::SECTION =>
            {
                documentation = Documentation::parse(section.data()).unwrap_or_default();
            }
            _ => {}
        }
        if let ValidPayload::End(found) = validator.payload(&payload)? {
            types = Some(found);
        }
    }
    let Some(types) = types else {
        return Err(ReadError::Incomplete);
    };
    Ok(ComponentTypes {
        types,
        exports,
        documentation,
    })
}

struct Reader<'a> {
    types: &'a Types,
    conversion: Conversion<'a>,
    documentation: Documentation,
    set: FunctionSet,
    /// The functions by the names of their tools.
    tools: HashMap<String, String>,
    /// The size of all schemas and descriptions.
    total: usize,
}

impl<'a> Reader<'a> {
    fn new(types: &'a Types, documentation: Documentation) -> Self {
        Self {
            types,
            conversion: Conversion::new(types),
            documentation,
            set: FunctionSet::default(),
            tools: HashMap::new(),
            total: 0,
        }
    }

    fn into_set(mut self) -> FunctionSet {
        self.set.documentation = self.documentation.package();
        self.set.types = self.conversion.into_table();
        self.set
    }

    fn export(&mut self, export: &str) {
        let types = self.types;
        let Some(item) = types.as_ref().component_item_for_export(export) else {
            return;
        };
        match item.ty {
            ComponentEntityType::Func(id) => self.function(None, export, &types[id]),
            ComponentEntityType::Instance(id) => self.interface(export, &types[id]),
            // Types are parts of functions. The others cannot be called.
            _ => {}
        }
    }

    fn interface(&mut self, export: &str, interface: &ComponentInstanceType) {
        let types = self.types;
        for (name, item) in &interface.exports {
            if let ComponentEntityType::Func(id) = item.ty {
                self.function(Some(export), name, &types[id]);
            }
        }
    }

    fn function(&mut self, interface: Option<&str>, name: &str, ty: &ComponentFuncType) {
        match self.convert(interface, name, ty) {
            Ok(function) => self.set.functions.push(function),
            Err(reason) => self.refuse(export_name(interface, name), reason),
        }
    }

    fn refuse(&mut self, export: String, reason: String) {
        if self.set.refused.len() < MAX_REFUSED {
            self.set.refused.push(RefusedFunction { export, reason });
        } else {
            self.set.more_refused += 1;
        }
    }

    /// Converts a function, or returns why it cannot be a tool.
    fn convert(
        &mut self,
        interface: Option<&str>,
        name: &str,
        ty: &ComponentFuncType,
    ) -> Result<Function, String> {
        if self.set.functions.len() == MAX_FUNCTIONS {
            return Err(format!(
                "the component has more than {MAX_FUNCTIONS} functions: split it into several components"
            ));
        }
        check_interface(interface)?;
        check_kind(name, ty)?;
        let parameters = self.parameters(ty)?;
        let result = self.result(ty)?;
        let types = self.conversion.table();
        let documented = self.documentation.function(interface, name);
        let description = documented.unwrap_or_else(|| signature(name, &parameters, result, types));
        let mut function = Function {
            tool: tool_name(interface, name),
            interface: interface.map(ToOwned::to_owned),
            name: name.to_owned(),
            description,
            input_schema: input_schema(&parameters, types).map_err(too_large("input"))?,
            output_schema: None,
            parameters,
            result,
        };
        let outcome = function.outcome(types);
        function.output_schema =
            output_schema(outcome.value, types).map_err(too_large("output"))?;
        self.charge(&function)?;
        self.register(&function)?;
        Ok(function)
    }

    fn parameters(&mut self, ty: &ComponentFuncType) -> Result<Vec<Parameter>, String> {
        let parameters = ty.params.iter();
        parameters
            .map(|(name, ty)| self.parameter(name.to_string(), *ty))
            .collect()
    }

    fn parameter(&mut self, name: String, ty: ComponentValType) -> Result<Parameter, String> {
        match self.conversion.convert(ty) {
            Ok(ty) => Ok(Parameter { name, ty }),
            Err(error) => Err(format!("its parameter `{name}` {error}")),
        }
    }

    fn result(&mut self, ty: &ComponentFuncType) -> Result<Option<crate::TypeId>, String> {
        let result = ty.result.map(|ty| self.conversion.convert(ty)).transpose();
        result.map_err(|error| format!("its result {error}"))
    }

    fn charge(&mut self, function: &Function) -> Result<(), String> {
        let output = function.output_schema.as_ref().map_or(0, String::len);
        let size = function.description.len() + function.input_schema.len() + output;
        if self.total + size > MAX_TOTAL {
            return Err(format!(
                "the schemas of all functions have more than {} MiB: split the component",
                MAX_TOTAL >> 20
            ));
        }
        self.total += size;
        Ok(())
    }

    fn register(&mut self, function: &Function) -> Result<(), String> {
        let tool = function.tool.clone();
        if let Some(other) = self.tools.get(&tool) {
            return Err(format!(
                "its tool would have the same name `{tool}` as that of {other}: rename one of the interfaces"
            ));
        }
        self.tools.insert(tool, function.export());
        Ok(())
    }
}

fn too_large(schema: &str) -> impl Fn(TooLarge) -> String {
    move |TooLarge| {
        format!(
            "its {schema} schema has more than {} KiB: use simpler types",
            MAX_SCHEMA >> 10
        )
    }
}

/// Checks that an interface is not one that hosts call for other purposes.
fn check_interface(interface: Option<&str>) -> Result<(), String> {
    let package = interface.and_then(|interface| interface.split_once(':'));
    match package {
        Some(("wasi", rest)) if rest.starts_with("http/") => Err(
            "it handles HTTP requests, which is not supported yet: export what it does as functions of an interface of your own".into(),
        ),
        Some(("wasi", _)) => Err(
            "the interfaces of WASI are called by hosts and are no tools: export an interface of your own".into(),
        ),
        Some(("larder", rest)) if rest.starts_with("provider/") => Err(
            "it belongs to the contract of Larder, which also requires `larder:provider/resource-provider`".into(),
        ),
        _ => Ok(()),
    }
}

fn check_kind(name: &str, ty: &ComponentFuncType) -> Result<(), String> {
    if name.starts_with('[') {
        return Err("it is a method of a resource: export a function without resources".into());
    }
    if ty.async_ {
        return Err(
            "it is asynchronous (WASI 0.3), which is not supported yet: export it without `async`"
                .into(),
        );
    }
    if ty.params.len() > MAX_PARAMETERS {
        return Err(format!(
            "it has more than {MAX_PARAMETERS} parameters: use a record"
        ));
    }
    Ok(())
}
