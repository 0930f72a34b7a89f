//! The functions that a component exports, as tools: their names, their documentation, their types, and the JSON Schemas
//! of their arguments and results. Reads components without running them, and knows no engine.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables are long"))]

mod documentation;
mod function;
mod kind;
mod reader;
mod schema;
mod signature;
mod tool_name;
mod types;

pub use self::function::{Function, FunctionSet, MAX_FUNCTIONS, Parameter, RefusedFunction};
pub use self::kind::ComponentKind;
pub use self::reader::{ReadError, read_functions};
pub use self::schema::{MAX_SCHEMA, TooLarge, input_schema, output_schema};
pub use self::types::{Case, Field, Integer, Type, TypeId, TypeTable};
