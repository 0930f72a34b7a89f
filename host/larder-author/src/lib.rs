//! Tools for authors of providers: the contract, bindings for it, project templates, and packing a core module as a
//! component. All tools are compiled into the program, so that nothing else has to be installed or downloaded. This
//! crate does not depend on the other crates.

mod bindings;
mod cases;
mod contract;
mod disk;
mod example;
mod pack;
mod package_docs;
mod project_files;
mod scaffold;
mod sdk_files;
mod sdk_record;
mod upgrade;
mod workflow;

pub use bindings::{BindingsError, BindingsLanguage, bindings};
pub use cases::{Case, Cases, CasesError};
pub use contract::{Ability, wit};
pub use disk::{DiskError, Files, Replacement, replace, write_into};
pub use example::Example;
pub use pack::{PackError, pack};
pub use package_docs::{PackageDocsError, add_package_docs};
pub use project_files::ProjectLanguage;
pub use scaffold::{ScaffoldError, scaffold, sdk};
pub use upgrade::{FileChange, Upgrade, UpgradeError};
