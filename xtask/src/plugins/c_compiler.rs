//! The C compiler for providers that contain C: Zig from the author tools, or the compiler of the machine.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::compiler_script::compiler_script;
use crate::run::Output;
use crate::step::Outcome;
use crate::tools;

/// Scripts that cargo's build scripts use as compiler and archiver.
pub(super) struct Compiler {
    cc: PathBuf,
    ar: PathBuf,
}

/// Finds a compiler. If there is none, returns the reason; in CI, this is an error.
pub(super) fn find(output: &Output) -> Result<Result<Compiler, String>> {
    if let Some(Outcome::Skipped(reason)) = tools::cc(output)? {
        return Ok(Err(reason));
    }
    let zig = || {
        format!(
            "'{}' -m ziglang cc -target wasm32-wasi",
            tools::author_tool("python").display()
        )
    };
    let cc = tools::system_cc().map_or_else(zig, str::to_owned);
    let ar = match cc.split_once(" cc ") {
        Some((zig, _)) => format!("{zig} ar"),
        None => "llvm-ar".to_owned(),
    };
    Ok(Ok(Compiler {
        cc: compiler_script("wasi-cc", &cc)?,
        ar: compiler_script("wasi-ar", &ar)?,
    }))
}

impl Compiler {
    /// Sets the variables that the crate `cc` reads.
    pub(super) fn configure(&self, cargo: &mut Command) {
        cargo
            .env("CC_wasm32_wasip2", &self.cc)
            .env("AR_wasm32_wasip2", &self.ar);
        cargo.env("ZIG_GLOBAL_CACHE_DIR", tools::zig_cache());
    }
}
