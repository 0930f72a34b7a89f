//! Configuration of the wasmtime engine. Features that components do not need are disabled.

pub(crate) mod error;
pub(crate) mod tier;

use std::num::NonZeroUsize;

use rustix::process::{Resource, getrlimit};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
};

use self::tier::Tier;
use crate::guest::limits::GUEST_STACK;
use crate::guest::places::{self, MAX_MEMORIES, MAX_TABLES, MEMORIES, TABLES};

/// Size of the native stack on which a guest and the host functions that it calls run, in bytes.
const ASYNC_STACK: usize = 2 << 20;
/// Bytes of a guest's memory that stay resident and are zeroed between two guests, instead of being returned to the
/// system: for responses from 1 KiB to 1 MiB, values between 1 and 2 MiB were fastest.
const RESIDENT_MEMORY: usize = 1 << 20;
/// Maximum number of core instances in one component. A Python component has more than ten; a higher limit
/// costs nothing.
const CORE_INSTANCES: u32 = 64;

/// Creates the engine for guests. It uses the pooling allocator if the address space suffices, and allocates
/// memory on demand otherwise.
pub(super) fn engine(slots: u32) -> wasmtime::Result<Engine> {
    let mut config = config();
    config.allocation_strategy(pool(slots));
    Engine::new(&config).or_else(|error| {
        let limit = getrlimit(Resource::As).current;
        tracing::warn!(%error, limit, "not enough address space for the pooling allocator (`ulimit -v`), using on-demand allocation, which is slower");
        config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
        Engine::new(&config)
    })
}

/// Creates the engine of the compiler process: all settings that affect the code are the same, and there is no instance
/// pool. Engines for all tiers accept the code of all tiers.
pub(super) fn for_compiling(tier: Tier) -> wasmtime::Result<Engine> {
    let mut config = config();
    if tier != Tier::Optimised {
        // A faster register allocator exists, but wasmtime issues no security advisories for it.
        config.cranelift_opt_level(OptLevel::None);
    }
    Engine::new(&config)
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
        // Required by the adapters that wasmtime generates between the parts of a composed component.
        .wasm_multi_memory(true)
        .max_wasm_stack(GUEST_STACK)
        .async_stack_size(ASYNC_STACK)
        // A panic of Rust has eight frames of its own before the frames of its author's code.
        .wasm_backtrace_max_frames(NonZeroUsize::new(24))
        .cranelift_opt_level(OptLevel::Speed);
    config
}

fn pool(slots: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(slots)
        .total_core_instances(slots.saturating_mul(CORE_INSTANCES))
        .total_memories(places::total(slots, MEMORIES, MAX_MEMORIES))
        .total_tables(places::total(slots, TABLES, MAX_TABLES))
        .total_stacks(slots)
        .max_memories_per_component(MAX_MEMORIES)
        .max_tables_per_component(MAX_TABLES)
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_core_instance_size(2 << 20)
        .max_component_instance_size(2 << 20)
        .table_elements(100_000)
        .linear_memory_keep_resident(RESIDENT_MEMORY)
        .table_keep_resident(64 << 10)
        .max_unused_warm_slots(64)
        .pagemap_scan(Enabled::Auto);
    pool
}
