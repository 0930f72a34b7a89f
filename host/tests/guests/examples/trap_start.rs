//! Traps while it is instantiated, before any function is called.

use guests::*;

struct TrapStart;

impl Behaviour for TrapStart {}

extern "C" fn trap() {
    panic!("trapped at the start");
}

// SAFETY: the functions of this section are called once, without arguments, before all others.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = trap;

guests::export!(TrapStart);
