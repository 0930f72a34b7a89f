//! How many places of the pool a guest takes. A place has memories, tables, instances and a stack. So a guest with its
//! places never lacks one of them, also if other guests use many.

use wasmtime::ResourcesRequired;

/// The number of memories and tables in a place, which is what most components need.
pub(crate) const MEMORIES: u32 = 2;
pub(crate) const TABLES: u32 = 8;
/// The maximum for a component, which is at most four places.
pub(crate) const MAX_MEMORIES: u32 = 8;
pub(crate) const MAX_TABLES: u32 = 32;
/// If there are fewer places than this, a guest may get fewer places than it needs. Then each place has the maximum
/// that a guest can need.
const FEW: u32 = 2 * MAX_PLACES;
const MAX_PLACES: u32 = 4;

/// The total number of memories or tables in the pool.
pub(crate) fn total(places: u32, of_place: u32, max_of_guest: u32) -> u32 {
    places.saturating_mul(of_place).max(FEW * max_of_guest)
}

/// How many places a guest takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places(u32);

impl Default for Places {
    fn default() -> Self {
        Self(MAX_PLACES)
    }
}

impl Places {
    /// The places for the guests of a component. The requirements of a component that imports modules are unknown.
    pub(crate) fn of(required: Option<ResourcesRequired>) -> Self {
        let Some(required) = required else {
            return Self::default();
        };
        // All fields are named, so that no field is forgotten. The sizes are charged to the memory budget.
        let ResourcesRequired {
            num_memories,
            num_tables,
            max_initial_memory_size: _,
            max_initial_table_size: _,
        } = required;
        Self(
            num_memories
                .div_ceil(MEMORIES)
                .max(num_tables.div_ceil(TABLES))
                .clamp(1, MAX_PLACES),
        )
    }

    pub(crate) fn count(self) -> u64 {
        self.0.into()
    }

    /// The total number of memories in these places.
    pub(crate) fn memories(self) -> usize {
        (self.0 * MEMORIES) as usize
    }

    /// The total number of tables in these places.
    pub(crate) fn tables(self) -> usize {
        (self.0 * TABLES) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pool_has_what_the_places_of_all_guests_need() {
        for (memories, tables, expected) in [
            (0, 0, 1),
            (1, 2, 1),
            (2, 8, 1),
            (3, 8, 2),
            (1, 9, 2),
            (8, 2, 4),
            (1, 32, 4),
        ] {
            let required = ResourcesRequired {
                num_memories: memories,
                num_tables: tables,
                max_initial_memory_size: None,
                max_initial_table_size: None,
            };
            let places = Places::of(Some(required));
            assert_eq!(
                places.count(),
                expected,
                "{memories} memories, {tables} tables"
            );
            assert!(memories as usize <= places.memories() && tables as usize <= places.tables());
        }
        let unknown = Places::of(None);
        assert_eq!(
            (unknown.memories(), unknown.tables()),
            (MAX_MEMORIES as usize, MAX_TABLES as usize)
        );
        assert_eq!(
            (
                total(256, MEMORIES, MAX_MEMORIES),
                total(256, TABLES, MAX_TABLES)
            ),
            (512, 2_048)
        );
        // Each guest takes one place, because there is no larger share.
        assert_eq!(total(1, MEMORIES, MAX_MEMORIES), 64);
    }
}
