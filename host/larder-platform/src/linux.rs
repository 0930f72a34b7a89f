//! Linux. Larder keeps all its promises here.

pub mod files;
pub mod memory;
pub mod processes;
pub mod threads;

/// The promises of Larder that this system cannot keep, one sentence for each.
pub const LIMITATIONS: &[&str] = &[];
