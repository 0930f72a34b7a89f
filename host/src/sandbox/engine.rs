//! The engine's settings, each number with its reason. What is left off here cannot go wrong.

use std::num::NonZeroUsize;

use wasmtime::component::{HasSelf, Linker};
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig};

use super::bindings;
use super::state::State;

/// Bytes of a guest's own stack; beyond it is `stack overflow`, a fault.
const GUEST_STACK: usize = 512 << 10;
/// Bytes of the stack that a guest and the host functions it calls run on.
const ASYNC_STACK: usize = 2 << 20;
/// Bytes of a guest's memory that are wiped rather than given back to the system between two guests:
/// measured best between 1 and 2 MiB for answers from 1 KiB to 1 MiB.
const KEPT_MEMORY: usize = 1 << 20;
/// Core instances in a slot. A Python component has more than ten; this is a count and costs nothing.
const CORE_INSTANCES: u32 = 64;

/// The engine: pooled memory where the address space allows it, memory by demand where not.
pub(super) fn engine(slots: u32) -> wasmtime::Result<Engine> {
    let mut config = config();
    config.allocation_strategy(pool(slots));
    Engine::new(&config).or_else(|error| {
        tracing::info!(%error, "no address space for a pool of guests; each gets its memory by demand, which is slower");
        config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
        Engine::new(&config)
    })
}

/// The engine of the compiling process: the same settings, as far as they matter to the code, and no guests.
pub(super) fn for_compiling() -> wasmtime::Result<Engine> {
    Engine::new(&config())
}

fn config() -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .epoch_interruption(true)
        .consume_fuel(false)
        .memory_init_cow(true)
        .wasm_relaxed_simd(false)
        .wasm_memory64(false)
        // What the engine itself writes between the parts of a component that is made of components needs it.
        .wasm_multi_memory(true)
        .max_wasm_stack(GUEST_STACK)
        .async_stack_size(ASYNC_STACK)
        .wasm_backtrace_max_frames(NonZeroUsize::new(8))
        .cranelift_opt_level(OptLevel::Speed);
    config
}

fn pool(slots: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(slots)
        .total_core_instances(slots.saturating_mul(CORE_INSTANCES))
        .total_memories(slots.saturating_mul(2))
        .total_tables(slots.saturating_mul(8))
        .total_stacks(slots)
        .max_memories_per_component(8)
        .max_tables_per_component(32)
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_core_instance_size(2 << 20)
        .max_component_instance_size(2 << 20)
        .table_elements(100_000)
        .linear_memory_keep_resident(KEPT_MEMORY)
        .table_keep_resident(64 << 10)
        .max_unused_warm_slots(64)
        .pagemap_scan(Enabled::Auto);
    pool
}

/// Everything that a component may import: our two interfaces, all of WASI 0.2, and wasi:http.
/// What was not granted is refused when it is called: some languages import what they never use.
pub(super) fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    bindings::FullProvider::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
    Ok(linker)
}
