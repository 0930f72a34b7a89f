//! Traps while it is instantiated, before any function is called.

use guests::*;

struct TrapStart;

impl Behaviour for TrapStart {}

// SAFETY: no other symbol has this name. A component's core module runs this function when it is instantiated.
// Constructors in `.init_array` would only run with the first call.
#[unsafe(no_mangle)]
extern "C" fn _initialize() {
    panic!("trapped at the start");
}

guests::export!(TrapStart);
