//! Measures opening, calling and dropping a guest with different allocation strategies of the engine. The
//! engine is created here, because the sandbox has only one strategy. Everything else is as in
//! `larder-sandbox/src/engine.rs`.

use std::time::Instant;

use criterion::Criterion;
use tokio::runtime::Runtime;
use wasmtime::component::{
    Component, ComponentExportIndex, InstancePre, Linker, ResourceTable, TypedFunc,
};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store,
};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use self::bindings::exports::larder::provider::resource_provider::{ReadRequest, Reading};
use self::bindings::larder::provider::provider_types::{Body, Error};

/// Bindings for the contract. The sandbox has its own, which are private.
mod bindings {
    #![allow(missing_docs, unreachable_pub, reason = "generated")]
    wasmtime::component::bindgen!({ path: "../../wit", world: "provider", exports: { default: async } });
}

const SLOTS: u32 = 256;
const KIB: usize = 1 << 10;
/// Bytes of linear memory that stay resident, as in the sandbox.
pub(crate) const KEEP_RESIDENT: usize = KIB << 10;

/// The state of a guest: a WASI context without any access.
#[derive(Default)]
struct GuestState {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for GuestState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

pub(crate) fn pool(keep_resident: usize, scan: Enabled) -> InstanceAllocationStrategy {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(SLOTS)
        .total_core_instances(SLOTS * 64)
        .total_memories(SLOTS * 2)
        .total_tables(SLOTS * 8)
        .total_stacks(SLOTS)
        .max_core_instance_size(2 << 20)
        .max_component_instance_size(2 << 20)
        .table_elements(100_000)
        .linear_memory_keep_resident(keep_resident)
        .table_keep_resident(64 << 10)
        .max_unused_warm_slots(64)
        .pagemap_scan(scan);
    InstanceAllocationStrategy::Pooling(pool)
}

/// The measured strategies with their names.
fn strategies() -> Vec<(&'static str, InstanceAllocationStrategy)> {
    vec![
        ("on demand", InstanceAllocationStrategy::OnDemand),
        ("pool, 1 MiB resident", pool(KEEP_RESIDENT, Enabled::Auto)),
        (
            "pool, 1 MiB resident, no pagemap_scan",
            pool(KEEP_RESIDENT, Enabled::No),
        ),
        ("pool, nothing resident", pool(0, Enabled::Auto)),
        ("pool, 64 KiB resident", pool(64 * KIB, Enabled::Auto)),
        (
            "pool, 4 MiB resident",
            pool(4 * KEEP_RESIDENT, Enabled::Auto),
        ),
    ]
}

/// A compiled and linked component.
pub(crate) struct LinkedComponent {
    engine: Engine,
    pre: InstancePre<GuestState>,
    read: ComponentExportIndex,
}

impl LinkedComponent {
    pub(crate) fn new(
        allocation: InstanceAllocationStrategy,
        guest: &[u8],
    ) -> wasmtime::Result<Self> {
        let mut config = Config::new();
        config
            .epoch_interruption(true)
            .max_wasm_stack(512 << 10)
            .async_stack_size(2 << 20);
        config.allocation_strategy(allocation);
        let engine = Engine::new(&config)?;
        let component = Component::new(&engine, guest)?;
        let mut linker = Linker::new(&engine);
        linker.allow_shadowing(true);
        linker.define_unknown_imports_as_traps(&component)?;
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        linker
            .instance("larder:provider/provider-host@0.1.0")?
            .func_wrap("setting", |_, (_,): (String,)| Ok((None::<String>,)))?;
        let pre = linker.instantiate_pre(&component)?;
        let interface = component.get_export_index(None, "larder:provider/resource-provider@0.1.0");
        let read = component
            .get_export_index(interface.as_ref(), "read-resource")
            .expect("a provider");
        Ok(Self { engine, pre, read })
    }

    pub(crate) async fn open(&self) -> wasmtime::Result<OpenGuest> {
        let mut store = Store::new(&self.engine, GuestState::default());
        store.set_epoch_deadline(u64::MAX / 2);
        let guest = self.pre.instantiate_async(&mut store).await?;
        let read = guest.get_typed_func(&mut store, self.read)?;
        Ok(OpenGuest { store, read })
    }
}

/// An open guest, which can be called repeatedly.
pub(crate) struct OpenGuest {
    store: Store<GuestState>,
    read: TypedFunc<(ReadRequest,), (Result<Reading, Error>,)>,
}

impl OpenGuest {
    /// Reads a URI and returns its text.
    pub(crate) async fn read(&mut self, uri: &str) -> wasmtime::Result<String> {
        let request = ReadRequest {
            uri: uri.to_owned(),
            matched: None,
            known_version: None,
        };
        let (answer,) = self.read.call_async(&mut self.store, (request,)).await?;
        match answer.map(|reading| {
            reading
                .contents
                .into_iter()
                .next()
                .map(|content| content.body)
        }) {
            Ok(Some(Body::Text(text))) => Ok(text),
            other => wasmtime::bail!("no text: {other:?}"),
        }
    }
}

pub(crate) fn allocators(c: &mut Criterion, runtime: &Runtime, guest: &[u8]) {
    let mut group = c.benchmark_group("guest by allocator");
    for (name, allocation) in strategies() {
        let component = LinkedComponent::new(allocation, guest).expect("a supported strategy");
        for (size, bytes) in [("1 KiB", KIB), ("64 KiB", 64 * KIB)] {
            let uri = format!("sized://sized/text/{bytes}");
            group.bench_function(format!("{name}: {size}"), |b| {
                b.to_async(runtime).iter(|| async {
                    let mut guest = component.open().await.expect("a guest");
                    assert_eq!(guest.read(&uri).await.expect("a reading").len(), bytes);
                });
            });
        }
    }
    let component = LinkedComponent::new(pool(KEEP_RESIDENT, Enabled::Auto), guest);
    let component = component.expect("a supported strategy");
    for (size, bytes) in [("1 KiB", KIB), ("64 KiB", 64 * KIB)] {
        let (component, uri) = (&component, &format!("sized://sized/text/{bytes}"));
        group.bench_function(format!("reused guest: {size}"), |b| {
            b.to_async(runtime).iter_custom(|times| async move {
                let mut guest = component.open().await.expect("a guest");
                let began = Instant::now();
                for _ in 0..times {
                    assert_eq!(guest.read(uri).await.expect("a reading").len(), bytes);
                }
                began.elapsed()
            });
        });
    }
}
