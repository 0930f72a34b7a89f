//! Offers nothing.

use guests::*;

struct Nothing;

impl Behaviour for Nothing {}

guests::export!(Nothing);
