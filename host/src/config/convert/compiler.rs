//! How components are compiled, and where the result is kept.

use std::path::{Path, PathBuf};

use super::super::file::Compiler;
use super::super::{Env, Place};
use super::time;
use crate::sandbox::{self, CacheConfig, CompilerConfig};

const DAY: u64 = 24 * 3600;

pub(super) fn compiler(written: Compiler, place: &Place, env: &Env) -> CompilerConfig {
    CompilerConfig {
        program: program(),
        cache: CacheConfig {
            place: cache(written.cache_dir, place, env),
            size: written.cache_size.map_or(1 << 30, |size| size.0),
            age: time(written.cache_age, 30 * DAY),
        },
        // A Python component of 18 MB takes about 400 MB and 10 seconds.
        memory: written.memory.map_or(2 << 30, |size| size.0),
        cpu: time(written.cpu, 2 * 60),
        wall: time(written.wall, 5 * 60),
        code: written.code.map_or(512 << 20, |size| size.0),
    }
}

/// This very program, even if its file was replaced while it runs: another version would write other code.
fn program() -> PathBuf {
    let own = Path::new("/proc/self/exe");
    if cfg!(target_os = "linux") && own.exists() {
        return own.to_owned();
    }
    std::env::current_exe().unwrap_or_else(|_| "larder".into())
}

/// <https://specifications.freedesktop.org/basedir-spec/latest/>: what is not absolute there does not count.
fn cache(written: Option<PathBuf>, place: &Place, env: &Env) -> sandbox::Place {
    if let Some(path) = written {
        return sandbox::Place::Named(place.folder.join(path));
    }
    let absolute = |name| env.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    caches.map_or(sandbox::Place::Temporary, |caches| sandbox::Place::Usual(caches.join("larder")))
}
