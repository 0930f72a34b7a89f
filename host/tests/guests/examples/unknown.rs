//! Imports an interface that the host does not provide.

use guests::*;

wit_bindgen::generate!({
    inline: "
        package other:thing@1.2.3;
        interface api { ping: func() -> string; }
        world needs { import api; }
    ",
});

struct Unknown;

impl Behaviour for Unknown {
    fn read(_request: ReadRequest) -> Result<Reading, Error> {
        text(other::thing::api::ping())
    }
}

guests::export!(Unknown);
