//! Returns freed memory to the system. The allocator returns memory that was free for a second, but only when a large
//! block is freed. Without this module, an idle server would keep the maximum of memory that it ever used.

use std::hint::black_box;
use std::time::Duration;

use larder_runtime::drain::Drain;

/// The time between two requests to the allocator. Each request takes microseconds.
const INTERVAL: Duration = Duration::from_secs(2);
/// The size of a block that the allocator returns at once. The memory of the block is not touched.
const LARGE_BLOCK: usize = 4 << 20;

/// Frees a large block from time to time, until the server stops.
pub(super) async fn return_regularly(drain: Drain) {
    while drain
        .run_until_stopping(tokio::time::sleep(INTERVAL))
        .await
        .is_some()
    {
        drop(black_box(Vec::<u8>::with_capacity(LARGE_BLOCK)));
    }
}
