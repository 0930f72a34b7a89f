//! The functions of a component, as the compiler process describes them to the server.

use serde::{Deserialize, Serialize};

use crate::types::{Type, TypeId, TypeTable};

/// Maximum number of functions of a component.
pub const MAX_FUNCTIONS: usize = 1_000;

/// The functions of a component.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionSet {
    /// The documentation of the component's package.
    pub documentation: Option<String>,
    /// The types of the functions.
    pub types: TypeTable,
    /// The functions that can be called, in the order of the exports.
    pub functions: Vec<Function>,
    /// The functions that cannot be called.
    pub refused: Vec<RefusedFunction>,
    /// How many more functions cannot be called, beyond those in `refused`.
    pub more_refused: usize,
}

/// A function that can be called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// The name of its tool.
    pub tool: String,
    /// The exported interface that contains the function; none for a function that the component itself exports.
    pub interface: Option<String>,
    /// The name of the function in its interface.
    pub name: String,
    /// The documentation of the function, or its signature.
    pub description: String,
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// The type of the result, if the function has one.
    pub result: Option<TypeId>,
    /// The JSON Schema of the arguments.
    pub input_schema: String,
    /// The JSON Schema of the structured result. A function without a result, or whose result is a text, has none.
    pub output_schema: Option<String>,
}

/// A parameter of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// The name of the parameter.
    pub name: String,
    /// The type of the parameter.
    pub ty: TypeId,
}

/// A function that cannot be called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedFunction {
    /// The export: the function, with its interface.
    pub export: String,
    /// Why the function cannot be called, and what to do.
    pub reason: String,
}

impl FunctionSet {
    /// Parses the JSON that the compiler process wrote. None if it is invalid: the process compiled an untrusted
    /// component.
    pub fn parse(json: &[u8]) -> Option<Self> {
        let set: Self = serde_json::from_slice(json).ok()?;
        set.is_valid().then_some(set)
    }

    fn is_valid(&self) -> bool {
        let mut functions = self.functions.iter();
        self.types.is_ordered()
            && functions.len() <= MAX_FUNCTIONS
            && functions.all(|function| function.has_known_types(&self.types))
    }

    /// The function of this tool.
    pub fn find(&self, tool: &str) -> Option<(usize, &Function)> {
        let mut functions = self.functions.iter().enumerate();
        functions.find(|(_, function)| function.tool == tool)
    }

    /// The functions that cannot be called, as lines.
    pub fn refusals(&self) -> Vec<String> {
        let lines = self.refused.iter();
        let mut lines: Vec<_> = lines.map(RefusedFunction::describe).collect();
        if self.more_refused > 0 {
            lines.push(format!("{} more functions", self.more_refused));
        }
        lines
    }
}

impl RefusedFunction {
    fn describe(&self) -> String {
        format!("the function {}: {}", self.export, self.reason)
    }
}

impl Function {
    fn has_known_types(&self, types: &TypeTable) -> bool {
        let parameters = self.parameters.iter().map(|parameter| &parameter.ty);
        parameters.chain(&self.result).all(|ty| types.has(*ty))
    }

    /// The function as an author knows it, for messages.
    pub fn export(&self) -> String {
        export_name(self.interface.as_deref(), &self.name)
    }

    /// The type of what the function returns if it succeeds, and the type of its error.
    pub fn outcome<'a>(&self, types: &'a TypeTable) -> Outcome<'a> {
        match self.result.map(|result| types.get(result)) {
            Some(Type::Result { ok, err }) => Outcome {
                value: *ok,
                error: Some(err),
            },
            _ => Outcome {
                value: self.result,
                error: None,
            },
        }
    }
}

/// The types that a function returns.
#[derive(Debug, Clone, Copy)]
pub struct Outcome<'a> {
    /// The type of the value of a success.
    pub value: Option<TypeId>,
    /// The type of the error, if the function returns a `result`.
    pub error: Option<&'a Option<TypeId>>,
}

/// A function, with its interface.
pub(crate) fn export_name(interface: Option<&str>, name: &str) -> String {
    match interface {
        Some(interface) => format!("`{name}` of `{interface}`"),
        None => format!("`{name}`"),
    }
}
