//! Converts `[compiler]`.

use std::path::{Path, PathBuf};

use super::super::file::Compiler;
use super::super::{Env, ParseContext};
use super::{absolute_path, time};
use larder_sandbox::{self as sandbox, CacheConfig, CompilerConfig};

const DAY: u64 = 24 * 3600;

pub(super) fn compiler(raw: Compiler, context: &ParseContext, env: &Env) -> CompilerConfig {
    CompilerConfig {
        program: program(),
        cache: CacheConfig {
            location: cache(raw.cache_dir.as_deref(), context, env),
            size: raw.cache_size.map_or(4 << 30, |size| size.0),
            age: time(raw.cache_age, 30 * DAY),
        },
        // For comparison: compiling a Python component of 18 MB takes about 400 MB and 10 seconds.
        memory: raw.memory.map_or(2 << 30, |size| size.0),
        cpu_time: time(raw.cpu_time, 2 * 60),
        timeout: time(raw.timeout, 5 * 60),
        code: raw.code.map_or(512 << 20, |size| size.0),
    }
}

/// Returns the path of the running program, which compiles components in a child process. Another version would produce
/// incompatible code.
fn program() -> PathBuf {
    larder_platform::processes::own_program().unwrap_or_else(|_| "larder".into())
}

/// Returns the cache folder: the configured one, or the XDG cache folder
/// (<https://specifications.freedesktop.org/basedir-spec/latest/>), whose variables count only if they are
/// absolute.
pub(super) fn cache(
    raw: Option<&Path>,
    context: &ParseContext,
    env: &Env,
) -> sandbox::CacheLocation {
    if let Some(path) = raw {
        return sandbox::CacheLocation::Configured(context.folder.join(path));
    }
    match user_caches(env) {
        Some(caches) => sandbox::CacheLocation::Default(caches.join("larder")),
        None => sandbox::CacheLocation::Temporary,
    }
}

fn user_caches(env: &Env) -> Option<PathBuf> {
    absolute_path(env, "XDG_CACHE_HOME")
        .or_else(|| Some(absolute_path(env, "HOME")?.join(".cache")))
}
