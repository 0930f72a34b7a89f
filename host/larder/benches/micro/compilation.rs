//! `micro compile FILE`: how long the engine compiles a component on all processors, in milliseconds. The engine has its
//! default settings, and no other code of Larder is used. It is what `cargo xtask bench --compilation` compares with.

use std::path::Path;
use std::time::Instant;

use wasmtime::Engine;

/// Compiles a component, and prints the time.
pub(crate) fn run(file: &Path) {
    let component = std::fs::read(file).expect("a component");
    let engine = Engine::default();
    let start = Instant::now();
    let code = engine
        .precompile_component(&component)
        .expect("a valid component");
    println!("{}", start.elapsed().as_secs_f64() * 1e3);
    drop(code);
}
