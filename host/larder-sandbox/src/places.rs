//! How many places of the pool a guest takes. A place has memories, tables, instances and a stack, so a guest never lacks
//! one of them if it has its places, whatever others use.

use wasmtime::ResourcesRequired;

/// The memories and tables of a place: what most components need.
pub(super) const MEMORIES: u32 = 2;
pub(super) const TABLES: u32 = 8;
/// The most that a component may have. That is not more than four places.
pub(super) const MAX_MEMORIES: u32 = 8;
pub(super) const MAX_TABLES: u32 = 32;
/// With fewer places than these, a guest may get fewer places than it needs. Then each has what a guest can need at most.
const FEW: u32 = 2 * MAX_PLACES;
const MAX_PLACES: u32 = 4;

/// How many memories or tables the pool has.
pub(super) fn total(places: u32, of_place: u32, max_of_guest: u32) -> u32 {
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
    /// The places for the guests of a component. Nothing is known of one that imports modules.
    pub(crate) fn of(required: Option<ResourcesRequired>) -> Self {
        let Some(required) = required else {
            return Self::default();
        };
        // All fields are named, so that none is overlooked. The sizes are charged to the memory budget.
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

    /// The number of memories that they have.
    pub(crate) fn memories(self) -> usize {
        (self.0 * MEMORIES) as usize
    }

    /// The number of tables that they have.
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
