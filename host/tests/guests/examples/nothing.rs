//! A provider without resources.

use guests::*;

struct Nothing;

impl Behaviour for Nothing {}

guests::export!(Nothing);
