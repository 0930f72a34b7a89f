//! What authors of providers need beside a compiler: the contract, bindings for it, and the last step from a
//! core module to a component. All of it is compiled in, so that an author needs this program and nothing else
//! of ours. The room knows nothing of the rest of the house.

mod bindings;
mod contract;
mod disk;
mod kits;
mod pack;
mod scaffold;

pub use bindings::{BindingsError, Language, bindings};
pub use contract::{Ability, wit};
pub use disk::{DiskError, Files, replace, write_into};
pub use pack::{PackError, pack};
pub use scaffold::{Kit, ScaffoldError, scaffold};
