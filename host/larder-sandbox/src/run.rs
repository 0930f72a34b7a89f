//! Links compiled components, and runs a call in a guest: a fresh guest, or an idle guest of the same caller.

pub(crate) mod call;
pub(crate) mod compiled;
pub(crate) mod contract_exports;
pub(crate) mod contract_version;
pub(crate) mod fault;
pub(crate) mod function_exports;
pub(crate) mod guest;
pub(crate) mod reuse;
